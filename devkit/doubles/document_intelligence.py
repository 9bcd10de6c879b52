"""Azure Document Intelligence for tests: `prebuilt-read` over the service's protocol, with scripted pages."""

import contextlib
import io
from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

import pypdfium2
from PIL import Image
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from devkit.serving import serve_from_thread

KEY = "0123456789abcdef"
MODEL = "/documentintelligence/documentModels/prebuilt-read"
Json = dict[str, Any]


class Failure(NamedTuple):
    """One refusal of the request that starts the reading."""

    status: int
    code: str = "Scripted"
    headers: dict[str, str] = {}


class Asked(NamedTuple):
    """A request that was accepted: what to read, and the bytes."""

    pages: str | None
    body: bytes


class DocumentIntelligenceDouble:
    """The server's state. `texts` is what it reads, by page; it says so after `polls` more questions."""

    def __init__(self, texts: dict[int, str], *, confidence: float = 0.9) -> None:
        self.texts = texts
        self.confidence = confidence
        self.polls = 1
        self.most_pages = 2000
        self.outcome = "succeeded"
        self.garbage: bytes | None = None
        self.failures: deque[Failure] = deque()
        self.asked: list[Asked] = []
        self.requests = 0
        self._left: dict[str, int] = {}
        self.app = Starlette(
            routes=[
                Route(MODEL, self._describe),
                Route(f"{MODEL}:analyze", self._analyze, methods=["POST"]),
                Route(f"{MODEL}/analyzeResults/{{result_id}}", self._result),
            ]
        )

    async def _describe(self, request: Request) -> Response:
        return _refusal(request) or JSONResponse({"modelId": "prebuilt-read"})

    async def _analyze(self, request: Request) -> Response:
        self.requests += 1
        if refused := _refusal(request):
            return refused
        if self.failures:
            failure = self.failures.popleft()
            return _error(failure.status, failure.code, failure.headers)
        asked = Asked(request.query_params.get("pages"), await request.body())
        if not _is_readable(asked.body):
            return _error(400, "InvalidRequest")
        self.asked.append(asked)
        result_id = str(len(self.asked))
        self._left[result_id] = self.polls
        where = f"{request.url.replace(path=f'{MODEL}/analyzeResults/{result_id}', query='')}"
        version = request.query_params["api-version"]
        return Response(
            status_code=202,
            headers={"Operation-Location": f"{where}?api-version={version}", "retry-after-ms": "5"},
        )

    async def _result(self, request: Request) -> Response:
        if refused := _refusal(request):
            return refused
        result_id = request.path_params["result_id"]
        if self.garbage is not None:
            return Response(self.garbage, media_type="application/json")
        if self._left[result_id] > 0:
            self._left[result_id] -= 1
            return JSONResponse(_operation("running"), headers={"retry-after-ms": "5"})
        body = _operation(self.outcome)
        if self.outcome == "succeeded":
            body["analyzeResult"] = self._analysis(self.asked[int(result_id) - 1])
        else:
            body["error"] = {"code": "InternalServerError", "message": "An unexpected error occurred."}
        return JSONResponse(body)

    def _analysis(self, asked: Asked) -> Json:
        wanted = _numbers(asked.pages) if asked.pages else list(self.texts)
        pages = [self._page(number) for number in wanted if number in self.texts]
        return {
            "apiVersion": "2024-11-30",
            "modelId": "prebuilt-read",
            "stringIndexType": "textElements",
            "content": "\n".join(self.texts.values()),
            "pages": pages[: self.most_pages],
            "styles": [],
        }

    def _page(self, number: int) -> Json:
        lines = self.texts[number].splitlines()
        outline = [0, 0, 1, 0, 1, 1, 0, 1]
        words = [
            {"content": word, "polygon": outline, "confidence": self.confidence, "span": _span()}
            for line in lines
            for word in line.split()
        ]
        return {
            "pageNumber": number,
            "angle": 0,
            "width": 8.5,
            "height": 11,
            "unit": "inch",
            "words": words,
            "lines": [{"content": line, "polygon": outline, "spans": [_span()]} for line in lines],
            "spans": [_span()],
        }


@contextlib.contextmanager
def serving(double: DocumentIntelligenceDouble) -> Iterator[str]:
    """Serve from a thread on a free loopback port; gives the endpoint that the SDK wants."""
    with serve_from_thread(double.app) as url:
        yield url


def _refusal(request: Request) -> Response | None:
    if request.headers.get("Ocp-Apim-Subscription-Key") != KEY:
        return _error(401, "401")
    return None if request.query_params.get("api-version") == "2024-11-30" else _error(404, "404")


def _error(status: int, code: str, headers: dict[str, str] | None = None) -> Response:
    return JSONResponse({"error": {"code": code, "message": "Scripted."}}, status, headers)


def _is_readable(body: bytes) -> bool:
    """Whether it is a file of a kind that the service reads: it knows no GIF and no WEBP."""
    try:
        if body.startswith(b"%PDF-"):
            pypdfium2.PdfDocument(body).close()
        else:
            Image.open(io.BytesIO(body), formats=["PNG", "JPEG", "TIFF", "BMP"]).close()
    except (pypdfium2.PdfiumError, OSError):
        return False
    return True


def _numbers(pages: str) -> list[int]:
    ends = [part.split("-") for part in pages.split(",")]
    return [number for part in ends for number in range(int(part[0]), int(part[-1]) + 1)]


def _operation(status: str) -> Json:
    now = "2026-01-01T00:00:00Z"
    return {"status": status, "createdDateTime": now, "lastUpdatedDateTime": now}


def _span() -> Json:
    return {"offset": 0, "length": 1}
