"""Every exception of the provider's libraries becomes an error of ours."""

from collections.abc import Iterator
from typing import Any

import httpx2
import langchain_openai.chat_models.base as langchain_base
import openai
import pytest
from langchain_openai import StreamChunkTimeoutError
from openai.types.chat import ChatCompletion

from orc_core.errors import DependencyDown, OrcError
from orc_core.llm.errors import ContextTooLong, ModelMisconfigured
from orc_core.llm.openai_errors import translate

REQUEST = httpx2.Request("POST", "http://model/v1/chat/completions")
COMPLETION = ChatCompletion(id="", choices=[], created=0, model="", object="chat.completion")

EXPECTED: dict[type[Exception], type[OrcError]] = {
    openai.AuthenticationError: ModelMisconfigured,
    openai.OAuthError: ModelMisconfigured,
    openai.PermissionDeniedError: ModelMisconfigured,
    openai.NotFoundError: ModelMisconfigured,
    openai.BadRequestError: ModelMisconfigured,
    openai.UnprocessableEntityError: ModelMisconfigured,
    langchain_base.OpenAIContextOverflowError: ContextTooLong,
    langchain_base.OpenAIAPIContextOverflowError: ContextTooLong,
    httpx2.InvalidURL: ModelMisconfigured,
}
"""Where a class and its nearest listed base differ from the rule: the model is down."""


def subclasses(root: type[Exception]) -> Iterator[type[Exception]]:
    yield root
    for child in root.__subclasses__():
        yield from subclasses(child)


def raised(kind: type[Exception]) -> Exception:
    """An instance of a provider's exception, whatever its constructor wants."""
    if kind is openai.LengthFinishReasonError:
        return openai.LengthFinishReasonError(completion=COMPLETION)
    if kind is StreamChunkTimeoutError:
        return StreamChunkTimeoutError(1.0)
    response = httpx2.Response(getattr(kind, "status_code", 500), request=REQUEST)
    for arguments in (
        {"message": "m", "response": response, "body": None},
        {"response": response, "body": None},
        {"message": "m", "request": REQUEST, "response": response},
        {"message": "m", "request": REQUEST, "body": None},
        {"message": "m", "request": REQUEST},
        {"request": REQUEST},
        {"message": "m", "unsent_messages": []},
        {"symbol": "openai.Completion"},
        {"message": "m"},
        {},
    ):
        if (made := _made(kind, arguments)) is not None:
            return made
    return kind("m")


def _made(kind: type[Exception], arguments: dict[str, Any]) -> Exception | None:
    try:
        return kind(**arguments)
    except TypeError:
        return None


VENDOR_CLASSES = sorted(
    {
        *subclasses(openai.OpenAIError),
        *subclasses(httpx2.HTTPError),
        *subclasses(httpx2.StreamError),
        httpx2.InvalidURL,
        StreamChunkTimeoutError,
    },
    key=lambda kind: f"{kind.__module__}.{kind.__name__}",
)


@pytest.mark.parametrize("kind", VENDOR_CLASSES, ids=lambda kind: f"{kind.__module__}.{kind.__name__}")
def test_every_vendor_exception_is_translated(kind: type[Exception]) -> None:
    ours = translate(raised(kind))
    expected = next((EXPECTED[base] for base in kind.__mro__ if base in EXPECTED), DependencyDown)
    assert type(ours) is expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("context_length_exceeded", "context_too_long"),
        ("content_filter", "content_filtered"),
        ("insufficient_quota", "model_quota"),
        ("invalid_api_key", "model_auth"),
        ("server_error", "dependency_down"),
    ],
)
def test_an_error_without_a_status_is_translated_by_its_code(code: str, expected: str) -> None:
    ours = translate(openai.APIError("m", REQUEST, body={"code": code}))
    assert ours is not None
    assert ours.code == expected


@pytest.mark.parametrize(
    "exc", [KeyError("choices"), IndexError(), TypeError(), ValueError(), AttributeError()]
)
def test_an_unreadable_reply_is_an_outage(exc: Exception) -> None:
    ours = translate(exc)
    assert isinstance(ours, DependencyDown)
    assert ours.code == "model_reply_malformed"


@pytest.mark.parametrize("exc", [RuntimeError(), ZeroDivisionError(), NotImplementedError()])
def test_other_exceptions_are_not_translated(exc: Exception) -> None:
    assert translate(exc) is None
