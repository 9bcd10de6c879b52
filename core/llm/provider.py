"""The provider of models as a process reaches it: one address, one way to prove who we are, one pool."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydantic import SecretStr

from core.errors import OrcError
from core.infra.azure import Credentials
from core.infra.resilience import CircuitBreaker
from core.infra.settings import CoreSettings
from core.llm.errors import MODEL, ModelMisconfigured, key_refused, model_down

if TYPE_CHECKING:
    from httpx2 import AsyncClient

OPENAI_URL = "https://api.openai.com/v1"
REFUSED = frozenset({401, 403})
ENTRA_SCOPE = "https://cognitiveservices.azure.com/.default"
CONNECT_SECONDS = 5.0
NO_KEY = "none"
"""Sent to a server of one's own that asks for no key: the client insists on having one."""

Key = Callable[[], Awaitable[str]]
"""What the provider's library asks before every request. A function, for tokens do not live long; given
one that is async, it builds no client for blocking calls (0.13 s)."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a provider answers, and the key that it asks for; none: this process's identity at Azure."""

    url: str
    key: SecretStr | None
    is_azure: bool = False

    @property
    def host(self) -> str:
        return urlsplit(self.url).hostname or ""

    @property
    def telemetry_name(self) -> str:
        """What OpenTelemetry's conventions call it."""
        return "azure.ai.openai" if self.is_azure else "openai"


@dataclass(frozen=True, slots=True)
class Provider:
    """An OpenAI-compatible provider. One per process: whatever asks it shares connections and breakers.

    Chat, embeddings and files have a breaker each: limits are counted apart, and where one is refused the
    others may go on.
    """

    endpoint: Endpoint
    key: Key
    http: "AsyncClient"
    retries: int
    chat: CircuitBreaker
    embeddings: CircuitBreaker
    files: CircuitBreaker

    async def ping(self) -> None:
        """Raise DependencyDown unless the provider answers and takes our key. Costs nothing."""
        from httpx2 import HTTPError

        headers = {"authorization": f"Bearer {await self.key()}"}
        try:
            response = await self.http.get(f"{self.endpoint.url.rstrip('/')}/models", headers=headers)
        except HTTPError as exc:
            raise model_down("The model cannot be reached. Try again shortly.") from exc
        if response.status_code in REFUSED:
            raise key_refused()
        if response.is_server_error:
            raise model_down("The model failed to answer. Try again shortly.")

    async def aclose(self) -> None:
        """Close the connections."""
        await self.http.aclose()


def endpoint_of(settings: CoreSettings) -> Endpoint | None:
    """The provider that the settings name, if any."""
    if settings.azure_openai_endpoint:
        url = f"{settings.azure_openai_endpoint.rstrip('/')}/openai/v1/"
        return Endpoint(url, settings.azure_openai_api_key, is_azure=True)
    if settings.openai_api_key or settings.openai_base_url:
        key = settings.openai_api_key or SecretStr(NO_KEY)
        return Endpoint(settings.openai_base_url or OPENAI_URL, key)
    return None


def open_provider(settings: CoreSettings, credentials: Credentials | None = None) -> Provider | None:
    """The provider that the settings name; None where the offline model answers. The caller closes it.

    Connects to nothing, but imports the provider's library (0.8 s). Raises ModelMisconfigured where
    there is neither a key nor `credentials`.
    """
    endpoint = endpoint_of(settings)
    if endpoint is None:
        return None
    key = _key(endpoint, credentials)
    from core.llm.openai_errors import translate, translate_about_embeddings, translate_about_files

    return Provider(
        endpoint=endpoint,
        key=key,
        http=_open_http(settings),
        retries=settings.model_retries,
        chat=CircuitBreaker(MODEL, translate),
        embeddings=CircuitBreaker(MODEL, translate_about_embeddings),
        files=CircuitBreaker(MODEL, translate_about_files),
    )


def _key(endpoint: Endpoint, credentials: Credentials | None) -> Key:
    if endpoint.key is not None:
        secret = endpoint.key

        async def key() -> str:
            return secret.get_secret_value()

        return key
    if credentials is None:
        raise ModelMisconfigured(
            "AZURE_OPENAI_ENDPOINT is set without a key: set AZURE_OPENAI_API_KEY.", code="model_auth"
        )
    return _entra_token(credentials)


def _entra_token(credentials: Credentials) -> Key:
    """Tokens of this process's identity, kept until shortly before they expire."""
    from azure.identity.aio import get_bearer_token_provider

    from core.infra.azure import error_translator

    bearer = get_bearer_token_provider(credentials.default, ENTRA_SCOPE)
    translate = error_translator(MODEL, "Azure OpenAI")

    async def token() -> str:
        try:
            return await bearer()
        except Exception as exc:  # what azure-identity raises is known to `translate` alone
            if isinstance(exc, OrcError) or (ours := translate(exc)) is None:
                raise
            raise ours from exc

    return token


def _open_http(settings: CoreSettings) -> "AsyncClient":
    from httpx2 import ConnectError, Request, Response, Timeout
    from openai import DefaultAsyncHttpxClient

    class Client(DefaultAsyncHttpxClient):
        async def send(self, request: Request, **options: Any) -> Response:
            try:
                return await super().send(request, **options)
            except AttributeError as exc:
                # How anyio reports, on uvloop, a connection that was reset as soon as it was accepted.
                raise ConnectError("the connection was reset as it was made", request=request) from exc

    return Client(timeout=Timeout(settings.model_timeout_seconds, connect=CONNECT_SECONDS))
