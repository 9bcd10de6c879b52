"""The contexts of a turn and the documents that it names, from the rights at its start to what is stored."""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape

from orc.contexts.ids import is_context_id
from orc.contexts.models import ContextType, TurnContexts, UsedContext
from orc.contexts.turn_scope import TurnScope
from orc.conversations.models import ChatMessage, Turn, TurnContext, TurnOutcome
from orc.conversations.session_contexts import Range, covers, shown_in
from orc.events import DocumentCounts, TurnResult
from orc.graphs.models import ConversationState, Origins
from orc.memory.models import Recalled
from orc.turns.requests import TurnRequest
from orc.turns.results import messages_of
from orc.turns.running_turn import RunningTurn, TurnDependencies
from orc_core.documents.places import Accessible, Place, PlaceType
from orc_core.documents.scope import Scope, ScopeTokens
from orc_core.documents.service import DocumentService
from orc_core.documents.unknown_files import is_name_or_its_end
from orc_core.errors import InvalidInput, OrcError
from orc_core.grounding.models import Citation
from orc_core.markdown.brackets import visible_name
from orc_core.models import Document
from orc_core.names import BlobPath, Owner, missing_document, path_named
from orc_core.text.file_names import comparable

MOST_COMPARED = 100
"""Documents of contexts whose names are compared with that of a file in the question."""
NOT_SHOWN = "[not shown: it drew on a context that is not readable now]"
"""In place of an earlier answer that no model is shown."""
MOST_TOKENS = 400
NAME_CHARACTERS = 80
SESSION = "session"
"""The key of the session's own documents in the counts."""


class DocumentCount(NamedTuple):
    """Documents of a place, and how many of them can be searched."""

    total: int
    ready: int


Counts = Mapping[Place | str, DocumentCount]
"""By place, or SESSION. One context can be two places: by itself with the focus, and with all below it."""


def name_for(document: Document, owner: Owner) -> str:
    """How a turn of `owner` names a document: by its file, or by its full path if it is of a context."""
    return document.blob_name if document.owner == owner else str(document.path)


def scope_of(owner: Owner, documents: Sequence[Document], scope: TurnScope | None) -> Scope:
    """What the tools may access: the session and the places of the turn, or named documents of them."""
    session = Scope.of_session(owner, documents or None)
    if scope is None:
        return session
    off = tuple(sorted({each.tool for each in scope.tools_off}))
    return session.model_copy(update={"places": (*session.places, *scope.places), "tools_off": off})


def mint_token(tokens: ScopeTokens, scope: Scope, seconds: int) -> str:
    """A token for the scope; without the names of contexts if it is too large with them."""
    try:
        return tokens.mint(scope, seconds=seconds)
    except InvalidInput:
        unnamed = tuple(place.model_copy(update={"name": ""}) for place in scope.places)
        return tokens.mint(scope.model_copy(update={"places": unnamed}), seconds=seconds)


def shown_history(turns: Sequence[Turn], blocked: Sequence[Range]) -> list[ChatMessage]:
    """The messages of earlier turns as models see them; a blocked answer is replaced by a note."""
    shown: list[ChatMessage] = []
    for turn in turns:
        messages = messages_of(turn)
        if messages and covers(blocked, turn.seq):
            messages = [messages[0], ChatMessage(role="assistant", content=NOT_SHOWN)]
        shown += messages
    return shown


async def count_documents(library: DocumentService, accessible: Accessible) -> Counts:
    """The documents in each place, by one query."""
    counted = await library.count(accessible)
    is_session = PlaceType.SESSION
    return {
        SESSION if each.place.type is is_session else each.place: DocumentCount(each.total, each.readable)
        for each in counted
    }


def near_and_far(scope: TurnScope, counts: Counts) -> DocumentCounts:
    """How many documents are of the session and the focus, and how many of other contexts."""
    far = sum(counts[place].total for place in scope.places if not place.near and place in counts)
    return DocumentCounts(near=sum(count.total for count in counts.values()) - far, far=far)


