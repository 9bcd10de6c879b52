"""Conversations: list, read, delete."""

from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Path, Query, Response
from pydantic import BaseModel, Field
from pydantic.json_schema import SkipJsonSchema

from orc.api.conversation_events import ConversationReader, Seen, follow_conversation
from orc.api.dependencies import (
    DIGITS,
    IN_CONVERSATION,
    IN_SESSION,
    AppDep,
    OwnerDep,
    PrincipalDep,
    ReaderDep,
    TraceIdDep,
)
from orc.api.responses import EVENTS, content_disposition, responses, stream
from orc.api.schemas import ConversationsResponse, ConversationView, View
from orc.api.turn_schemas import ConversationChange, ConversationResponse
from orc.bootstrap import App
from orc.contexts.models import ReadableRef
from orc.conversations.models import NO_SEQ, Head, Turn
from orc.conversations.search import wanted
from orc.conversations.transitions import missing_conversation
from orc.events import Event
from orc.exports.service import MEDIA_TYPES, ExportFormat, Wanted
from orc.identity import Principal
from orc.memory.models import NoteKind
from orc.words import ENGLISH
from orc_core.errors import InvalidInput, Unavailable

router = APIRouter(prefix="/conversations", tags=["conversations"])
of_conversations = APIRouter(
    prefix="/conversations/{conversation_id}", tags=["conversations"], dependencies=IN_CONVERSATION
)
_HERE = "/workspaces/{context_id}"
of_sessions = APIRouter(prefix=_HERE + "/sessions/{session_id}", tags=["workspaces"], dependencies=IN_SESSION)
of_chat_sessions = APIRouter(
    prefix=_HERE + "/chat/sessions/{session_id}", tags=["workspaces"], dependencies=IN_SESSION
)

_TEXT, _BYTES = {"type": "string"}, {"type": "string", "format": "binary"}
EXPORTED = {
    "description": "The conversation as a file to be saved.",
    "content": {
        MEDIA_TYPES[ExportFormat.MARKDOWN]: {"schema": _TEXT, "example": "# Leave of new employees\n..."},
        MEDIA_TYPES[ExportFormat.PDF]: {"schema": _BYTES, "example": "%PDF-1.3 ..."},
        MEDIA_TYPES[ExportFormat.WORD]: {"schema": _BYTES, "example": "PK..."},
    },
}


async def _wanted_file(
    file_format: Annotated[
        ExportFormat, Query(alias="format", description="of the file")
    ] = ExportFormat.MARKDOWN,
    language: Annotated[
        str, Query(pattern="^[a-z]{2}$", description="of headings and verdicts; English if it is not there")
    ] = ENGLISH,
    zone: Annotated[
        str, Query(max_length=64, description="time zone of the times; UTC if it is not known")
    ] = "UTC",
) -> Wanted:
    """What a reader wants exported, of the query."""
    return Wanted(file_format, language, zone)


WantedFile = Annotated[Wanted, Depends(_wanted_file)]
_FOLLOWED = {"description": "The events, as they come.", "content": EVENTS}
MAX_QUERY_CHARACTERS = 200
_SEARCHED = (
    "words of titles and questions, or of one question with its answer and the names of its sources; all have"
    " to fit, the beginning of the last one is enough"
)
NoteId = Annotated[str, Path(max_length=64, description="of the memory")]
Limit = Annotated[int, Query(ge=1, le=200), DIGITS]


class NoteView(View):
    """One sentence of the user that is remembered."""

    note_id: str = Field(examples=["5d41402abc4b2a76"])
    kind: NoteKind
    text: str = Field(examples=["Please answer in German."])
    last_seen: int = Field(description="the turn in which it was said last")


class MemoryResponse(BaseModel):
    """What is remembered of what the user said in a conversation."""

    notes: list[NoteView]


