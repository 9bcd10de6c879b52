"""What the contract suites of several stores share."""

from pathlib import Path

import pytest

from devkit.azure.services import fresh
from devkit.azure.targets import Target
from devkit.store_pairs import ADAPTERS
from orc_core.infra.settings import CoreSettings


@pytest.fixture(params=ADAPTERS)
def adapter(request: pytest.FixtureRequest) -> str:
    """Each database; a suite of a port with other adapters has a fixture of this name."""
    return str(request.param)


@pytest.fixture
def target(request: pytest.FixtureRequest, adapter: str) -> Target | None:
    """The Azure storage of the adapter of a suite; None if it is an embedded one."""
    found: Target | None = request.getfixturevalue("storage_target") if adapter == "azurite" else None
    return found


@pytest.fixture
def stored_in(request: pytest.FixtureRequest, adapter: str, tmp_path: Path) -> CoreSettings:
    """Settings whose stores are all on this machine, or all services of Azure, with nothing in them."""
    environment = {"data_dir": str(tmp_path / "data"), "ocr": "off"}
    if adapter == "azure":
        cosmos, storage, search = (
            request.getfixturevalue(f"{each}_target") for each in ("cosmos", "storage", "search")
        )
        environment |= {"AZURE_COSMOS_ENDPOINT": cosmos.url, "AZURE_COSMOS_KEY": cosmos.key}
        environment |= {"AZURE_STORAGE_ACCOUNT_URL": storage.url, "AZURE_STORAGE_KEY": storage.key}
        environment |= {"AZURE_STORAGE_QUEUE_URL": storage.queue_url}
        environment |= {"AZURE_SEARCH_ENDPOINT": search.url, "AZURE_SEARCH_KEY": search.key}
        environment = fresh(environment)
    return CoreSettings.model_validate(environment)
