"""The caller and the installation, as a page needs them."""

from functools import cache
from importlib.resources import files
from typing import Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field

from orc import __version__
from orc.api.dependencies import AppDep, CallerDep
from orc.api.responses import responses
from orc.api.routes.documents import MAX_FILES_PER_UPLOAD
from orc.api.schemas import View
from orc.api.sign_in import SIGN_IN, SIGN_OUT
from orc.contexts.models import ContextType
from orc.limits.models import Window
from orc.settings import AuthMode, Settings, origin_in
from orc_core.extraction.formats import EXTENSIONS
from orc_core.mcp_contract import MAX_QUESTION_CHARACTERS

OF_AZURE = ("/.auth/login/aad", "/.auth/logout")
"""Where Azure's authentication signs a browser in and out."""


class Can(BaseModel):
    """What the caller may do everywhere; what needs a role on a context is shown with that context."""

    ask: bool = Field(description="ask and read in sessions of the caller's own")
    upload: bool = Field(description="upload and delete documents in them")
    create_contexts: bool = Field(description="create organizations and workspaces")
    administer: bool = Field(description="read the telemetry of the organization and repair its contexts")


class SignIn(BaseModel):
    """How the caller is identified, and where a browser signs in and out; null if not by this server."""

    mode: AuthMode
    sign_in_url: str | None
    sign_out_url: str | None

    @classmethod
    def of(cls, settings: Settings) -> "SignIn":
        """What these settings say. A proxy of the operator's has addresses that are not known here."""
        is_azure = settings.auth_mode is AuthMode.EASYAUTH and settings.azure_auth_enabled
        own = (SIGN_IN, SIGN_OUT) if settings.auth_mode is AuthMode.OIDC else (None, None)
        urls = OF_AZURE if is_azure else own
        return cls(mode=settings.auth_mode, sign_in_url=urls[0], sign_out_url=urls[1])


class WindowView(View):
    limit: int
    seconds: int


class LimitsView(BaseModel):
    messages: WindowView | None = Field(description="questions; null: no limit")
    uploads: WindowView | None = Field(description="bytes of all uploads; null: no limit")
    upload_bytes: int = Field(description="bytes of one file")
    files_per_upload: int
    documents_per_request: int = Field(
        description="named documents that are read whole; if there are more, they are searched"
    )
    question_characters: int


class ModelView(BaseModel):
    id: str = Field(examples=["gpt-5.1"])
    title: str
    default: bool = Field(description="used if a request names none")
    images: bool = Field(description="reads pictures")


class ToolView(View):
    """A tool. A request switches it off by `tools: {name: false}`, and one of `update` on by `true`."""

    name: str
    title: str
    description: str
    available: bool = Field(description="the tools server offers it now")
    kind: Literal["read", "update"]


class Me(BaseModel):
    """The caller, as the server knows it, and what the installation offers."""

    user_id: str = Field(examples=["ada"])
    organization_id: str
    name: str | None = Field(description="for showing; null if the identity has none")
    roles: list[str]
    groups_complete: bool = Field(
        description="false: the identity names no groups because there are too many; roles of groups do not"
        " count then"
    )
    may_create: list[ContextType] = Field(description="contexts that the caller may create on the top level")
    can: Can
    sign_in: SignIn
    limits: LimitsView
    extensions: list[str] = Field(description="endings of the names of files that can be read")
    models: list[ModelView]
    page_images: bool = Field(
        description="models that read pictures are sent those of a few pages, unless a request sets the flag"
        " `images` to false; if this is false, unless it sets it to true"
    )
    page_images_allowed: bool = Field(description="a request may ask for pictures of pages")
    tools: list[ToolView]
    direct_upload_origin: str | None = Field(
        description="where the addresses of direct uploads are; null: files are uploaded through the API only"
    )
    share_days: int = Field(
        description="days that a link to a conversation is valid at most; 0: conversations are not shared"
    )
    offline_model: bool = Field(description="no model is configured: passages are shown instead of answers")
    version: str
    languages: list[str] = Field(description="languages of the web page")


router = APIRouter(tags=["contexts"])


@router.get("/me", responses=responses())
async def me(caller: CallerDep, app: AppDep) -> Me:
    """Who the caller is, what the caller may do everywhere, and what this installation offers."""
    who, settings = caller.principal, app.settings
    await app.contexts.people.note(who)
    creates, default = app.contexts.may_create_roots(caller), app.models.writer.name
    models = [
        ModelView(id=name, title=name, default=name == default, images=app.model_facts.facts(name).images)
        for name in app.models.names
    ]
    return Me(
        user_id=who.user_id,
        organization_id=who.organization_id,
        name=who.name,
        roles=sorted(who.roles),
        groups_complete=who.groups_complete,
        may_create=[kind for kind in ContextType if creates and kind.parent is None],
        can=Can(ask=True, upload=True, create_contexts=creates, administer=caller.is_admin),
        sign_in=SignIn.of(settings),
        limits=LimitsView(
            messages=_window(app.messages.window),
            uploads=_window(app.uploads.window),
            upload_bytes=settings.max_upload_bytes,
            files_per_upload=MAX_FILES_PER_UPLOAD,
            documents_per_request=settings.max_documents_per_request,
            question_characters=MAX_QUESTION_CHARACTERS,
        ),
        extensions=list(EXTENSIONS),
        models=models,
        page_images=settings.image_limits is not None,
        page_images_allowed=bool(settings.most_page_images) and any(each.images for each in models),
        tools=[
            ToolView.of(facts, description=facts.about, available=available)
            for facts, available in await app.tools.listed()
        ],
        direct_upload_origin=origin_in(settings.azure_storage_account_url or ""),
        share_days=settings.most_share_days,
        offline_model=not settings.has_model,
        version=__version__,
        languages=_languages(),
    )


def _window(window: Window | None) -> WindowView | None:
    return window and WindowView.of(window)


@cache
def _languages() -> list[str]:
    """The languages that the page has words for."""
    words = files("orc") / "web" / "words"
    return sorted(each.name.removesuffix(".json") for each in words.iterdir()) if words.is_dir() else []
