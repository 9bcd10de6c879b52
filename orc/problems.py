"""The one place that maps our errors to HTTP: a status and an RFC 9457 problem document."""

from http import HTTPStatus

from pydantic import BaseModel, Field

from orc_core.errors import (
    BudgetExceeded,
    ChangedMeanwhile,
    Conflict,
    DeadlineExceeded,
    DiskFull,
    DocumentRejected,
    DocumentTooLarge,
    Forbidden,
    InvalidInput,
    NotAuthenticated,
    NotFound,
    OrcError,
    StorageFull,
    ToolFailed,
    TooMany,
    TurnInFlight,
    Unavailable,
    UnsafeName,
    UnsupportedDocument,
)


class Problem(BaseModel):
    """An RFC 9457 problem document."""

    type: str = Field(
        description="what kind of problem, as a URI reference", examples=["/problems/not_found"]
    )
    title: str = Field(examples=["Not found"])
    status: int = Field(examples=[404])
    detail: str = Field(examples=['There is no document "a.pdf" in this conversation.'])
    trace_id: str
    code: str = Field(description="the kind of problem, for programs", examples=["not_found"])
    retryable: bool = False
    retry_after: int | None = Field(
        default=None, description="seconds until a retry may help, as in the header Retry-After"
    )
    dependency: str | None = Field(default=None, description="what did not answer")
    conversation_id: str | None = Field(default=None, description="of a turn in flight: its conversation")
    turn_id: str | None = Field(default=None, description="of a turn in flight: the turn to follow")
    documents: dict[str, int] | None = Field(
        default=None, description="of a workspace without readable documents: `uploaded`, `ready`, `failed`"
    )
    errors: list["FieldProblem"] = []


class FieldProblem(BaseModel):
    """What is wrong with one field or file of a request."""

    field: str = Field(examples=["question"])
    reason: str = Field(examples=["must not be empty"])
    code: str | None = None


_STATUS: list[tuple[type[OrcError], HTTPStatus]] = [
    (UnsafeName, HTTPStatus.BAD_REQUEST),
    (InvalidInput, HTTPStatus.UNPROCESSABLE_ENTITY),
    (NotAuthenticated, HTTPStatus.UNAUTHORIZED),
    (Forbidden, HTTPStatus.FORBIDDEN),
    (NotFound, HTTPStatus.NOT_FOUND),
    (TurnInFlight, HTTPStatus.CONFLICT),
    (ChangedMeanwhile, HTTPStatus.PRECONDITION_FAILED),
    (Conflict, HTTPStatus.CONFLICT),
    (TooMany, HTTPStatus.TOO_MANY_REQUESTS),
    (StorageFull, HTTPStatus.INSUFFICIENT_STORAGE),
    (DocumentTooLarge, HTTPStatus.REQUEST_ENTITY_TOO_LARGE),
    (UnsupportedDocument, HTTPStatus.UNSUPPORTED_MEDIA_TYPE),
    (DocumentRejected, HTTPStatus.UNPROCESSABLE_ENTITY),
    (ToolFailed, HTTPStatus.UNPROCESSABLE_ENTITY),
    (BudgetExceeded, HTTPStatus.SERVICE_UNAVAILABLE),
    (DeadlineExceeded, HTTPStatus.GATEWAY_TIMEOUT),
    (DiskFull, HTTPStatus.INSUFFICIENT_STORAGE),
    (Unavailable, HTTPStatus.SERVICE_UNAVAILABLE),
]


def status_of(error: OrcError) -> HTTPStatus:
    """The HTTP status of an error of ours; the first class that fits decides."""
    found = (status for kind, status in _STATUS if isinstance(error, kind))
    return next(found, HTTPStatus.INTERNAL_SERVER_ERROR)


def problem_of(error: OrcError, trace_id: str) -> Problem:
    """The problem document of an error of ours."""
    field = getattr(error, "field", "")
    content = problem(
        status_of(error),
        error.message,
        trace_id,
        code=error.code,
        retryable=error.retryable,
        retry_after=error.retry_after,
        dependency=getattr(error, "dependency", None),
        errors=[FieldProblem(field=field, reason=error.message, code=error.code)] if field else [],
    )
    if isinstance(error, Conflict):
        return content.model_copy(update={"documents": error.documents})
    if isinstance(error, TurnInFlight):
        ids = {"conversation_id": error.conversation_id, "turn_id": error.turn_id}
        return content.model_copy(update=ids)
    return content


def problem(
    status: int,
    detail: str,
    trace_id: str,
    *,
    code: str | None = None,
    retryable: bool = False,
    retry_after: int | None = None,
    dependency: str | None = None,
    errors: list[FieldProblem] | None = None,
) -> Problem:
    """A problem document; without a `code` it is named after the status."""
    title = HTTPStatus(status).phrase
    code = code or title.lower().replace(" ", "_")
    return Problem(
        type=f"/problems/{code}",
        title=title,
        status=int(status),
        detail=detail,
        trace_id=trace_id,
        code=code,
        retryable=retryable,
        retry_after=retry_after,
        dependency=dependency,
        errors=errors or [],
    )