@router.get("", responses=responses())
async def list_conversations(
    caller: PrincipalDep,
    app: AppDep,
    q: Annotated[str, Query(max_length=MAX_QUERY_CHARACTERS, description=_SEARCHED)] = "",
    context_id: Annotated[
        str | None, Query(max_length=64, description="only those that were opened in this context")
    ] = None,
    about: Annotated[
        str | None, Query(max_length=64, description="only those with a question about this context")
    ] = None,
    limit: Limit = 50,
    cursor: str | None = None,
) -> ConversationsResponse:
    """The caller's conversations, latest used first."""
    who, words = (caller.organization_id, caller.user_id), wanted(q)
    # A search must not say what is in an answer that is withheld.
    said = await app.log.said(*who, words) if words and not app.revoked.is_on else {}
    heads, next_cursor = await app.log.conversations(
        *who, limit=limit, cursor=cursor, words=words, among=list(said), home=context_id, about=about
    )
    found = [(head, said.get(head.conversation_id, (None, None))) for head in heads]
    shown = [ConversationView.of(head, turn_id=turn, passage=part) for head, (turn, part) in found]
    return ConversationsResponse(conversations=shown, next_cursor=next_cursor)


FullParameter = Annotated[bool, Query(description="with the whole result of each turn, and the history")]
SeqParameter = Annotated[Annotated[int, Field(ge=0, le=NO_SEQ)] | SkipJsonSchema[None], Query(), DIGITS]


@of_sessions.get("", operation_id="get_session", responses=responses(404))
@of_conversations.get("", responses=responses(404))
async def get_conversation(
    owner: ReaderDep,
    caller: PrincipalDep,
    app: AppDep,
    before_seq: SeqParameter = None,
    after_seq: SeqParameter = None,
    limit: Limit = 50,
    full: FullParameter = False,
) -> ConversationResponse:
    """A conversation with its newest turns (before `before_seq`), or with those after `after_seq`.

    They are in order, each once; failed, pending and replaced ones are shown as such.
    """
    if after_seq is None:
        page = await app.log.page(owner, limit=limit, before_seq=before_seq)
        if page is None:
            raise missing_conversation()
        return await _shown(app, caller, page.head, page.turns, full=full)
    if before_seq is not None:
        raise InvalidInput("Pass before_seq or after_seq, not both.", field="after_seq")
    head = await app.log.known_head(owner)
    turns = await app.log.turns(owner, after_seq=after_seq, limit=limit + 1)
    return await _shown(app, caller, head, turns[:limit], full=full, more=len(turns) > limit)


@router.get(
    "/{conversation_id}/events", response_class=Response, responses={**responses(404, 429), 200: _FOLLOWED}
)
async def conversation_events(
    owner: OwnerDep,
    caller: PrincipalDep,
    app: AppDep,
    trace: TraceIdDep,
    follow: Annotated[bool, Query(description="false: the stream ends after the present state")] = True,
) -> Response:
    """What happens in the conversation, as server-sent events, for half an hour at most; then connect again.

    Each connection begins with the present state: `document` for each document, the title, `turn_started`
    for each running turn, and `snapshot`. Then come `document`, `document_progress`, `document_removed`,
    `chat_session_title_updated`, `turn_started` and `turn_ended`, whichever process or client causes them.
    After two minutes in which nothing happened, `quiet` ends the stream: connect again when a user looks.
    """
    reader = ConversationReader(app.library, app.log, owner)
    # Before the response begins: an absent conversation is a 404.
    present = await reader.read(Seen(), has_changed=True)
    changed = app.turn_service.changes.followed(owner)

    async def events() -> AsyncIterator[tuple[int, Event]]:
        with changed as woken:
            async for each in follow_conversation(
                reader, present, woken, trace, goes_on=follow, until=caller.until
            ):
                yield each

    return stream(events(), trace)


_EXPORT: dict[str, Any] = {
    "response_class": Response,
    "responses": {**responses(404, 409, 429), 200: EXPORTED},
}


@of_chat_sessions.get("/export", operation_id="export_chat_session", **_EXPORT)
@of_sessions.get("/export", operation_id="export_session", **_EXPORT)
@of_conversations.get("/export", **_EXPORT)
async def export_conversation(
    owner: ReaderDep, caller: PrincipalDep, app: AppDep, wanted: WantedFile
) -> Response:
    """The conversation as a file, with all turns in order.

    Each citation has its document, page, quote and the result of its check. One export at a time for each
    user (429). 409 `too_long` if the conversation is too long for the format; the problem names a
    format that may do. In a PDF file, characters that no font of the server has are shown as boxes, and the
    end counts them.
    """
    file = await app.exports.export(owner, caller, wanted)
    disposition = {"content-disposition": content_disposition(file.name)}
    return Response(file.content, media_type=file.media_type, headers=disposition)