async def state_with_contexts(
    state: ConversationState, running: RunningTurn, accessible: Accessible, parts: TurnDependencies
) -> ConversationState:
    """The state with the contexts of the turn and the number of their documents, if it has any."""
    scope, library = running.scope, parts.library
    if scope is None:
        return state
    counts = await count_documents(library, accessible)
    found = near_and_far(scope, counts)
    unready = sum(count.total - count.ready for place, count in counts.items() if place != SESSION)
    known, unknown = [], []
    for file in state.unknown_files:
        page = await library.page(accessible, limit=MOST_COMPARED, name=file.name)
        known += [each for each in page.documents if comparable(each.blob_name) == comparable(file.name)]
        # There may be one if it is the end of another name, or if too many have such a name to know it.
        may_be = any(is_name_or_its_end(file.name, each.blob_name) for each in page.documents)
        if not may_be and page.after is None:
            unknown.append(file)
    fields = {
        "scope": scope,
        "counts": found,
        "not_searched": state.not_searched.and_more(unready),
        "unknown_files": unknown,
        "shelf": state.shelf | {name_for(each, running.owner): each for each in known},
        "has_documents": state.has_documents or found.near + found.far > 0,
        "context_block": context_block(scope, counts, parts.counter.count),
    }
    return state.model_copy(update=fields)


async def result_with_contexts(
    result: TurnResult,
    outcome: TurnOutcome,
    running: RunningTurn,
    recalled: Recalled | None,
    library: DocumentService,
) -> tuple[TurnResult, TurnOutcome]:
    """The answer with what it used of contexts; as it is if the turn has none."""
    scope = running.scope
    if scope is None:
        return result, outcome
    contexts = TurnContexts(
        focus=scope.focus,
        active=scope.active,
        historical=scope.historical,
        used=_used(scope, running.origins, result.citations),
        left_out=scope.left_out,
    )
    metadata = result.metadata.model_copy(update={"contexts": contexts})
    result = result.model_copy(update={"metadata": metadata})
    shown = await _shown_contexts(running, scope, recalled, library)
    return result, outcome.model_copy(update={"result": result.model_dump(mode="json"), "shown": shown})


def _used(scope: TurnScope, origins: Origins, citations: Sequence[Citation]) -> list[UsedContext]:
    """The contexts that the answer cites, or of which tools returned something."""
    cited = [origins.places.get(citation.document_id) for citation in citations]
    return [
        UsedContext(
            type=place.type,
            id=place.id,
            name=place.name,
            focus=place.near,
            cited=cited.count((place.id, place.near)),
            shown=origins.results[place.id, place.near],
        )
        for place in scope.places
        if (place.id, place.near) in cited or origins.results[place.id, place.near]
    ]


async def _shown_contexts(
    running: RunningTurn, scope: TurnScope, recalled: Recalled | None, library: DocumentService
) -> list[TurnContext]:
    """The contexts with material in the prompts of the turn: of its tools' results and of earlier answers.

    A document counts for the context that it is stored in. If that is not known any more, it counts for the
    place that it was reached through, and material without a document for all places.
    """
    origins, accessible = running.origins, scope_of(running.owner, [], scope).accessible
    shown = {each.id: each for each in _taint_of(running, recalled)}
    # A prompt has the text of named documents, whether or not it is cited.
    named = filter(None, (document.owner.context_id for document in running.documents))
    shown |= {each: TurnContext(type=ContextType.WORKSPACE, id=each) for each in named}
    places = {place.id: place for place in scope.places}
    if origins.unnamed:
        shown |= {each: TurnContext(type=place.type, id=each) for each, place in places.items()}
    for context_id in await _homes(library, accessible, origins):
        kind = places[context_id].type if context_id in places else "context"
        shown.setdefault(context_id, TurnContext(type=kind, id=context_id))
    return list(shown.values())


async def _homes(library: DocumentService, accessible: Accessible, origins: Origins) -> set[str]:
    if not origins.places:
        return set()
    through = {document_id: context_id for document_id, (context_id, _) in origins.places.items()}
    try:
        found = await library.find_accessible(accessible, list(through))
    except OrcError:
        # The places are not exact, but they hold whatever was read.
        return {*filter(None, through.values())} | {
            place.id for place in accessible.places if place.type is not PlaceType.SESSION
        }
    known = {document.document_id: document.owner.context_id for document in found}
    gone = {reached for document_id, reached in through.items() if document_id not in known}
    return {each for each in [*known.values(), *gone] if each}


def _taint_of(running: RunningTurn, recalled: Recalled | None) -> list[TurnContext]:
    """The contexts whose material earlier answers can have brought into the prompts of the turn.

    If it is not known what was recalled, any of them can.
    """
    head, history = running.begun.head, running.begun.history
    if not any(each.shown for each in head.contexts):
        return []
    if recalled is None or running.request.history is not None:
        # What the caller sent may repeat any earlier answer, too.
        return shown_in(head.contexts, [(1, head.turn_count)])
    spans = [(turn.seq, turn.seq) for turn in history if not covers(running.blocked, turn.seq)]
    spans += [point.origin for point in recalled.summary]
    return shown_in(head.contexts, spans)


