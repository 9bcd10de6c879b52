"""The one place that maps our errors to HTTP: a status and an RFC 9457 problem document."""

from http import HTTPStatus

from core.errors import (
    BudgetExceeded,
    DeadlineExceeded,
    DocumentRejected,
    DocumentTooLarge,
    Forbidden,
    InvalidInput,
    NotAuthenticated,
    NotFound,
    OrcError,
    ToolFailed,
    TurnInFlight,
    Unavailable,
    UnsafeName,
    UnsupportedDocument,
)
from orc.events import FieldProblem, Problem

_STATUS: list[tuple[type[OrcError], HTTPStatus]] = [
    (UnsafeName, HTTPStatus.BAD_REQUEST),
    (InvalidInput, HTTPStatus.UNPROCESSABLE_ENTITY),
    (NotAuthenticated, HTTPStatus.UNAUTHORIZED),
    (Forbidden, HTTPStatus.FORBIDDEN),
    (NotFound, HTTPStatus.NOT_FOUND),
    (TurnInFlight, HTTPStatus.CONFLICT),
    (DocumentTooLarge, HTTPStatus.REQUEST_ENTITY_TOO_LARGE),
    (UnsupportedDocument, HTTPStatus.UNSUPPORTED_MEDIA_TYPE),
    (DocumentRejected, HTTPStatus.UNPROCESSABLE_ENTITY),
    (ToolFailed, HTTPStatus.UNPROCESSABLE_ENTITY),
    (BudgetExceeded, HTTPStatus.SERVICE_UNAVAILABLE),
    (DeadlineExceeded, HTTPStatus.GATEWAY_TIMEOUT),
    (Unavailable, HTTPStatus.SERVICE_UNAVAILABLE),
]


def status_of(error: OrcError) -> HTTPStatus:
    """The HTTP status of an error of ours; the first class that fits decides."""
    found = (status for kind, status in _STATUS if isinstance(error, kind))
    return next(found, HTTPStatus.INTERNAL_SERVER_ERROR)


def problem_of(error: OrcError, trace_id: str) -> Problem:
    """The problem document of an error of ours."""
    field = getattr(error, "field", "")
    return problem(
        status_of(error),
        error.message,
        trace_id,
        code=error.code,
        retryable=error.retryable,
        dependency=getattr(error, "dependency", None),
        errors=[FieldProblem(field=field, reason=error.message, code=error.code)] if field else [],
    )


def problem(
    status: int,
    detail: str,
    trace_id: str,
    *,
    code: str | None = None,
    retryable: bool = False,
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
        dependency=dependency,
        errors=errors or [],
    )
