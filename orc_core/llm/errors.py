"""Errors of models: branches of the tree in orc_core/errors.py."""

import math
import time
from collections.abc import Mapping
from email.utils import mktime_tz, parsedate_tz

from orc_core.errors import DependencyDown, InvalidInput, OrcError

MODEL = "model"
MODEL_SETTING = "ORC_MODEL or ORC_CHAT_MODEL"
REQUEST_REFUSED = "model_refused_request"
"""The code of a request that may be taken in another form: without tools, or without a schema."""
MODEL_UNKNOWN = "model_unknown"
TIMEOUT = "model_timeout"
"""The code of a model that was silent for too long."""
REFUSAL_CHARACTERS = 1000
"""The part of a refusal that is shown."""
LONGEST_WAIT_SECONDS = 5.0
"""A longer wait is reported to the caller at once: the time of a turn is not spent on it."""


class ContextTooLong(InvalidInput):
    """The prompt has more tokens than the context window."""

    code = "context_too_long"

    def __init__(self) -> None:
        super().__init__("This is more text than the model can read at once. Ask about fewer documents.")


class ContentFiltered(InvalidInput):
    """The provider's content filter stopped the request or the answer."""

    code = "content_filtered"

    def __init__(self) -> None:
        super().__init__("The model provider's content filter stopped this answer.", field="question")


class ModelRefused(InvalidInput):
    """The model refused to answer; the message has its words. Another question may be answered."""

    code = "model_refused"

    def __init__(self, said: str) -> None:
        shown = said if len(said) <= REFUSAL_CHARACTERS else f"{said[:REFUSAL_CHARACTERS]}…"
        super().__init__(f"The model refused to answer: {shown}", field="question")


class ModelOutputInvalid(DependencyDown):
    """The answer is not what was asked for. A retry may help."""

    code = "model_output_invalid"

    def __init__(self, message: str) -> None:
        super().__init__(message, dependency=MODEL)


class ReplyCut(DependencyDown):
    """An answer without its end. `at_limit`: it reached its length limit; otherwise it broke off.

    `text` is the answer so far; of a stream the reader has it already. `is_kept`: it is shown as an answer.
    """

    code = "model_reply_cut"

    def __init__(self, *, at_limit: bool = False, text: str = "", is_kept: bool = False) -> None:
        reason = "reached its length limit" if at_limit else "broke off"
        super().__init__(f"The model's answer {reason} before its end. Try again.", dependency=MODEL)
        self.at_limit = at_limit
        self.is_kept = is_kept or at_limit
        self.text = text


class ModelMisconfigured(DependencyDown):
    """The provider refuses every request until the setting that `message` names is changed."""

    code = "model_misconfigured"
    retryable = False

    def __init__(self, message: str, *, code: str | None = None) -> None:
        super().__init__(message, dependency=MODEL, code=code)


class FilesNotStored(ModelMisconfigured):
    """The provider has no Files API. Not seen by callers: documents are then sent as text."""

    code = "model_stores_no_files"

    def __init__(self) -> None:
        super().__init__("The model provider stores no files.")


class FilesNotRead(ModelMisconfigured):
    """The model accepts text only; the same request without files may work."""

    code = "model_reads_no_files"

    def __init__(self) -> None:
        super().__init__("The model reads no files: set ORC_PROVIDER_FILES to text.")


def model_down(message: str, code: str | None = None) -> DependencyDown:
    """The error for a model that does not answer; a retry may help."""
    return DependencyDown(message, dependency=MODEL, code=code)


def key_refused() -> ModelMisconfigured:
    """The error for a key or identity that the provider does not accept."""
    return ModelMisconfigured(
        "The model provider refused our key or identity: check OPENAI_API_KEY, ORC_MODEL_KEY,"
        " AZURE_OPENAI_API_KEY or the role `Cognitive Services OpenAI User`.",
        code="model_auth",
    )


def not_reached() -> OrcError:
    """The error for a model whose server does not accept a connection."""
    return model_down("The model cannot be reached. Try again shortly.")


def silent() -> OrcError:
    """The error for a model that does not answer in time."""
    return model_down("The model did not answer in time. Try again.", TIMEOUT)


def of_status(status: int) -> OrcError:
    """The error for a response with this HTTP status."""
    match status:
        case 401 | 403:
            return key_refused()
        case 402:
            return model_down("The model account's quota is used up.", "model_quota")
        case 404:
            said = f"The provider has no such model: check {MODEL_SETTING} and the endpoint."
            return ModelMisconfigured(said, code=MODEL_UNKNOWN)
        case 408:
            return silent()
        case 413:
            return ContextTooLong()
        case 429:
            return model_down("The model is handling too many requests. Try again shortly.", "model_busy")
        case 400 | 422 | 501:
            said = f"The model refused the request: check {MODEL_SETTING} and what it supports."
            return ModelMisconfigured(said, code=REQUEST_REFUSED)
        case _:
            return model_down("The model failed to answer. Try again shortly.")


def empty_reply() -> DependencyDown:
    """The error for an answer without text."""
    return model_down("The model gave an empty answer. Try again.", "model_reply_empty")


def seconds_to_wait(headers: Mapping[str, str]) -> float:
    """The seconds that `Retry-After` names, as a number or as a date; 0 if there are none."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) / unit
        except (KeyError, ValueError):
            continue
        return max(seconds, 0.0) if math.isfinite(seconds) else 0.0
    date = parsedate_tz(headers.get("retry-after", ""))
    try:
        return max(mktime_tz(date) - time.time(), 0.0) if date else 0.0
    except (ValueError, OverflowError):
        return 0.0
