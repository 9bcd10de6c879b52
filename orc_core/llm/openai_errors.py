"""Translates exceptions of OpenAI-compatible providers into our errors. Imports openai (0.8 s)."""

import math
import re
from collections.abc import Sequence

import httpx2
import openai
from langchain_core.exceptions import ContextOverflowError

from orc_core.errors import OrcError
from orc_core.llm import errors
from orc_core.llm.errors import (
    ContentFiltered,
    ContextTooLong,
    FilesNotRead,
    FilesNotStored,
    ModelMisconfigured,
    key_refused,
    model_down,
    seconds_to_wait,
)

MALFORMED = (AssertionError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What langchain-openai raises for a reply without choices or a message, one that is not JSON, or one with
values of a wrong type."""
NO_FILES_API = (404, 405, 501)
NOT_ALLOWED = 405
_CONTENT_TYPE = re.compile(r"\.content\[\d+\]\.type$")
_TOO_LONG = (
    "context_length_exceeded",
    "Input tokens exceed the configured limit",
    "prompt is too long",  # also Anthropic
    "ContextWindowExceededError",  # LiteLLM
    "exceeds the context window",
    "exceeds the available context size",  # llama.cpp
    "maximum context length",  # vLLM, OpenRouter, Mistral, Ollama
    "exceeds the context length",  # Ollama
    "the context overflows",  # LM Studio: "Trying to keep the first 5000 tokens when the context overflows"
    "context length of only",  # LM Studio: "... the model is loaded with context length of only 4096 tokens"
    "input token count exceeds",  # Gemini
)
"""What servers say of a prompt that has more tokens than the window."""
_NO_TOOLS = (
    "support tool use",  # OpenRouter: "No endpoints found that support tool use"
    "handle the requested parameters",  # OpenRouter, also of a schema
    "tools param requires --jinja",  # llama.cpp
)
"""What servers say, with another status than of a bad request, if the model cannot take the request."""
_CODE = re.compile(r"context_length_exceeded|content_filter|insufficient_quota|rate_limit_exceeded")


def translate(exc: Exception) -> OrcError | None:
    """Our error for `exc`, or None if the exception is not the provider's."""
    if isinstance(exc, ContextOverflowError) or _says(exc, _TOO_LONG):
        return ContextTooLong()
    if _says(exc, _NO_TOOLS):
        return errors.of_status(400)
    if isinstance(exc, openai.APIStatusError):
        error, seconds = _by_code(exc.code) or _by_class(exc), seconds_to_wait(exc.response.headers)
        if error.retryable and seconds > 0:
            error.retry_after = math.ceil(seconds)
        return error
    if isinstance(exc, openai.APIError):
        return _by_code(exc.code) or _by_class(exc)
    if isinstance(exc, httpx2.TimeoutException | TimeoutError):
        return errors.silent()
    if isinstance(exc, openai.OpenAIError | httpx2.HTTPError | httpx2.StreamError):
        return model_down("The connection to the model broke. Try again.")
    if isinstance(exc, httpx2.InvalidURL | openai.InvalidWebhookSignatureError):
        return ModelMisconfigured("The model's address is not usable: check OPENAI_BASE_URL.")
    if isinstance(exc, MALFORMED):
        code = _CODE.search(str(exc))  # langchain-openai has it in the message, of the responses API
        unreadable = "The model sent a reply that cannot be read. Try again."
        return _by_code(code and code[0]) or model_down(unreadable, "model_reply_malformed")
    return None


def _says(exc: Exception, phrases: Sequence[str]) -> bool:
    return isinstance(exc, openai.APIError) and any(phrase in exc.message for phrase in phrases)


def translate_about_embeddings(exc: Exception) -> OrcError | None:
    """As `translate`, for requests to the embedding model."""
    error = translate(exc)
    if not isinstance(error, ModelMisconfigured):
        return error
    return ModelMisconfigured(
        error.message.replace(errors.MODEL_SETTING, "ORC_EMBEDDING_MODEL"), code=error.code
    )


def translate_about_files(exc: Exception) -> OrcError | None:
    """As `translate`, for requests to the Files API, which not every provider has."""
    if isinstance(exc, openai.APIStatusError) and exc.status_code in NO_FILES_API:
        return FilesNotStored()
    error = translate(exc)
    if isinstance(error, ContextTooLong):
        return ModelMisconfigured("The file is larger than the provider takes.", code="model_refused_file")
    if isinstance(error, ModelMisconfigured) and error.code == errors.REQUEST_REFUSED:
        return ModelMisconfigured("The model provider refused a file.", code="model_refused_file")
    return error


def _by_code(code: str | None) -> OrcError | None:
    match code:
        case "context_length_exceeded" | "string_above_max_length":
            return ContextTooLong()
        case "content_filter" | "content_policy_violation":
            return ContentFiltered()
        case "insufficient_quota":
            return errors.of_status(402)
        case "rate_limit_exceeded":
            return errors.of_status(429)
        case errors.TIMEOUT:
            return errors.silent()
        case "invalid_api_key":
            return key_refused()
        case _:
            return None


def _by_class(exc: openai.APIError) -> OrcError:
    # An error in a stream, or with a status of success, may have the real status as its code.
    status = getattr(exc, "status_code", int(exc.code) if exc.code and exc.code.isdecimal() else 0)
    match exc:
        case openai.APIStatusError() if _is_no_api(exc):
            return ModelMisconfigured(
                "The address of the model is wrong: check OPENAI_BASE_URL, which often ends in /v1."
            )
        case openai.BadRequestError() if _CONTENT_TYPE.search(exc.param or ""):
            return FilesNotRead()
        case openai.APITimeoutError():
            return errors.silent()
        case openai.APIConnectionError():
            return errors.not_reached()
        case _:
            return errors.of_status(status)


def _is_no_api(exc: openai.APIStatusError) -> bool:
    """Whether what has answered is no API of models, but another web server, or the API at another path."""
    return exc.status_code == NOT_ALLOWED or (
        isinstance(exc, openai.NotFoundError) and not isinstance(exc.body, dict)
    )
