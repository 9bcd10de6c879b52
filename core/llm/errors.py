"""What can go wrong with a model, beyond its being down: branches of the tree in core/errors.py.

InvalidInput
├── ContextTooLong          question, history and sources do not fit the model
└── ContentFiltered         the provider's filter refused the question or the answer
DependencyDown
├── ModelOutputInvalid      the model answered, but not in the form that was asked for
├── ReplyCut                the answer broke off, or reached the length that it was allowed
└── ModelMisconfigured      no request can work until a setting is changed
    ├── FilesNotStored      the provider has no place for files
    └── FilesNotRead        the model takes no files
"""

from core.errors import DependencyDown, InvalidInput

MODEL = "model"


class ContextTooLong(InvalidInput):
    """More tokens than the model takes."""

    code = "context_too_long"

    def __init__(self) -> None:
        super().__init__("This is more text than the model can read at once. Ask about fewer documents.")


class ContentFiltered(InvalidInput):
    """The provider's content filter stopped the request or the answer."""

    code = "content_filtered"

    def __init__(self) -> None:
        super().__init__("The model provider's content filter stopped this answer.", field="question")


class ModelOutputInvalid(DependencyDown):
    """A reply that is not what was asked for. Asking again may help."""

    code = "model_output_invalid"

    def __init__(self, message: str) -> None:
        super().__init__(message, dependency=MODEL)


class ReplyCut(DependencyDown):
    """An answer without its end. `at_limit`: it grew as long as it may, rather than broke off."""

    code = "model_reply_cut"

    def __init__(self, *, at_limit: bool = False) -> None:
        super().__init__("The model's answer broke off before its end. Try again.", dependency=MODEL)
        self.at_limit = at_limit


class ModelMisconfigured(DependencyDown):
    """The provider will refuse every request until somebody changes the setting that `message` names."""

    code = "model_misconfigured"
    retryable = False

    def __init__(self, message: str, *, code: str | None = None) -> None:
        super().__init__(message, dependency=MODEL, code=code)


class FilesNotStored(ModelMisconfigured):
    """The provider has no Files API. Never leaves `core.llm`: documents are then sent in other ways."""

    code = "model_stores_no_files"

    def __init__(self) -> None:
        super().__init__("The model provider stores no files.")


class FilesNotRead(ModelMisconfigured):
    """The model takes text alone; the same request without files may work."""

    code = "model_reads_no_files"

    def __init__(self) -> None:
        super().__init__("The model reads no files: set ORC_PROVIDER_FILES to text.")


def model_down(message: str, code: str | None = None) -> DependencyDown:
    """The model did not answer; trying again may help."""
    return DependencyDown(message, dependency=MODEL, code=code)


def key_refused() -> ModelMisconfigured:
    """The provider does not know who asks, or does not let them."""
    return ModelMisconfigured(
        "The model provider refused our key or identity: check OPENAI_API_KEY, AZURE_OPENAI_API_KEY or the"
        " role `Cognitive Services OpenAI User`.",
        code="model_auth",
    )
