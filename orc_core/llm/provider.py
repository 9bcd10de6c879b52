"""The connection of a process to its model provider: address, credentials, and one connection pool."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydantic import SecretStr

from orc_core.errors import OrcError
from orc_core.infra.azure import Credentials
from orc_core.infra.model_servers import OPENAI, SERVERS
from orc_core.infra.resilience import CircuitBreaker, Translate
from orc_core.infra.settings import CoreSettings
from orc_core.llm.errors import (
    LONGEST_WAIT_SECONDS,
    MODEL,
    MODEL_UNKNOWN,
    TIMEOUT,
    ModelMisconfigured,
    key_refused,
    model_down,
    seconds_to_wait,
)
from orc_core.llm.served_models import NO_KEY, ServedModels
from orc_core.llm.structured_outputs import Abilities, Form, Part

if TYPE_CHECKING:
    from httpx2 import AsyncClient

REFUSED = frozenset({401, 403})
GATEWAY_TIMEOUT = 504
NO_RETRY = {"x-should-retry": "false"}
"""A header by which a response tells the provider's library not to repeat the request."""
ENTRA_SCOPE = "https://cognitiveservices.azure.com/.default"
CONNECT_SECONDS = 5.0

Key = Callable[[], Awaitable[str]]
"""Called by the provider's library before every request, because tokens expire. Async, so that the library
builds no client for blocking calls (0.13 s)."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A provider's address and key; without a key, the identity of this process at Azure is used.

    `server` is the kind that ORC_MODEL names, by default one with OpenAI's API.
    """

    url: str
    key: SecretStr | None
    is_azure: bool = False
    server: str = OPENAI

    @property
    def package(self) -> str:
        """The package with LangChain's model of an API that is not OpenAI's; "" for OpenAI's."""
        return SERVERS[self.server].package

    @property
    def runs_models(self) -> bool:
        """Whether the server runs models by itself. Ollama and LM Studio ignore OpenAI's newer fields."""
        return SERVERS[self.server].temperature is not None and not self.package

    @property
    def models_url(self) -> str:
        """Where the provider lists its models."""
        return f"{self.url.rstrip('/')}/{SERVERS[self.server].models}"

    def headers(self, key: str) -> dict[str, str]:
        """Those of a request that is not made by the provider's library."""
        return {name: value.format(key=key) for name, value in SERVERS[self.server].headers.items()}

    @property
    def host(self) -> str:
        return urlsplit(self.url).hostname or ""

    @property
    def telemetry_name(self) -> str:
        """Its name in OpenTelemetry's conventions."""
        return "azure.ai.openai" if self.is_azure else "openai"


@dataclass(frozen=True, slots=True)
class Provider:
    """A model provider. One per process: its users share connections and circuit breakers.

    Chat, embeddings and files have a breaker each, because providers limit them separately. `served` are the
    models of a server that may say which it has; None for OpenAI and Azure, whose models are known.
    """

    endpoint: Endpoint
    key: Key
    http: "AsyncClient"
    retries: int
    chat: CircuitBreaker
    embeddings: CircuitBreaker
    files: CircuitBreaker
    translate: Translate
    served: ServedModels | None
    _abilities: dict[str, Abilities] = field(default_factory=dict)

    def abilities(self, model: str) -> Abilities:
        """What the provider can do with a model, the same for all its users."""
        if self.served is None:
            forms = (Form.TOOL,) if self.endpoint.package else (Form.SCHEMA, Form.TOOL)
            known = Abilities(forms, reports_finish=True, pause_seconds=0)
        else:
            tried = (Form.SCHEMA, Form.OBJECT, Form.TOOL)
            is_local = self.served.assumed_window is not None
            known = Abilities(tried, tuple(Part), is_local=is_local)
        return self._abilities.setdefault(model, known)

    async def ping(self, model: str) -> None:
        """Raises DependencyDown unless the provider answers, accepts our key and has the model. Uses no
        tokens."""
        from httpx2 import HTTPError

        headers = self.endpoint.headers(await self.key())
        try:
            response = await self.http.get(self.endpoint.models_url, headers=headers)
        except HTTPError as exc:
            raise model_down("The model cannot be reached. Try again shortly.") from exc
        if response.status_code in REFUSED:
            raise key_refused()
        if response.is_server_error:
            raise model_down("The model failed to answer. Try again shortly.")
        if self.served is not None:
            await self.served.learn()
            if problem := self.served.problem(model):
                raise ModelMisconfigured(problem, code=MODEL_UNKNOWN)

    async def aclose(self) -> None:
        """Closes the connections."""
        await self.http.aclose()


