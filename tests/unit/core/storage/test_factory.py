"""Each service is in use where its address is set, and only there."""

from pathlib import Path

import pytest

from core.bootstrap import open_documents
from core.documents.stores import Stores
from core.errors import InvalidInput
from core.infra.settings import CoreSettings
from core.storage.ai_search.passages import AzurePassageIndex
from core.storage.ai_search.vectors import AzureVectorIndex
from core.storage.blob.documents import AzureBlobStore, BlobPageStore
from core.storage.cosmos.analyses import CosmosAnalysisStore
from core.storage.cosmos.catalog import CosmosCatalog
from core.storage.queue import StorageJobQueue

SERVICES = {
    "cosmos": {"azure_cosmos_endpoint": "https://x.test/", "azure_cosmos_key": "a2V5"},
    "storage": {"azure_storage_account_url": "https://x.blob.core.windows.net/", "azure_storage_key": "a2V5"},
    "search": {"azure_search_endpoint": "https://x.test/", "azure_search_key": "key"},
}
ADAPTERS: dict[str, dict[str, type]] = {
    "cosmos": {"catalog": CosmosCatalog, "analyses": CosmosAnalysisStore},
    "storage": {"blobs": AzureBlobStore, "pages": BlobPageStore, "queue": StorageJobQueue},
    "search": {"index": AzurePassageIndex, "vectors": AzureVectorIndex},
}
AZURE = ("ai_search", "blob", "cosmos", "queue")
PORTS = ("catalog", "analyses", "blobs", "pages", "queue", "index", "vectors")


async def stores_with(folder: Path, *services: str) -> Stores:
    chosen = {name: value for service in services for name, value in SERVICES[service].items()}
    settings = CoreSettings.model_validate({"data_dir": folder, "ocr": "off", **chosen})
    async with open_documents(settings) as documents:
        return documents.stores


@pytest.mark.parametrize("services", [(), ("cosmos",), ("storage",), ("search",), tuple(SERVICES)])
async def test_a_port_has_the_adapter_of_its_service(tmp_path: Path, services: tuple[str, ...]) -> None:
    stores = await stores_with(tmp_path, *services)
    expected = {port: kind for service in services for port, kind in ADAPTERS[service].items()}
    adapters = {port: getattr(stores, port) for port in PORTS}
    adapters["analyses"] = stores.analyses._store  # type: ignore[attr-defined]
    found = {port: type(adapter) for port, adapter in adapters.items()}
    assert {port: kind for port, kind in found.items() if kind.__module__.split(".")[2] in AZURE} == expected


async def test_without_local_adapters_no_database_is_created(tmp_path: Path) -> None:
    await stores_with(tmp_path, *SERVICES)
    assert not (tmp_path / "orc.db").exists()
    await stores_with(tmp_path, "cosmos", "search")
    assert (tmp_path / "orc.db").exists()


async def test_an_address_that_cannot_be_one_is_named(tmp_path: Path) -> None:
    settings = CoreSettings.model_validate(
        {"data_dir": tmp_path, "azure_storage_account_url": "https://x.test/", "azure_storage_key": "a2V5"}
    )
    with pytest.raises(InvalidInput, match="AZURE_STORAGE_ACCOUNT_URL"):
        async with open_documents(settings):
            pass
