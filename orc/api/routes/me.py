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
from orc.api.schemas import example
from orc.api.sign_in import SIGN_IN, SIGN_OUT
from orc.bootstrap import App
from orc.contexts.models import ContextType
from orc.limits.window import Window
from orc.settings import AuthMode, Settings, origin_in
from orc.tools.catalogue import OfferedTool
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


class WindowView(BaseModel):
    """At most `limit` in any `seconds`."""

    limit: int
    seconds: int

    @classmethod
    def of(cls, window: Window | None) -> "WindowView | None":
        """The limit, if there is one."""
        return None if window is None else cls(limit=window.limit, seconds=window.seconds)


class LimitsView(BaseModel):
    """What one caller may send."""

    messages: WindowView | None = Field(description="questions; null: no limit")
    uploads: WindowView | None = Field(description="bytes of all uploads; null: no limit")
    upload_bytes: int = Field(description="bytes of one file")
    files_per_upload: int
    documents_per_request: int = Field(
        description="named documents that are read whole; if there are more, they are searched"
    )
    question_characters: int


class ModelView(BaseModel):
    """A model that a request may name."""

    id: str = Field(examples=["gpt-5.1"])
    title: str
    default: bool = Field(description="used if a request names none")
    images: bool = Field(description="reads pictures")


class ToolView(BaseModel):
    """A tool. A request switches it off by `tools: {name: false}`, and one of `update` on by `true`."""

    name: str
    title: str
    description: str
    available: bool = Field(description="the tools server offers it now")
    kind: Literal["read", "update"]

    @classmethod
    def of(cls, tool: OfferedTool) -> "ToolView":
        facts = tool.facts
        return cls(
            name=facts.name,
            title=facts.title,
            description=facts.about,
            available=tool.available,
            kind=facts.kind,
        )


class Me(BaseModel):
    """The caller, as the server knows it, and what the installation offers."""

    model_config = example(
        user_id="ada",
        organization_id="acme",
        name="Ada Lovelace",
        roles=[],
        groups_complete=True,
        may_create=[],
        can={"ask": True, "upload": True, "create_contexts": False, "administer": False},
        sign_in={"mode": "easyauth", "sign_in_url": "/.auth/login/aad", "sign_out_url": "/.auth/logout"},
        limits={
            "messages": {"limit": 20, "seconds": 3600},
            "uploads": {"limit": 1073741824, "seconds": 86400},
            "upload_bytes": 104857600,
            "files_per_upload": 20,
            "documents_per_request": 3,
            "question_characters": 10000,
        },
        extensions=[".docx", ".pdf"],
        models=[{"id": "gpt-5.1", "title": "gpt-5.1", "default": True, "images": True}],
        page_images=False,
        page_images_allowed=True,
        tools=[
            {
                "name": "web_search",
                "title": "Search the web",
                "description": "Asks a search engine of the web, in the words of the question.",
                "available": True,
                "kind": "read",
            }
        ],
        direct_upload_origin="https://orcdata.blob.core.windows.net",
        share_days=90,
        offline_model=False,
        version="0.1.0",
        languages=["de", "en"],
    )

    user_id: str
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
        direct_upload_origin=origin_in(settings.azure_storage_account_url or ""),
        share_days=settings.most_share_days,
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


@cache
def _languages() -> list[str]:
    """The languages that the page has words for."""
    words = files("orc") / "web" / "words"
    return sorted(each.name.removesuffix(".json") for each in words.iterdir()) if words.is_dir() else []