def endpoint_of(settings: CoreSettings) -> Endpoint | None:
    """The endpoint that the settings name, if any."""
    if settings.azure_openai_endpoint:
        url = f"{settings.azure_openai_endpoint.rstrip('/')}/openai/v1/"
        return Endpoint(url, settings.azure_openai_api_key, is_azure=True)
    if settings.openai_api_key or settings.openai_base_url:
        key = settings.openai_api_key or SecretStr(NO_KEY)
        url = settings.openai_base_url or SERVERS[OPENAI].url
        return Endpoint(url, key, server=settings.server or OPENAI)
    return None


def open_provider(settings: CoreSettings, credentials: Credentials | None = None) -> Provider | None:
    """The provider that the settings name, or None. The caller closes it.

    Connects to nothing. Raises ModelMisconfigured without a key and without `credentials`.
    """
    endpoint = endpoint_of(settings)
    if endpoint is None:
        return None
    key, http = _key(endpoint, credentials), _open_http(settings)
    lists_windows = settings.has_other_server and not endpoint.package
    served = ServedModels(http, endpoint.url, key, is_local=settings.is_local) if lists_windows else None
    translate = _translate_other if endpoint.package else partial(_translate, served)
    return Provider(
        endpoint=endpoint,
        key=key,
        http=http,
        retries=settings.model_retries,
        translate=translate,
        served=served,
        chat=CircuitBreaker(MODEL, translate),
        embeddings=CircuitBreaker(MODEL, _translate_about_embeddings),
        files=CircuitBreaker(MODEL, _translate_about_files),
    )


def _translate_other(exc: Exception) -> OrcError | None:
    """Our error for an exception of a package for another API than OpenAI's."""
    from orc_core.llm import other_errors

    return other_errors.translate(exc)


def _translate(served: ServedModels | None, exc: Exception) -> OrcError | None:
    """Our error for an exception of the provider's library, which was imported before it raised one."""
    from orc_core.llm import openai_errors

    error = openai_errors.translate(exc)
    if served is not None and isinstance(error, ModelMisconfigured) and error.code == MODEL_UNKNOWN:
        return ModelMisconfigured(f"{error.message}{served.choice}", code=MODEL_UNKNOWN)
    return error


def _translate_about_embeddings(exc: Exception) -> OrcError | None:
    from orc_core.llm import openai_errors

    return openai_errors.translate_about_embeddings(exc)


def _translate_about_files(exc: Exception) -> OrcError | None:
    from orc_core.llm import openai_errors

    return openai_errors.translate_about_files(exc)


def _key(endpoint: Endpoint, credentials: Credentials | None) -> Key:
    if (secret := endpoint.key) is not None:

        async def key() -> str:
            return secret.get_secret_value()

        return key
    if credentials is None:
        raise ModelMisconfigured(
            "AZURE_OPENAI_ENDPOINT is set without a key: set AZURE_OPENAI_API_KEY.", code="model_auth"
        )
    # Access tokens of this process's identity, cached until shortly before they expire.
    from azure.identity.aio import get_bearer_token_provider

    from orc_core.infra.azure import error_translator

    bearer = get_bearer_token_provider(credentials.default, ENTRA_SCOPE)
    translate = error_translator(MODEL, "Azure OpenAI")

    async def token() -> str:
        try:
            return await bearer()
        except Exception as exc:  # only `translate` knows the exceptions of azure-identity
            if isinstance(exc, OrcError) or (ours := translate(exc)) is None:
                raise
            raise ours from exc

    return token


def _open_http(settings: CoreSettings) -> "AsyncClient":
    from httpx2 import (
        AsyncClient,
        ConnectError,
        Limits,
        ReadTimeout,
        Request,
        Response,
        Timeout,
        WriteTimeout,
    )

    class Client(AsyncClient):
        async def send(self, request: Request, **options: Any) -> Response:
            try:
                response = await super().send(request, **options)
            except AttributeError as exc:
                # On uvloop anyio raises this for a connection that is reset right after it was accepted.
                raise ConnectError("the connection was reset", request=request) from exc
            except (ReadTimeout, WriteTimeout):
                # The library would repeat a request that timed out, and wait as long each time.
                silence = {"error": {"code": TIMEOUT}}
                return Response(GATEWAY_TIMEOUT, headers=NO_RETRY, json=silence, request=request)
            if seconds_to_wait(response.headers) > LONGEST_WAIT_SECONDS:
                response.headers.update(NO_RETRY)
            return response

    seconds = settings.model_timeout_seconds
    return Client(
        timeout=Timeout(seconds, connect=min(seconds, CONNECT_SECONDS)),
        # As the provider's library has them.
        limits=Limits(max_connections=1000, max_keepalive_connections=100),
        follow_redirects=True,
    )
