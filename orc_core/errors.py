"""All errors that Orc raises intentionally; those about models are in orc_core/llm/errors.py.

`message` is written for the user and safe to show; `code` is for programs. Two modules translate the errors
for clients: orc/problems.py (HTTP) and mcp_server/tools/registration.py (MCP).
"""

INTERNAL = "internal"
"""The code of an unexpected failure; the log contains the cause."""


class OrcError(Exception):
    """Base of the tree. `retryable` says whether the same request may work later.

    `retry_after` are the seconds until then, if a service named them.
    """

    code = "error"
    retryable = False
    retry_after: int | None = None

    def __init__(self, message: str, *, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        if code is not None:
            self.code = code


class InvalidInput(OrcError):
    """A field of the request has an invalid value; `field` is its dotted path."""

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
    """No credentials, or an invalid token."""

    code = "not_authenticated"


class Forbidden(OrcError):
    """Authenticated, but without the role that the request needs."""

    code = "forbidden"


class NotFound(OrcError):
    """Absent, or of another user: both look the same."""

    code = "not_found"


class Conflict(OrcError):
    """The state of what the request is about does not allow it; `code` says why.

    `documents`: how many there are and how many can be read, if that is the reason.
    """

    code = "conflict"
    documents: dict[str, int] | None = None


class ChangedMeanwhile(Conflict):
    """Another request has changed the same thing since it was read."""

    code = "changed_meanwhile"
    retryable = True


class TurnInFlight(OrcError):
    """The request with this idempotency key is still being answered, in the turn with these ids."""

    code = "turn_in_flight"
    retryable = True
    conversation_id: str | None = None
    turn_id: str | None = None


class TooMany(OrcError):
    """The caller has as much under way as one user may."""

    code = "too_many_requests"
    retryable = True


class StorageFull(OrcError):
    """The organization stores as many bytes as it may; deleting documents helps."""

    code = "storage_full"
    retry_after = 3600


class DocumentRejected(OrcError):
    """A file that was not accepted; nothing of it is kept."""

    code = "document_rejected"


class DocumentTooLarge(DocumentRejected):
    """More bytes than an upload may have."""

    code = "document_too_large"


class UnsupportedDocument(DocumentRejected):
    """A format that is not supported, or content that does not fit the name."""

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
    """The request is not at fault; a retry may help."""

    code = "unavailable"
    retryable = True


class DependencyDown(Unavailable):
    """No answer from the service that `dependency` names, such as `model`, `store` or `vectors`."""

    code = "dependency_down"

    def __init__(self, message: str, *, dependency: str, code: str | None = None) -> None:
        super().__init__(message, code=code)
        self.dependency = dependency


class DiskFull(DependencyDown):
    """A disk has no space left. `dependency` is what it is used for: also `temporary_files` or `disk`."""

    code = "disk_full"


class DiskReadOnly(DependencyDown):
    """A file system or file may only be read. `dependency` is what it is used for, as for a full disk."""

    code = "disk_read_only"


class TooManyOpenFiles(DependencyDown):
    """The process or the system has no file descriptor left; `dependency` is `open_files`."""

    code = "too_many_open_files"


class DataNotUsable(DependencyDown):
    """Data of a version that this program cannot read. Nothing of it has been changed."""

    code = "data_not_usable"
    retryable = False


class DeadlineExceeded(Unavailable):
    """The turn ran out of time."""

    code = "deadline_exceeded"


class ToolFailed(OrcError):
    """A tool failed with a code that has no class here."""

    code = "tool_failed"


def error_named(
    code: str,
    message: str,
    *,
    dependency: str | None = None,
    retryable: bool | None = None,
    retry_after: int | None = None,
) -> OrcError:
    """The error for the code and message that another process sent."""
    error: OrcError
    if dependency is not None:
        error = DependencyDown(message, dependency=dependency, code=code)
    else:
        error = kind_named(code, ToolFailed)(message, code=code)
    if retryable is not None:
        error.retryable = retryable
    error.retry_after = retry_after
    return error


def kind_named(code: str, otherwise: type[OrcError]) -> type[OrcError]:
    """The class with this code, if a message alone is enough to create it."""
    return _BY_CODE.get(code, otherwise)


_OF_THE_REQUEST = (InvalidInput, UnsafeName, NotAuthenticated, NotFound, NoReadableDocument)
_OF_THE_WORK = (BudgetExceeded, ToolFailed, Unavailable, DeadlineExceeded)
_BY_CODE: dict[str, type[OrcError]] = {
    INTERNAL: OrcError,
    **{kind.code: kind for kind in (*_OF_THE_REQUEST, *_OF_THE_WORK)},
}