@router.patch("/{conversation_id}", responses=responses(400, 404, 413, 415))
async def rename_conversation(body: ConversationChange, owner: OwnerDep, app: AppDep) -> ConversationView:
    """Give a conversation a title of the user's own, or pin it to the beginning of lists."""
    head = await app.log.known_head(owner)
    if body.title is not None:
        head = await app.log.retitle(owner, body.title)
    if body.is_pinned is not None:
        head = await app.log.pin(owner, body.is_pinned)
    app.turn_service.changes.happened(owner)
    return ConversationView.of(head)


@router.get("/{conversation_id}/memory", responses=responses(404))
async def read_memory(owner: OwnerDep, app: AppDep) -> MemoryResponse:
    """What is remembered of what you said: wishes how to be answered, and statements, oldest first."""
    notes = await app.memory.notes(await app.log.known_head(owner))
    return MemoryResponse(notes=[NoteView.of(note) for note in notes])


@router.delete("/{conversation_id}/memory/{note_id}", status_code=204, responses=responses(404))
async def withdraw_note(owner: OwnerDep, note_id: NoteId, app: AppDep) -> None:
    """Withdraw a wish or a statement: it is remembered again only if you say it again."""
    await app.memory.withdraw(await app.log.known_head(owner), note_id)


_DELETE: dict[str, Any] = {"status_code": 204, "responses": responses(404)}


@of_chat_sessions.delete("", operation_id="delete_chat_session", **_DELETE)
@of_sessions.delete("", operation_id="delete_session", **_DELETE)
@of_conversations.delete("", **_DELETE)
async def delete_conversation(owner: ReaderDep, app: AppDep) -> None:
    """Delete a conversation with its turns, its documents, its memory, its traces and its links."""
    deleted = await app.stored.delete(owner)
    # What this process remembers of it.
    await app.memory.forget(owner)
    app.turn_service.forget(owner)
    app.turn_service.changes.happened(owner)
    if not deleted:
        raise missing_conversation()


async def _shown(
    app: App, caller: Principal, head: Head, turns: Sequence[Turn], *, full: bool, more: bool = False
) -> ConversationResponse:
    """The view of these turns, with the names of contexts that the caller may read now."""
    shown = await app.revoked.shown(caller, head, turns)
    readable: Sequence[ReadableRef] | None = None
    with suppress(Unavailable):
        readable = await app.scopes.readable(caller, head)
    return ConversationResponse.page(head, shown, full=full, more=more, readable=readable)


class SuggestionsResponse(View):
    """At most three questions about documents that the turn may search; a search answers each."""

    suggestions: list[str] = Field(examples=[["How do I report a lost device?"]])
    by: Literal["model", "code"] = Field(
        description="model: the one that writes titles; code: the documents ask these questions themselves"
    )


@of_chat_sessions.get("/suggestions", operation_id="suggest_in_chat_session", responses=responses(404))
@of_sessions.get("/suggestions", operation_id="suggest_in_session", responses=responses(404))
@of_conversations.get("/suggestions", responses=responses(404))
async def session_suggestions(
    owner: ReaderDep, caller: PrincipalDep, app: AppDep, trace: TraceIdDep
) -> SuggestionsResponse:
    """Questions to go on with after the latest answer."""
    return SuggestionsResponse.of(await app.suggestions.after(owner, caller, trace))


@router.get("/{conversation_id}/turns/{turn_id}/suggestions", responses=responses(404))
async def turn_suggestions(
    turn_id: str, owner: OwnerDep, caller: PrincipalDep, app: AppDep, trace: TraceIdDep
) -> SuggestionsResponse:
    """Questions to go on with after this answer."""
    return SuggestionsResponse.of(await app.suggestions.after(owner, caller, trace, turn_id))
