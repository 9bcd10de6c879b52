"""Each service is in use where its address is set, and only there."""

from pathlib import Path

import pytest

from orc_core.bootstrap import open_documents
from orc_core.documents.stores import Stores
from orc_core.errors import DependencyDown, InvalidInput
from orc_core.infra.azure import DependencyMisconfigured
from orc_core.infra.settings import CoreSettings
from orc_core.llm.errors import ModelMisconfigured
from orc_core.storage.ai_search.passages import AzurePassageIndex
from orc_core.storage.ai_search.vectors import AzureVectorIndex
from orc_core.storage.blob.documents import AzureBlobStore, BlobPageStore
from orc_core.storage.cosmos.items import CosmosItems
from orc_core.storage.factory import provision, with_new_roles
from orc_core.storage.queue import StorageJobQueue
from orc_core.storage.sqlite.passages import SqlitePassageIndex
from orc_core.storage.upstash.vectors import UpstashVectorIndex

SERVICES = {
    "cosmos": {"azure_cosmos_endpoint": "https://x.test/", "azure_cosmos_key": "a2V5"},
    "storage": {"azure_storage_account_url": "https://x.blob.core.windows.net/", "azure_storage_key": "a2V5"},
    "search": {"azure_search_endpoint": "https://x.test/", "azure_search_key": "key"},
}
UPSTASH = {"upstash_vector_rest_url": "https://x.test", "upstash_vector_rest_token": "token"}
ADAPTERS: dict[str, dict[str, type]] = {
    "cosmos": {"catalog": CosmosItems, "analyses": CosmosItems},
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
    adapters["catalog"] = stores.catalog._items
    adapters["analyses"] = stores.analyses._store._items  # type: ignore[attr-defined]
    found = {port: type(adapter) for port, adapter in adapters.items()}
    assert {port: kind for port, kind in found.items() if kind.__module__.split(".")[2] in AZURE} == expected


async def test_without_local_adapters_no_database_is_created(tmp_path: Path) -> None:
    await stores_with(tmp_path, *SERVICES)
    assert not (tmp_path / "orc.db").exists()
    await stores_with(tmp_path, "cosmos", "search")
    assert (tmp_path / "orc.db").exists()


async def test_vectors_are_in_upstash_if_its_address_is_set(tmp_path: Path) -> None:
    settings = CoreSettings.model_validate({"data_dir": tmp_path, "ocr": "off", **UPSTASH})
    async with open_documents(settings) as documents:
        assert isinstance(documents.stores.vectors, UpstashVectorIndex)
        assert isinstance(documents.stores.index, SqlitePassageIndex)


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"upstash_vector_rest_url": "https://x.test"}, "UPSTASH_VECTOR_REST_TOKEN"),
        (UPSTASH | SERVICES["search"], "AZURE_SEARCH_ENDPOINT, not both"),
    ],
)
async def test_settings_of_upstash_that_contradict_are_named(
    tmp_path: Path, values: dict[str, str], named: str
) -> None:
    settings = CoreSettings.model_validate({"data_dir": tmp_path, "ocr": "off", **values})
    with pytest.raises(InvalidInput, match=named):
        async with open_documents(settings):
            pass


async def test_provision_leaves_storage_to_the_templates_if_it_has_no_key(tmp_path: Path) -> None:
    unreachable = {
        "azure_storage_account_url": "https://127.0.0.1:9/account",
        "azure_storage_queue_url": "https://127.0.0.1:9/q",
    }
    reported: list[object] = []
    await provision(CoreSettings.model_validate({"data_dir": tmp_path, **unreachable}), reported.append)
    assert reported == ["Storage: its containers and queues come with the templates."]


class Refusing:
    """Work that is refused as often as `errors` has entries."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.pauses: list[float] = []
        self.reported: list[object] = []

    async def work(self) -> None:
        if self.errors:
            raise self.errors.pop(0)

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)

    async def run(self) -> None:
        await with_new_roles(self.work, self.reported.append, self.sleep)


NO_ROLE = DependencyMisconfigured("AI Search refused our identity.", dependency="search")
NO_MODEL_ROLE = ModelMisconfigured("Refused.", code="model_auth")


async def test_provision_waits_until_new_roles_apply() -> None:
    refusing = Refusing(NO_ROLE, NO_MODEL_ROLE)
    await refusing.run()
    assert (len(refusing.pauses), refusing.errors) == (2, [])
    assert "A new role takes minutes" in str(refusing.reported[0])


async def test_provision_does_not_wait_for_ever() -> None:
    refusing = Refusing(*[NO_ROLE] * 1000)
    with pytest.raises(DependencyMisconfigured):
        await refusing.run()
    assert 240 <= sum(refusing.pauses) <= 600


@pytest.mark.parametrize(
    "error",
    [
        DependencyMisconfigured("Status 400.", dependency="search", code="dependency_refused"),
        DependencyDown("No answer.", dependency="search"),
    ],
)
async def test_provision_reports_other_refusals_at_once(error: Exception) -> None:
    refusing = Refusing(error)
    with pytest.raises(DependencyDown):
        await refusing.run()
    assert refusing.pauses == []


async def test_an_address_that_cannot_be_one_is_named(tmp_path: Path) -> None:
    settings = CoreSettings.model_validate(
        {"data_dir": tmp_path, "azure_storage_account_url": "https://x.test/", "azure_storage_key": "a2V5"}
    )
    with pytest.raises(InvalidInput, match="AZURE_STORAGE_ACCOUNT_URL"):
        async with open_documents(settings):
            pass
