"""Our errors for those of LangChain's own models of APIs that are not like OpenAI's."""

from collections.abc import Mapping

from langchain_core.exceptions import (
    ContextOverflowError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelInvalidRequestError,
    ModelNotFoundError,
    ModelPermissionDeniedError,
    ModelRateLimitError,
    ModelRefusalError,
    ModelTimeoutError,
)

from orc_core.errors import OrcError
from orc_core.llm import errors
from orc_core.llm.errors import ContentFiltered, ContextTooLong

_TOO_LONG = ("prompt is too long", "maximum context length", "too large for model", "input token count")
"""What the APIs say of a prompt that has more tokens than the window."""
_STATUS: Mapping[type[Exception], int] = {
    ContextOverflowError: 413,
    ModelInvalidRequestError: 400,
    ModelAuthenticationError: 401,
    ModelPermissionDeniedError: 403,
    ModelNotFoundError: 404,
    ModelRateLimitError: 429,
}


def translate(exc: Exception) -> OrcError:
    """Our error for what a model's package raised, by LangChain's classes or by the HTTP status."""
    found = (status for kind, status in _STATUS.items() if isinstance(exc, kind))
    # A package may raise the error of its HTTP client.
    status = next(found, 0) or getattr(getattr(exc, "response", None), "status_code", 0)
    match exc:
        case ModelRefusalError():
            return ContentFiltered()
        case ModelTimeoutError() | TimeoutError():
            return errors.silent()
        case ModelConnectionError():
            return errors.not_reached()
    is_long = status in (400, 422) and any(said in str(exc).casefold() for said in _TOO_LONG)
    return ContextTooLong() if is_long else errors.of_status(status)
