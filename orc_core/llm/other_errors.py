"""Our errors for those of LangChain's own models of APIs that are not like OpenAI's."""

from collections.abc import Mapping

from langchain_core.exceptions import (
    ContextOverflowError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelError,
    ModelInvalidRequestError,
    ModelNotFoundError,
    ModelPermissionDeniedError,
    ModelRateLimitError,
    ModelRefusalError,
    ModelTimeoutError,
)

from orc_core.errors import OrcError
from orc_core.llm import errors
from orc_core.llm.errors import ContentFiltered, ContextTooLong, ModelMisconfigured, key_refused, model_down

_TOO_LONG = ("prompt is too long", "maximum context length", "too large for model", "input token count")
"""What the APIs say of a prompt that has more tokens than the window."""
_BY_STATUS: Mapping[int, type[Exception]] = {
    400: ModelInvalidRequestError,
    401: ModelAuthenticationError,
    403: ModelPermissionDeniedError,
    404: ModelNotFoundError,
    413: ContextOverflowError,
    422: ModelInvalidRequestError,
    429: ModelRateLimitError,
}
"""For a package that raises the error of its HTTP client."""


def translate(exc: Exception) -> OrcError:
    """Our error for what a model's package raised, by LangChain's classes or by the HTTP status."""
    status = getattr(getattr(exc, "response", None), "status_code", None)
    known = isinstance(exc, ModelError | TimeoutError)
    match exc if known else _BY_STATUS.get(status or 0, Exception)(str(exc)):
        case ContextOverflowError():
            return ContextTooLong()
        case ModelInvalidRequestError() if any(said in str(exc).casefold() for said in _TOO_LONG):
            return ContextTooLong()
        case ModelRefusalError():
            return ContentFiltered()
        case ModelAuthenticationError() | ModelPermissionDeniedError():
            return key_refused()
        case ModelNotFoundError():
            return ModelMisconfigured(
                "The provider has no such model: check ORC_MODEL.", code=errors.MODEL_UNKNOWN
            )
        case ModelInvalidRequestError():
            return ModelMisconfigured(
                "The model refused the request: check ORC_MODEL and what it supports.",
                code=errors.REQUEST_REFUSED,
            )
        case ModelRateLimitError():
            return model_down("The model is handling too many requests. Try again shortly.", "model_busy")
        case ModelTimeoutError() | TimeoutError():
            return model_down("The model did not answer in time. Try again.", errors.TIMEOUT)
        case ModelConnectionError():
            return model_down("The model cannot be reached. Try again shortly.")
        case _:
            return model_down("The model failed to answer. Try again shortly.")
