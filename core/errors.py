"""All errors that Orc raises intentionally, as a tree.

OrcError
├── InvalidInput            a field of the request has an invalid value
│   ├── UnsafeName          a document name that could lead out of its folder
│   ├── KeyReused           an idempotency key was used with another body
│   ├── ContextTooLong      question, history and sources do not fit the model
│   └── ContentFiltered     the provider's filter refused the question or the answer
├── NotAuthenticated        no credentials, or an invalid token
├── Forbidden               authenticated, but without the role
├── NotFound                absent, or of another user: both look the same
├── TurnInFlight            the same idempotency key is being answered
├── DocumentRejected        a file that cannot become a document
│   ├── DocumentTooLarge
│   ├── UnsupportedDocument
│   ├── UnreadableDocument
│   └── NoReadableDocument
├── LeaseLost               another process has taken over, or the work is obsolete
├── BudgetExceeded          the turn has used its model calls
├── ToolFailed              a tool failed with a code without a class here
└── Unavailable             not the fault of the request; a retry may help
    ├── DependencyDown      a model, a store or the tools server did not answer
    │   ├── ModelOutputInvalid    not in the requested structure
    │   ├── ReplyCut              an answer that was cut off
    │   └── ModelMisconfigured    every request fails until a setting is changed
    └── DeadlineExceeded    the turn ran out of time

The branches about models are in core/llm/errors.py. `message` is written for the user and safe to show;
`code` is for programs. Two modules translate the errors for clients: orc/problems.py (HTTP) and
mcp_server/tools/registration.py (MCP).
"""

INTERNAL = "internal"
"""The code of an unexpected failure; the log contains the cause."""


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
    """Absent, or of another user."""

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
    """Another process does the work now, or it is obsolete."""

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
    """A tool failed with a code that has no class here."""

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
