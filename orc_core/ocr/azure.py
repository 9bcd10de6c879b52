"""OCR by Azure Document Intelligence, model `prebuilt-read`, through its official SDK."""

import asyncio
import io
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from orc_core.errors import DeadlineExceeded, DependencyDown, DocumentRejected, OrcError, UnsupportedDocument
from orc_core.infra.azure import Credentials
from orc_core.infra.sandbox import Sandbox
from orc_core.ocr.ports import DAMAGED, Found, OcrPage
from orc_core.ocr.rasterize import Renderer

if TYPE_CHECKING:
    from azure.ai.documentintelligence.aio import DocumentIntelligenceClient
    from azure.ai.documentintelligence.models import DocumentPage
    from azure.core.exceptions import AzureError

MODEL = "prebuilt-read"
API_VERSION = "2024-11-30"
POLL_SECONDS = 1
RETRIES = 3
PING_SECONDS = 10.0
MISCONFIGURED = "ocr_misconfigured"

_SUPPORTED_TYPES = frozenset({"application/pdf", "image/png", "image/jpeg", "image/tiff", "image/bmp"})
"""Formats that the service reads; other images are converted first."""

_LEFT_OUT = "Azure Document Intelligence left them out, as its free tier does"
"""The free tier silently leaves out all pages after the second."""

_log = logging.getLogger(__name__)


class AzureDocumentIntelligence:
    """Sends files to the service, with a limit of `seconds` for each; the service bills each page.

    `identity` is a key, or the credentials of this process.
    """

    name = "Azure Document Intelligence"

    def __init__(
        self,
        endpoint: str,
        identity: str | Credentials,
        sandbox: Sandbox,
        *,
        seconds: float,
        memory_bytes: int,
    ) -> None:
        self._endpoint = endpoint
        self._identity = identity
        self._seconds = seconds
        self._renderer = Renderer(sandbox, seconds=seconds, memory_bytes=memory_bytes)
        self._client: DocumentIntelligenceClient | None = None

    async def read_pages(self, source: Path, media_type: str, pages: Sequence[int], found: Found) -> None:
        """See Ocr. A PDF is sent once and completely; the request names the pages to read."""
        async with self._in_time(self._seconds):
            if media_type in _SUPPORTED_TYPES:
                content = await asyncio.to_thread(source.read_bytes)
                single = media_type not in {"application/pdf", "image/tiff"}
                read = await self._analyze(content, None if single else _ranges(pages))
                for number in pages:
                    found(read.get(number) or OcrPage(number, problem=_LEFT_OUT))
            else:
                await self._read_pictures(source, media_type, pages, found)

    async def ping(self) -> None:
        """See Ocr. Requests the model's description, which is free."""
        async with self._in_time(PING_SECONDS):
            from azure.core.rest import HttpRequest

            request = HttpRequest("GET", f"/documentModels/{MODEL}?api-version={API_VERSION}")
            (await self._opened().send_request(request, retry_total=0)).raise_for_status()

    async def close(self) -> None:
        """See Ocr."""
        if self._client is not None:
            await self._client.close()

    async def _read_pictures(self, source: Path, media_type: str, pages: Sequence[int], found: Found) -> None:
        async with self._renderer.draw(source, media_type, pages, "png") as pictures:
            async for picture in pictures:
                if picture.content:
                    read = await self._analyze(picture.content, None)
                    found(read.get(1, OcrPage(1, problem=_LEFT_OUT))._replace(number=picture.page))
                else:
                    found(OcrPage(picture.page, problem=DAMAGED))

    async def _analyze(self, content: bytes, pages: str | None) -> dict[int, OcrPage]:
        """The results of the service by page number."""
        poller = await self._opened().begin_analyze_document(
            MODEL, io.BytesIO(content), pages=pages, content_type="application/octet-stream"
        )
        try:
            return {page.page_number: _page(page) for page in (await poller.result()).pages or []}
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            # The SDK does not validate the service's answers.
            raise _down("Azure Document Intelligence gave an invalid answer") from error

    def _opened(self) -> "DocumentIntelligenceClient":
        """The client, created on first use: its import is slow, and it is bound to an event loop."""
        if self._client is None:
            from azure.ai.documentintelligence.aio import DocumentIntelligenceClient
            from azure.core.credentials import AzureKeyCredential

            identity = self._identity
            self._client = DocumentIntelligenceClient(
                self._endpoint,
                AzureKeyCredential(identity) if isinstance(identity, str) else identity.default,
                api_version=API_VERSION,
                polling_interval=POLL_SECONDS,
                retry_total=RETRIES,
            )
        return self._client

    @asynccontextmanager
    async def _in_time(self, seconds: float) -> AsyncIterator[None]:
        """Translates errors of the SDK and enforces the deadline."""
        from azure.core.exceptions import AzureError

        limit = asyncio.timeout(seconds)
        try:
            async with limit:
                yield
        except AzureError as error:
            _log.warning("ocr.azure_failed kind=%s", type(error).__name__)
            raise translate(error) from error
        except TimeoutError:
            if limit.expired():
                raise DeadlineExceeded(
                    f"Azure Document Intelligence took longer than {seconds:.0f} s"
                ) from None
            raise


def translate(error: "AzureError") -> OrcError:
    """Our error for an error of the SDK."""
    status = getattr(error, "status_code", None)
    if status in {401, 403, 404}:
        down = _down("Azure Document Intelligence rejects its key, or the endpoint is wrong", MISCONFIGURED)
        down.retryable = False
        return down
    if status == 413:
        return DocumentRejected("Azure Document Intelligence does not take files of this size")
    if status is not None and 400 <= status < 429:
        return UnsupportedDocument("Azure Document Intelligence cannot read the file")
    if status == 429:
        return _down("Azure Document Intelligence is busy. Try again later")
    return _down("Azure Document Intelligence does not answer. Try again later")


def _down(message: str, code: str | None = None) -> DependencyDown:
    return DependencyDown(message, dependency="ocr", code=code)


def _page(page: "DocumentPage") -> OcrPage:
    """Text and mean confidence by character."""
    words = page.words or []
    letters = sum(len(word.content) for word in words)
    confidence = sum(word.confidence * len(word.content) for word in words) / letters if letters else None
    return OcrPage(page.page_number, "\n".join(line.content for line in page.lines or []), confidence)


def _ranges(pages: Sequence[int]) -> str:
    """`1-3,7` for 1, 2, 3 and 7."""
    groups = groupby(enumerate(pages), key=lambda placed: placed[1] - placed[0])
    runs = [[page for _, page in group] for _, group in groups]
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs)