def context_block(scope: TurnScope, counts: Counts, count_tokens: Callable[[str], int]) -> str:
    """The block, within 400 tokens; empty without contexts. Far contexts that do not fit are a number."""
    handles = {place: f"c{number}" for number, place in enumerate(scope.places, 1)}
    if not handles:
        return ""
    near, active = list(_near_lines(scope, handles, counts)), {ref.id for ref in scope.active}
    far = [
        f"{'Other, active' if place.id in active else 'Other, used earlier'}: "
        f"{_named(place, handles)} {_counted(counts.get(place))}"
        for place in scope.places
        if not place.near
    ]
    unreadable = [each for each in scope.left_out if each.reason in ("not_readable", "groups_incomplete")]
    left_out = [f"Left out: {len(unreadable)} that cannot be read now"] if unreadable else []

    def block(shown: int) -> str:
        more = [f"and {len(far) - shown} more: documents_list shows them"] if shown < len(far) else []
        return _fenced([*near, *far[:shown], *more, *left_out])

    def is_too_long(shown: int) -> bool:
        return count_tokens(block(shown)) > MOST_TOKENS

    if not is_too_long(len(far)):
        return block(len(far))
    shown = bisect_left(range(len(far)), True, key=is_too_long) - 1
    if shown >= 0:
        return block(shown)
    return _fenced([f"{len(handles)} contexts: documents_list shows them"])


def quoted(name: str) -> str:
    """A name of a context as quoted material: it can close neither its quotes nor the block."""
    return escape(f'"{" ".join(visible_name(name).split())[:NAME_CHARACTERS].strip()}"')


def _fenced(lines: Sequence[str]) -> str:
    return "\n".join(["<contexts>", *lines, "</contexts>"])


def _near_lines(scope: TurnScope, handles: Mapping[Place, str], counts: Counts) -> Iterator[str]:
    near = [place for place in scope.places if place.near]
    if scope.focus is None:
        yield "Focus: the documents of this conversation"
    else:
        above = ", ".join(f"{place.type} {quoted(place.name)}" for place in near[1:])
        inside = f" (in {above})" if above else ""
        yield f"Focus: {handles[near[0]]} {scope.focus.type} {quoted(scope.focus.name)}{inside}"
    documents = [f"this conversation {_counted(counts.get(SESSION))}"]
    documents += [f"{_named(place, handles)} {_counted(counts.get(place))}" for place in near]
    yield f"Documents of the focus: {' · '.join(documents)}"


def _named(place: Place, handles: Mapping[Place, str]) -> str:
    return f"{handles[place]} {place.type} {quoted(place.name)}"


def _counted(count: DocumentCount | None) -> str:
    if count is None or count.total == count.ready:
        return str(count.total if count else 0)
    return f"{count.total} ({count.ready} ready)"


def with_named_documents(request: TurnRequest, owner: Owner) -> TurnRequest:
    """The request with one name for each document, and with the contexts of documents that it does not name.

    Raises UnsafeName, and NotFound for the path of another conversation or organization.
    """
    paths: dict[BlobPath, None] = {}
    for name in request.blob_names:
        path = path_named(name, owner)
        is_ours = path.owner.organization_id == owner.organization_id
        is_shared = is_ours and is_context_id(path.owner.context_id or "")
        if path.owner != owner and not is_shared:
            raise missing_document(name)
        paths[path] = None
    names = [path.file if path.owner == owner else str(path) for path in paths]
    known = {context.id for context in request.contexts}
    homes = dict.fromkeys(path.owner.context_id for path in paths)
    added = [TurnContext(type=ContextType.WORKSPACE, id=each) for each in homes if each and each not in known]
    return request.model_copy(update={"blob_names": names, "contexts": [*request.contexts, *added]})


async def named_documents(
    library: DocumentService, owner: Owner, names: Sequence[str], scope: TurnScope | None
) -> list[Document]:
    """The records of these documents, in order.

    Raises NotFound for a document that is not there, and for one of a context that the turn does not cover.
    """
    paths = {name: path_named(name, owner) for name in names}
    own = await library.resolve(owner, [name for name, path in paths.items() if path.owner == owner])
    shared = [path.document_id for path in paths.values() if path.owner != owner]
    accessible = scope_of(owner, [], scope).accessible
    found = [*own, *(await library.find_accessible(accessible, shared) if shared else [])]
    known = {document.document_id: document for document in found}
    documents = []
    for name, path in paths.items():
        document = known.get(path.document_id)
        if document is None:
            raise missing_document(name)
        documents.append(document)
    return documents
