"""What the contract suites of several stores share."""

import pytest

from devkit.azure.targets import Target
from devkit.store_pairs import ADAPTERS


@pytest.fixture(params=ADAPTERS)
def adapter(request: pytest.FixtureRequest) -> str:
    """Each database; a suite of a port with other adapters has a fixture of this name."""
    return str(request.param)


@pytest.fixture
def target(request: pytest.FixtureRequest, adapter: str) -> Target | None:
    """The Azure storage of the adapter of a suite; None if it is an embedded one."""
    found: Target | None = request.getfixturevalue("storage_target") if adapter == "azurite" else None
    return found
