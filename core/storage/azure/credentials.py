"""Who this process is to Azure: one credential for all of its clients."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from azure.core.credentials_async import AsyncTokenCredential


class Credentials:
    """Opens DefaultAzureCredential on first use: a managed identity on Azure, `az login` at a desk."""

    def __init__(self) -> None:
        self._default: AsyncTokenCredential | None = None

    @property
    def default(self) -> "AsyncTokenCredential":
        """The credential that stands in wherever no key is set."""
        if self._default is None:
            from azure.identity.aio import DefaultAzureCredential

            self._default = DefaultAzureCredential()
        return self._default

    async def close(self) -> None:
        """Close the credential's connections, if it was used."""
        if self._default is not None:
            await self._default.close()
