"""Serves the web page: `/`, and its modules, styles and words below `/assets/{hash}/`, compressed."""

import gzip
import hashlib
import re
from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Header, Response

from core.errors import NotFound

FOLDER = Path(__file__).resolve().parents[1] / "web"
ASSETS = "/assets/"
HASH_DIGITS = 12
_MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
"""Of the files that are served. Declarations of types and the template of the page are not."""
_LANGUAGES = ("en", "de")
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' blob:",
        "font-src 'self'",
        "connect-src 'self'",
        "manifest-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
"""Nothing of another host and nothing inline; and no script may write markup as text into the page."""
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    # Azure's sign-in refuses some requests without a referrer; other sites still learn nothing.
    "referrer-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}
_UNCHANGING = {"cache-control": "public, max-age=31536000, immutable"}
router = APIRouter(include_in_schema=False)


@dataclass(frozen=True)
class Asset:
    """One file: its media type, its bytes, and the same compressed."""

    media_type: str
    plain: bytes
    zipped: bytes

    @classmethod
    def of(cls, media_type: str, plain: bytes) -> "Asset":
        """The file with these bytes."""
        return cls(media_type, plain, gzip.compress(plain, 9, mtime=0))

    def response(self, accepted: str, headers: dict[str, str]) -> Response:
        """The file, compressed if the client takes that."""
        zips = "gzip" in accepted
        encoding = {"content-encoding": "gzip"} if zips else {}
        content = self.zipped if zips else self.plain
        all_headers = HEADERS | {"vary": "accept-encoding"} | headers | encoding
        return Response(content, headers=all_headers, media_type=self.media_type)


@dataclass(frozen=True)
class Site:
    """The page in each language, and the files that it loads. `digest` changes with any of them."""

    digest: str
    pages: dict[str, Asset]
    assets: dict[str, Asset]


@cache
def site() -> Site:
    """The files of the folder, read once."""
    files = {path.relative_to(FOLDER).as_posix(): path for path in sorted(FOLDER.rglob("*"))}
    served = {name: path.read_bytes() for name, path in files.items() if path.suffix in _MEDIA_TYPES}
    template = (FOLDER / "index.html").read_text(encoding="utf-8")
    whole = hashlib.sha256(template.encode())
    for name, content in served.items():
        whole.update(f"{name}:{len(content)}:".encode() + content)
    digest = whole.hexdigest()[:HASH_DIGITS]
    assets = {name: Asset.of(_MEDIA_TYPES[files[name].suffix], content) for name, content in served.items()}
    modules = [name for name in served if name.endswith(".js")]
    pages = {each: _page(template, each, f"{ASSETS}{digest}/", modules) for each in _LANGUAGES}
    return Site(digest, pages, assets)


def _page(template: str, language: str, base: str, modules: list[str]) -> Asset:
    preloads = "\n".join(f'<link rel="modulepreload" href="{base}{name}">' for name in modules)
    for slot, value in {"language": language, "base": base, "preloads": preloads}.items():
        template = template.replace(f"{{{{{slot}}}}}", value)
    return Asset.of("text/html; charset=utf-8", template.encode())


def preferred_language(accepted: str) -> str:
    """The language of the page for an `Accept-Language` header: the first that there is."""
    wanted = re.findall(r"(?:^|,)\s*([a-zA-Z]{2})\b", accepted)
    return next((each for each in map(str.lower, wanted) if each in _LANGUAGES), _LANGUAGES[0])


@router.api_route("/", methods=["GET", "HEAD"])
async def show_page(
    accept_encoding: Annotated[str, Header()] = "",
    accept_language: Annotated[str, Header()] = "",
    if_none_match: Annotated[str, Header()] = "",
) -> Response:
    """The page. A browser asks each time whether it has changed."""
    language = preferred_language(accept_language)
    tag = f'"{site().digest}-{language}"'
    headers = {"cache-control": "no-cache", "etag": tag, "vary": "accept-encoding, accept-language"}
    if tag in if_none_match:
        return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=HEADERS | headers)
    return site().pages[language].response(accept_encoding, headers)


@router.api_route(ASSETS + "{digest}/{name:path}", methods=["GET", "HEAD"])
async def asset(digest: str, name: str, accept_encoding: Annotated[str, Header()] = "") -> Response:
    """A file of the page. Only the present version is served: files of two versions do not fit together."""
    found = site().assets.get(name) if digest == site().digest else None
    if found is None:
        raise NotFound("There is no such file in this version of the page.")
    return found.response(accept_encoding, _UNCHANGING)
