"""Is the process alive, can it answer turns, and what does the API offer?"""

import asyncio
import base64
import hashlib
import re
from functools import cache
from pathlib import Path

from fastapi import APIRouter, Response
from fastapi.responses import HTMLResponse

from orc.api.dependencies import AppDep
from orc.api.schemas import DependencyView, Health, Readiness

router = APIRouter(tags=["health"])
_DOCS = Path(__file__).parents[1] / "pages" / "docs.html"
_INLINE = re.compile(r"<(script|style)>(.*?)</\1>", re.DOTALL)


@router.head("/health", include_in_schema=False)
@router.get("/health")
async def health() -> Health:
    """The process is alive; no dependency is checked."""
    return Health()


@router.head("/ready", include_in_schema=False)
@router.get("/ready", responses={503: {"model": Readiness}})
async def ready(app: AppDep, response: Response) -> Readiness:
    """Each dependency: the service in use, whether it answers, and how fast."""
    states = await asyncio.gather(*(check() for check in app.checks))
    all_ok = all(state.allows_turns for state in states)
    if not all_ok:
        response.status_code = 503
    return Readiness(
        status="ready" if all_ok else "not_ready", dependencies=[DependencyView.of(state) for state in states]
    )


@router.get("/docs", include_in_schema=False)
async def docs() -> HTMLResponse:
    """The operations of the API. The page loads no script of another site: it could act as the user."""
    html, policy = _docs_page()
    headers = {
        "content-security-policy": policy,
        "cache-control": "no-cache",
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
    }
    return HTMLResponse(html, headers=headers)


@cache
def _docs_page() -> tuple[str, str]:
    """The page, and a policy that lets nothing run in it but what is in the file; it calls this API alone."""
    html = _DOCS.read_text(encoding="utf-8")
    policy = "default-src 'none'"
    for kind, text in _INLINE.findall(html):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        policy += f"; {kind}-src 'sha256-{digest}'"
    policy += "; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'"
    policy += "; frame-ancestors 'none'"
    return html, policy
