"""Small JSON blobs that are changed only from the version that was read."""

from collections.abc import AsyncIterator
from typing import Any, Generic, NamedTuple, TypeVar

from azure.core import MatchConditions
from azure.core.exceptions import ResourceExistsError, ResourceModifiedError, ResourceNotFoundError
from azure.storage.blob.aio import BlobClient, ContainerClient
from pydantic import BaseModel

from core.infra.resilience import CircuitBreaker
from core.storage.blob.client import check_absent

Value = TypeVar("Value", bound=BaseModel)


class Version(NamedTuple, Generic[Value]):
    """What a blob held when it was read."""

    value: Value
    etag: str


class JsonBlobs(Generic[Value]):
    """The blobs of a container that hold values of one kind."""

    def __init__(self, container: ContainerClient, breaker: CircuitBreaker, kind: type[Value]) -> None:
        self._container = container
        self._breaker = breaker
        self._kind = kind

    async def read(self, name: str) -> Version[Value] | None:
        """What the blob holds; None only where the service says that there is none."""

        async def work() -> tuple[bytes, str] | None:
            try:
                stream = await self._blob(name).download_blob()
                return await stream.readall(), stream.properties.etag
            except ResourceNotFoundError as exc:
                check_absent(exc)
                return None

        found = await self._breaker.call(work)
        return found and Version(self._kind.model_validate_json(found[0]), found[1])

    async def write(self, name: str, value: Value, over: Version[Value] | None) -> bool:
        """Write over this version, or where there is none; whether nobody came in between."""
        data = value.model_dump_json().encode()

        async def work() -> bool:
            try:
                await self._blob(name).upload_blob(data, overwrite=over is not None, **_only(over))
            except (ResourceExistsError, ResourceModifiedError):
                return False
            except ResourceNotFoundError as exc:
                check_absent(exc)
                return False
            return True

        if await self._breaker.call(work):
            return True
        # What stands in the way may be our own, from an attempt whose answer was lost.
        present = await self.read(name)
        return present is not None and present.value == value

    async def remove(self, name: str, version: Version[Value]) -> bool:
        """Remove the blob while it is of this version; whether it has gone."""

        async def work() -> bool:
            try:
                await self._blob(name).delete_blob(**_only(version))
            except ResourceModifiedError:
                return False
            except ResourceNotFoundError as exc:
                check_absent(exc)
            return True

        # A blob that has gone has no version either: perhaps it went by an attempt whose answer was lost.
        return await self._breaker.call(work) or await self.read(name) is None

    async def names(self, prefix: str) -> AsyncIterator[str]:
        """The names that begin so."""

        async def work() -> list[str]:
            found = self._container.list_blob_names(name_starts_with=prefix)
            return [name async for name in found]

        for name in await self._breaker.call(work):
            yield name

    def _blob(self, name: str) -> BlobClient:
        return self._container.get_blob_client(name)


def _only(version: Version[Any] | None) -> dict[str, Any]:
    if version is None:
        return {}
    return {"etag": version.etag, "match_condition": MatchConditions.IfNotModified}
