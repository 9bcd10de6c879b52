"""Is the process alive, can it answer turns, and what does the API offer?"""

import asyncio

from fastapi import APIRouter, Response
from fastapi.responses import HTMLResponse

from orc.api.dependencies import AppDep
from orc.api.pages import page
from orc.api.schemas import DependencyView, Health, Readiness

router = APIRouter(tags=["health"])


@router.head("/health", include_in_schema=False)
@router.get("/health", response_model=Health)
async def health() -> Health:
    """The process is alive; no dependency is checked."""
    return Health()


@router.head("/ready", include_in_schema=False)
@router.get("/ready", response_model=Readiness, responses={503: {"model": Readiness}})
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
    html, headers = page("docs")
    return HTMLResponse(html, headers=headers)
