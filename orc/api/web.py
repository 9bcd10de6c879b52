"""Serves the web page: `/`, and its modules, styles and words below `/assets/{hash}/`."""

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from html import escape
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, NamedTuple

from fastapi import APIRouter, Header, Request, Response
from fastapi.responses import HTMLResponse

from orc.api.routes.me import SignIn
from orc_core.errors import NotFound

# Why there is no build, and one origin: docs/decisions/web-page.md.
FOLDER = Path(__file__).resolve().parents[1] / "web"
ASSETS = "/assets/"
HASH_DIGITS = 12
_MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".pdf": "application/pdf",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
"""Of the files that are served. Declarations of types and the template of the page are not."""
_STYLES = ("tokens", "base", "regions", "turns", "composer", "sources", "over", "widths", "lists", "paper")
"""The parts of the one style sheet that is served, in their order: a later rule overrides an earlier one."""
_IMPORT = re.compile(r'from "\./([\w/]+\.js)";')
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
_OF_ASSETS = {
    "x-content-type-options": "nosniff",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "public, max-age=31536000, immutable",
}
"""The policy is that of the page which loads them: with each of twenty files it would be sent again."""
router = APIRouter(include_in_schema=False)


class Asset(NamedTuple):
    """One file: its media type and its bytes."""

    media_type: str
    content: bytes


@dataclass(frozen=True)
class Site:
    """The files that the page loads. `digest` changes with any of them, and with the page's template."""

    digest: str
    assets: dict[str, Asset]


@cache
def site() -> Site:
    """The files of the folder, read once."""
    files = {path.relative_to(FOLDER).as_posix(): path for path in sorted(FOLDER.rglob("*"))}
    served = {name: path.read_bytes() for name, path in files.items() if path.suffix in _MEDIA_TYPES}
    served["styles.css"] = b"".join(served.pop(f"styles/{each}.css") for each in _STYLES)
    whole = hashlib.sha256(_template().encode())
    for name, content in served.items():
        whole.update(f"{name}:{len(content)}:".encode() + content)
    digest = whole.hexdigest()[:HASH_DIGITS]
    assets = {name: Asset(_MEDIA_TYPES[Path(name).suffix], content) for name, content in served.items()}
    return Site(digest, assets)


@cache
def languages() -> tuple[str, ...]:
    """The languages that have a file of words, English first: it is for everybody else."""
    found = {name.removeprefix("words/").removesuffix(".json") for name in site().assets if "words/" in name}
    return ("en", *sorted(found - {"en"}))


@cache
def first_modules() -> tuple[str, ...]:
    """The modules that the page needs at once: the entry, and what it imports, directly or not."""
    found = ["app.js"]
    for name in found:
        imports = _IMPORT.findall(site().assets[name].content.decode())
        found += [each for each in dict.fromkeys(imports) if each not in found]
    return tuple(found)


def _template() -> str:
    return (FOLDER / "index.html").read_text(encoding="utf-8")


@cache
def page_of(language: str, mode: str, sign_in_url: str) -> str:
    """The page in this language. Who is not signed in learns from it where to sign in: Azure itself answers
    every request to the API with 401 and no body."""
    base = f"{ASSETS}{site().digest}/"
    slots = {
        "language": language,
        "languages": " ".join(languages()),
        "base": base,
        "mode": mode,
        "sign_in": escape(sign_in_url),
        "preloads": "\n".join(f'<link rel="modulepreload" href="{base}{name}">' for name in first_modules()),
    }
    text = _template()
    for slot, value in slots.items():
        text = text.replace(f"{{{{{slot}}}}}", value)
    return text


def preferred_language(accepted: str) -> str:
    """The language of the page for an `Accept-Language` header: the first that there is."""
    wanted = re.findall(r"(?:^|,)\s*([a-zA-Z]{2})\b", accepted)
    return next((each for each in map(str.lower, wanted) if each in languages()), languages()[0])


@router.api_route("/", methods=["GET", "HEAD"])
async def show_page(
    request: Request,
    accept_language: Annotated[str, Header()] = "",
    if_none_match: Annotated[str, Header()] = "",
) -> Response:
    """The page. A browser asks each time whether it has changed."""
    sign_in: SignIn = request.app.state.sign_in
    page = page_of(preferred_language(accept_language), sign_in.mode, sign_in.sign_in_url or "")
    tag = f'"{hashlib.sha256(page.encode()).hexdigest()[:HASH_DIGITS]}"'
    headers = HEADERS | {"cache-control": "no-cache", "etag": tag, "vary": "accept-language"}
    if tag in if_none_match:
        return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
    return HTMLResponse(page, headers=headers)


@router.api_route(ASSETS + "{digest}/{name:path}", methods=["GET", "HEAD"])
async def asset(digest: str, name: str) -> Response:
    """A file of the page. Only the present version is served: files of two versions do not fit together."""
    found = site().assets.get(name) if digest == site().digest else None
    if found is None:
        raise NotFound("There is no such file in this version of the page.")
    return Response(found.content, headers=_OF_ASSETS, media_type=found.media_type)
