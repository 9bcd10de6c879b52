"""Groundedness detection of Azure AI Content Safety, as far as Orc asks it."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

PATH = "/contentsafety/text:detectGroundedness"
KEY, TOKEN = "key-of-the-double", "token-of-the-double"
API_VERSION = "2024-09-15-preview"


class _Question(BaseModel):
    query: str = Field(max_length=7500)


class _Asked(BaseModel):
    """A request; the service refuses others with 400."""

    model_config = ConfigDict(extra="forbid")
    domain: str = Field(pattern="^(Generic|Medical)$")
    task: str = Field(pattern="^(QnA|Summarization)$")
    qna: _Question | None = None
    text: str = Field(min_length=1, max_length=7500)
    sources: list[str] = Field(min_length=1, alias="groundingSources")
    reasoning: bool


class ContentSafetyDouble:
    """Grounded is what a source contains word for word. A `reply` is given instead of the next answers."""

    def __init__(self) -> None:
        self.asked: list[_Asked] = []
        self.reply: Response | None = None

    @property
    def app(self) -> Starlette:
        """The service."""
        return Starlette(routes=[Route(PATH, self._detect, methods=["POST"])])

    async def _detect(self, request: Request) -> Response:
        identity = request.headers.get("ocp-apim-subscription-key"), request.headers.get("authorization")
        if identity not in ((KEY, None), (None, f"Bearer {TOKEN}")):
            return _error(401, "Unauthorized")
        if request.query_params.get("api-version") != API_VERSION:
            return _error(404, "ResourceNotFound")
        try:
            asked = _Asked.model_validate_json(await request.body())
        except ValidationError as exc:
            return _error(400, f"InvalidRequestBody: {exc}")
        self.asked.append(asked)
        if self.reply is not None:
            return self.reply
        is_grounded = any(asked.text in source for source in asked.sources)
        place = {"utf8": 0, "utf16": 0, "codePoint": 0}
        details: list[dict[str, Any]] = [{"text": asked.text, "offset": place, "length": place}]
        return JSONResponse(
            {
                "ungroundedDetected": not is_grounded,
                "ungroundedPercentage": float(not is_grounded),
                "ungroundedDetails": [] if is_grounded else details,
            }
        )


def _error(status: int, code: str) -> Response:
    return JSONResponse({"error": {"code": code, "message": code}}, status)
