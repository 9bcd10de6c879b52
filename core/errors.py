"""Every error that Orc raises on purpose, as one tree.

OrcError
├── InvalidInput            a field has a value that cannot be used
│   ├── UnsafeName          a document name that could leave its folder
│   ├── KeyReused           an idempotency key came back with another body
│   ├── ContextTooLong      question, history and sources do not fit the model
│   └── ContentFiltered     the provider's filter refused the question or the answer
├── NotAuthenticated        nobody, or a token that does not verify
├── Forbidden               somebody, but not in this role
├── NotFound                not there, or not yours: the two look the same
├── TurnInFlight            the same idempotency key is being answered
├── DocumentRejected        a file that cannot become a document
│   ├── DocumentTooLarge
│   ├── UnsupportedDocument
│   ├── UnreadableDocument
│   └── NoReadableDocument
├── LeaseLost               somebody else has taken over, or what was worked on is gone
├── BudgetExceeded          the turn has used its model calls
├── ToolFailed              a tool said no, for a reason of its own
└── Unavailable             somebody else's fault; trying again may help
    ├── DependencyDown      a model, a store or the tools server did not answer
    │   ├── ModelOutputInvalid    not in the form that was asked for
    │   ├── ReplyCut              an answer without its end
    │   └── ModelMisconfigured    no request can work until a setting is changed
    └── DeadlineExceeded    the turn ran out of time

The branches about models are in core/llm/errors.py. `message` is written for the person who asked and
is safe to show; `code` is for programs. Two places translate the tree for the outside:
orc/problems.py (HTTP) and mcp_server/tools/registration.py (MCP).
"""

INTERNAL = "internal"
"""The code of a failure that nobody foresaw; what it was is in the log only."""


class OrcError(Exception):
    """Base of the tree. `retryable` says whether the same request may work later."""

    code = "error"
    retryable = False

    def __init__(self, message: str, *, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        if code is not None:
            self.code = code


class InvalidInput(OrcError):
    """A value that cannot be used; `field` is its dotted place in the request."""

    code = "invalid_input"

    def __init__(self, message: str, *, field: str = "", code: str | None = None) -> None:
        super().__init__(message, code=code)
        self.field = field


class UnsafeName(InvalidInput):
    """A document name that could leave its folder or be mistaken for another."""

    code = "unsafe_name"


class KeyReused(InvalidInput):
    """An idempotency key that was already used for a different request."""

    code = "idempotency_key_reused"


class NotAuthenticated(OrcError):
    """No identity, or one that does not verify."""

    code = "not_authenticated"


class Forbidden(OrcError):
    """A known identity without the role that the request needs."""

    code = "forbidden"


class NotFound(OrcError):
    """Absent, or somebody else's."""

    code = "not_found"


class TurnInFlight(OrcError):
    """The turn with this idempotency key has not ended yet."""

    code = "turn_in_flight"
    retryable = True


class DocumentRejected(OrcError):
    """A file that was not accepted; nothing of it is kept."""

    code = "document_rejected"


class DocumentTooLarge(DocumentRejected):
    """More bytes than an upload may have."""

    code = "document_too_large"


class UnsupportedDocument(DocumentRejected):
    """A format that no reader here understands."""

    code = "unsupported_document"


class UnreadableDocument(DocumentRejected):
    """Damaged, locked, or not readable within the time and memory allowed."""

    code = "unreadable_document"


class NoReadableDocument(DocumentRejected):
    """None of the documents of a question could be read."""

    code = "no_readable_document"


class LeaseLost(OrcError):
    """Somebody else does the work now, or it is not wanted any more."""

    code = "lease_lost"
    retryable = True


class BudgetExceeded(OrcError):
    """The turn has used all the model calls it may make."""

    code = "budget_exceeded"


class Unavailable(OrcError):
    """The request was fine; something it needs was not."""

    code = "unavailable"
    retryable = True


class DependencyDown(Unavailable):
    """`dependency` names what did not answer: `model`, `mcp_server`, `store`, `blobs`, `ocr`,
    `identity`, `web_search`.
    """

    code = "dependency_down"

    def __init__(self, message: str, *, dependency: str, code: str | None = None) -> None:
        super().__init__(message, code=code)
        self.dependency = dependency


class DeadlineExceeded(Unavailable):
    """The turn ran out of time."""

    code = "deadline_exceeded"


class ToolFailed(OrcError):
    """A tool failed in a way that has no class of its own here."""

    code = "tool_failed"


def error_named(
    code: str, message: str, *, dependency: str | None = None, retryable: bool | None = None
) -> OrcError:
    """The error that crossed a process boundary in words, back as a member of the tree."""
    error: OrcError
    if dependency is not None:
        error = DependencyDown(message, dependency=dependency, code=code)
    else:
        error = kind_named(code, ToolFailed)(message, code=code)
    if retryable is not None:
        error.retryable = retryable
    return error


def kind_named(code: str, otherwise: type[OrcError]) -> type[OrcError]:
    """The class whose code this is, among those that a message alone can make again."""
    return _BY_CODE.get(code, otherwise)


_BY_CODE: dict[str, type[OrcError]] = {
    INTERNAL: OrcError,
    **{
        kind.code: kind
        for kind in (
            InvalidInput,
            UnsafeName,
            NotAuthenticated,
            NotFound,
            NoReadableDocument,
            BudgetExceeded,
            ToolFailed,
            Unavailable,
            DeadlineExceeded,
        )
    },
}
