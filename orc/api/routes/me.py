"""The caller and the installation, as a page needs them."""

from functools import cache
from importlib.resources import files
from urllib.parse import urlsplit

from fastapi import APIRouter

from orc import __version__
from orc.api.dependencies import AppDep, CallerDep
from orc.api.me_schemas import Can, LimitsView, Me, ModelView, SignIn, ToolView, WindowView
from orc.api.responses import responses
from orc.api.routes.documents import MAX_FILES_PER_UPLOAD
from orc.bootstrap import App
from orc.contexts.models import ContextType
from orc_core.extraction.formats import EXTENSIONS
from orc_core.mcp_contract import MAX_QUESTION_CHARACTERS

router = APIRouter(tags=["contexts"])


@router.get("/me", response_model=Me, responses=responses())
async def me(caller: CallerDep, app: AppDep) -> Me:
    """Who the caller is, what the caller may do everywhere, and what this installation offers."""
    who, settings = caller.principal, app.settings
    creates = app.contexts.may_create_roots(caller)
    return Me(
        user_id=who.user_id,
        organization_id=who.organization_id,
        name=who.name,
        roles=sorted(who.roles),
        groups_complete=who.groups_complete,
        may_create=[kind for kind in ContextType if creates and kind.parent is None],
        can=Can(ask=True, upload=True, create_contexts=creates, administer=caller.is_admin),
        sign_in=SignIn.of(settings),
        limits=_limits(app),
        extensions=list(EXTENSIONS),
        models=_models(app),
        page_images=settings.image_limits is not None,
        page_images_allowed=bool(settings.most_page_images) and any(each.images for each in _models(app)),
        tools=[ToolView.of(tool) for tool in await app.tools.listed()],
        direct_upload_origin=_origin(settings.azure_storage_account_url),
        offline_model=not settings.has_model,
        version=__version__,
        languages=_languages(),
    )


def _limits(app: App) -> LimitsView:
    settings = app.settings
    return LimitsView(
        messages=WindowView.of(app.messages.window),
        uploads=WindowView.of(app.uploads.window),
        upload_bytes=settings.max_upload_bytes,
        files_per_upload=MAX_FILES_PER_UPLOAD,
        documents_per_request=settings.max_documents_per_request,
        question_characters=MAX_QUESTION_CHARACTERS,
    )


def _models(app: App) -> list[ModelView]:
    default = app.models.writer.name
    return [
        ModelView(id=name, title=name, default=name == default, images=app.model_facts.facts(name).images)
        for name in app.models.names
    ]


def _origin(url: str | None) -> str | None:
    """Scheme, host and port of the address."""
    parts = urlsplit(url or "")
    return f"{parts.scheme}://{parts.netloc}" if parts.netloc else None


@cache
def _languages() -> list[str]:
    """The languages that the page has words for."""
    words = files("orc") / "web" / "words"
    return sorted(each.name.removesuffix(".json") for each in words.iterdir()) if words.is_dir() else []
