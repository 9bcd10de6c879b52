"""Calls of functions that read text where it comes in, where a turn ends, and where it is stored."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import timedelta
from typing import Any

from langchain_core.messages import AIMessageChunk

from orc.api.downloads import content_disposition
from orc.api.responses import prefers_stream
from orc.api.schemas import ChatRequest, visible, without_nul
from orc.api.turn_schemas import ConversationResponse
from orc.api.web import preferred_language
from orc.contexts.block import context_block
from orc.contexts.models import fold, from_cursor, to_cursor
from orc.contexts.turn_scope import TurnScope
from orc.contexts.withholding import withheld
from orc.conversations import transitions
from orc.conversations.listing import first_page, history_view, read_cursor, sortable
from orc.conversations.models import Feedback, Head, NewTurn, TitleBy, TurnOutcome
from orc.events import whole_text
from orc.exports.markdown import write_heading
from orc.exports.transcript import Transcript
from orc.exports.tree import Entry, Heading
from orc.tools.schemas import Handles
from orc.turns import suggestions
from orc.turns.contexts import shown_history
from orc.turns.requests import TurnRequest
from orc.turns.results import messages_of, replay_log
from orc_core.analysis.models import Anchor, PageAnalysis
from orc_core.documents.page_images import names_document, pages_without_text
from orc_core.documents.places import Place, PlaceType
from orc_core.errors import OrcError
from orc_core.llm.replies import StreamRepair
from orc_core.llm.tokens import TiktokenCounter
from orc_core.models import Page
from orc_core.names import Owner, check_segment, name_for_upload, path_named, resolve_blob_name
from orc_core.ocr.tesseract import parse
from orc_core.storage import file_names
from orc_core.storage.ai_search import terms
from orc_core.storage.blob.documents import pack
from orc_core.storage.file_names import MAX_BYTES
from orc_core.text.normal_forms import normalized
from resilience.text_calls import DOCUMENT, METADATA, NOW, PIECE, QUESTION, Call, asked, exported, turn_of

OWNER = Owner("o", "u", "c")
HEAD = Head(organization_id="o", user_id="u", conversation_id="c", created_at=NOW, updated_at=NOW)
LEASE_SECONDS = 60.0
ROW = "5\t1\t1\t1\t1\t{number}\t0\t0\t9\t9\t96\t{text}\n"
"""A word in a table of Tesseract."""
SCAN = DOCUMENT.model_copy(update={"media_type": "application/pdf", "pages_without_text": 1})
HEADER_CHARACTERS = 16_384
"""A server takes no longer header."""


def refused(call: Callable[[str], object]) -> Call:
    """The call of a function that refuses most texts."""

    def tried(text: str) -> None:
        with suppress(OrcError, ValueError):
            call(text)

    return tried


def header(text: str) -> str:
    return text[:HEADER_CHARACTERS]


def stored(text: str) -> dict[str, Any]:
    """A finished turn as it is stored, in which the answer and the quote are the text."""
    citations = exported(text).assistant.citations  # type: ignore[union-attr]
    result = {"conversation_id": "c", "turn_id": "t", "answer": text, "metadata": METADATA.model_dump()}
    return {**result, "citations": [each.model_dump(mode="json") for each in citations]}


def turns_of(text: str) -> object:
    """A turn from its question to its views: begun, answered, shown, replayed, rated, withheld."""
    new = NewTurn(key="t", request_hash="h", question=asked(text))
    head, turn = transitions.begin_turn(HEAD, None, new, LEASE_SECONDS, NOW)
    outcome = TurnOutcome(answer=text, result=stored(text))
    head, turn = transitions.commit_turn(head, turn, turn.attempt, outcome, NOW + timedelta(seconds=1))
    feedback = Feedback(rating="down", comment=text[:1000], given_at=NOW)
    turn = transitions.rate_turn(transitions.as_read(turn, NOW), feedback, NOW)
    replayed = replay_log(turn, after=0, trace_id="t")
    again = TurnRequest.again(turn, stream=True, trace_id="t").opening("k", [])
    views = ConversationResponse.page(head, [turn], full=True), history_view([turn])
    return replayed, again, views, shown_history([turn], []), messages_of(turn), withheld(turn)


def titled(text: str) -> object:
    transitions.first_head(OWNER, NOW, text)
    head = transitions.retitle_head(HEAD, text, TitleBy.USER)
    return head, sortable((text, text)), read_cursor(first_page([text] * 2, 1, lambda each: (each, each))[1])


def suggested(text: str) -> object:
    anchors = [Anchor(kind="heading", text=part) for part in ("Leave", *text.split("\n")[:10])]
    page = PageAnalysis(page=2, method="extractive", summary="", topics=[], anchors=anchors)
    found = suggestions.candidates([suggestions.AnalysedPage(DOCUMENT, page)])
    return [suggestions.question_about(each, "en", named=True) for each in found]


def blocked(text: str) -> object:
    place = Place(type=PlaceType.WORKSPACE, id="a" * 16, name=text)
    return context_block(TurnScope(places=(place,)), {}, TiktokenCounter().count)


def repaired(text: str) -> object:
    repair = StreamRepair()
    for start in range(0, len(text), PIECE):
        repair.feed(AIMessageChunk(content=text[start : start + PIECE]))
    return repair.finish()


def table_of(text: str) -> str:
    """The words of the text as Tesseract shows them."""
    found = text.split() or [text]
    return "".join(ROW.format(number=number, text=word) for number, word in enumerate(found))


def chat_of(text: str) -> object:
    said = [{"role": "user", "content": text[at : at + 50_000]} for at in range(0, len(text), 50_000)]
    return ChatRequest.model_validate(
        {"messages": [*said, {"role": "user", "content": asked(text) or "?"}]}
    ).said


def resolved(text: str) -> object:
    handles = Handles(["d"])
    return handles.hide({"document_id": text, text: [text]}), handles.resolve({"document": text})


def named_pages(text: str) -> object:
    """A question as long as the text that names as many pages as it can, of a scan with as many pages."""
    question = "".join(f"s.{number}-{number + 20} " for number in range(1, 2 * len(asked(text)), 21))
    blank = [Page.model_construct(number=number, text="") for number in range(len(text) // 8)]
    return pages_without_text(SCAN, blank, asked(question))


REQUESTS: Mapping[str, Call] = {
    "normalized": lambda text: [normalized(form, text) for form in ("NFC", "NFKD")],
    "visible": refused(visible),
    "without_nul": without_nul,
    "ChatRequest": refused(chat_of),
    "prefers_stream": lambda text: prefers_stream(header(text)),
    "preferred_language": lambda text: preferred_language(header(text)),
    "name_for_upload": refused(name_for_upload),
    "name_for_upload, percent signs": refused(lambda text: name_for_upload(f"%25{text}"[:255])),
    "resolve_blob_name": refused(lambda text: resolve_blob_name(text, OWNER)),
    "path_named": refused(lambda text: path_named(text, OWNER)),
    "check_segment": refused(check_segment),
    "content_disposition": content_disposition,
    "pages_without_text": named_pages,
    "pages_without_text, as asked": lambda text: pages_without_text(
        SCAN, [Page(number=1, text=text)], asked(text)
    ),
    "names_document": lambda text: names_document(asked(text), DOCUMENT),
    "fold": lambda text: from_cursor(to_cursor(fold(text))),
}
TURNS: Mapping[str, Call] = {
    "turns": turns_of,
    "titles": refused(titled),
    "suggestions": suggested,
    "context_block": blocked,
    "StreamRepair": repaired,
    "Handles": refused(resolved),
    "whole_text": lambda text: whole_text(text, exported(text).assistant.citations),  # type: ignore[union-attr]
    "export, heading": lambda text: write_heading(Heading(text, "c", "2024", 1)),
    "export, in the child": lambda text: Entry.read({"number": 1, "asked_at": "", "question": text}),
    "export, entry": lambda text: Transcript().entry_of(turn_of(QUESTION, text)),
}
STORES: Mapping[str, Call] = {
    "OCR table": lambda text: parse(table_of(text)),
    "OCR table, as it comes": parse,
    "pages as a blob": lambda text: pack([Page(number=1, text=text)]),
    "file names": lambda text: [file_names.original_name(each) for each in file_names.stored_names(text)],
    "new file name": lambda text: file_names.new_name(text[:MAX_BYTES], [text[:MAX_BYTES].upper()]),
    "search terms": lambda text: terms.domains_of([terms.terms_of(text, "en")], "en"),
    "search terms, name": terms.terms_of_name,
    "search terms, question": lambda text: terms.asked_terms(asked(text), ["en", "de"]),
    "search terms, vocabularies": lambda text: [each.lucene() for each in terms.expand(asked(text), ["en"])],
    "search query": lambda text: terms.lexical_query(asked(text), asked(text).split(), widened=True),
}
