"""The credential of this process on Azure, and Azure's failures as errors of this project.

The SDK is imported on first use: a process without Azure does without it.
"""

from collections.abc import Callable
from contextlib import suppress
from functools import cached_property, partial
from importlib.util import find_spec
from typing import TYPE_CHECKING

from orc_core.errors import DependencyDown, InvalidInput, OrcError

if TYPE_CHECKING:
    from azure.core.credentials_async import AsyncTokenCredential

TOO_MANY_REQUESTS = 429
RETRYABLE_STATUS = frozenset({408, 410, TOO_MANY_REQUESTS, 449, 500, 502, 503, 504})
"""After these statuses the same request may work."""


def require_sdk() -> None:
    """Raises InvalidInput if the extra with Azure's libraries is not installed."""
    with suppress(ModuleNotFoundError):
        if find_spec("azure.identity") is not None:
            return
    raise InvalidInput(
        "The settings name services of Azure, whose libraries are not installed: run `EXTRAS=azure make run`,"
        " or `pip install 'orc-documents[azure]'`."
    )


class Credentials:
    """Opens DefaultAzureCredential on first use: a managed identity on Azure, `az login` on a desktop."""

    @cached_property
    def default(self) -> "AsyncTokenCredential":
        """The credential of every service for which no key is set."""
        from azure.identity.aio import DefaultAzureCredential

        return DefaultAzureCredential()

    async def close(self) -> None:
        """Close the credential's connections, if it was used."""
        if "default" in vars(self):
            await self.default.close()


class DependencyMisconfigured(DependencyDown):
    """The service will refuse every request until a setting, a role or a firewall rule is changed."""

    code = "dependency_misconfigured"
    retryable = False


def error_translator(dependency: str, name: str) -> Callable[[Exception], OrcError | None]:
    """Returns a function that translates exceptions of this dependency; `name` is the service's name."""
    down = partial(DependencyDown, dependency=dependency)
    misconfigured = partial(DependencyMisconfigured, dependency=dependency)

    def translate(exc: Exception) -> OrcError | None:
        from aiohttp import ClientError
        from azure.core.exceptions import AzureError, ClientAuthenticationError, HttpResponseError

        status = getattr(exc, "status_code", None)
        brief = status is None or status in RETRYABLE_STATUS
        if isinstance(exc, ClientAuthenticationError) and brief:
            # The token service was unreachable or busy.
            return down(f"No token could be obtained for {name}. Try again shortly, or run `az login`.")
        if isinstance(exc, ClientAuthenticationError) or status in {401, 403}:
            advice = "check its role assignments, its firewall and the key."
            return misconfigured(f"{name} refused our identity: {advice}")
        if isinstance(exc, HttpResponseError) and not brief:
            return misconfigured(f"{name} refused a request with status {status}.", code="dependency_refused")
        if status == TOO_MANY_REQUESTS:
            return down(f"{name} is handling too many requests. Try again shortly.", code="dependency_busy")
        if isinstance(exc, AzureError | ClientError):
            return down(f"{name} does not answer. Try again shortly.")
        if isinstance(exc, TimeoutError | ConnectionError):
            return down(f"{name} did not answer in time. Try again shortly.")
        return None

    return translate
