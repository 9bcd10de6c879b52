"""Every function that reads text of documents, questions and answers, as calls that take one text.

What a call needs besides the text is short and fixed, so its time depends on the text alone. Where a function
reads two texts, there is one call for each, and one in which both are the text.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from functools import cache

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.messages.tool import tool_call

from mcp_server.tools import parts
from mcp_server.tools import relations as relation_tools
from mcp_server.tools import search as search_tools
from mcp_server.web.ports import plain_text, public_address
from orc.api.completions import CompletionRequest, numbered, without_sources
from orc.contexts.block import quoted
from orc.contexts.turn_scope import TurnScope
from orc.conversations.models import ChatMessage, Message, Turn, TurnStatus
from orc.conversations.search import searchable, wanted
from orc.events import TurnMetadata, TurnResult
from orc.exports.markdown import write_entry
from orc.exports.pdf import write_pdf
from orc.exports.rendering import to_json
from orc.exports.transcript import Transcript
from orc.exports.tree import Heading
from orc.graphs import rewriting
from orc.graphs.context_choice import names_other_context
from orc.graphs.listings import only_lists
from orc.graphs.models import ConversationState, ToolResult
from orc.graphs.plan_rules import intent_by_keyword
from orc.graphs.query_planner import rewritten_or_asked
from orc.graphs.replacing import plain, rebuilt, removal, rewritten, statements
from orc.graphs.second_reading import MOST_SENTENCES
from orc.graphs.tool_context import notes_of, shrink_lists, shrink_texts
from orc.graphs.undecided import SecondReading
from orc.graphs.web_queries import web_query
from orc.intents import Intent
from orc.judges.ports import Verdict, confirmed
from orc.memory.client_history import cleaned, first_words, question_and_history
from orc.memory.models import Memory, Note, NoteKind, Recalled, SummaryPoint
from orc.memory.notes import Asked, add_notes_of, bounded_notes, is_question, notes_in, shortened, spelling
from orc.memory.recall import line_of, remembered
from orc.memory.service import add_turns
from orc.memory.summary import point_of, statements_of
from orc.settings import TurnSettings
from orc.turns.suggestions import subject_of
from orc.turns.titles import accepted
from orc_core.analysis import relations
from orc_core.analysis.document_context import DocumentContext
from orc_core.analysis.extractive import analyse_page
from orc_core.analysis.models import ABBREVIATED_AS, Connection, Entity, PageAnalysis, Relation
from orc_core.analysis.page_text import masked
from orc_core.analysis.summaries import is_fit, overview
from orc_core.documents.passages import header_above, is_column_header, is_row, split_pages
from orc_core.documents.places import Place, PlaceType
from orc_core.documents.unknown_files import (
    is_name_or_its_end,
    unknown_files,
    unknown_files_note,
    without_files,
)
from orc_core.grounding import checks
from orc_core.grounding.citations import CitationWriter, as_said
from orc_core.grounding.claims import Claims, has_content, only_introduces
from orc_core.grounding.closest import closest_label, not_found_answer
from orc_core.grounding.models import Citation, written_marks
from orc_core.grounding.rectangles import rectangles
from orc_core.grounding.sources import (
    FencedSource,
    Source,
    fence,
    inert,
    inert_json,
    read_fenced,
    without_fenced,
    without_markers,
)
from orc_core.grounding.units import located
from orc_core.grounding.values import Values, numbers_of
from orc_core.infra.sandbox_child import ChildMessage
from orc_core.llm.messages import memory_message, read_remembered
from orc_core.llm.replies import repair
from orc_core.llm.tokens import TiktokenCounter, truncate, truncate_words
from orc_core.markdown import safe_markdown
from orc_core.markdown.brackets import (
    bracketed,
    cited_numbers,
    is_forged,
    squared,
    status_of,
    visible_name,
    without_citations,
    without_places,
)
from orc_core.markdown.safe_markdown import SafeMarkdown
from orc_core.mcp_contract import MAX_QUESTION_CHARACTERS
from orc_core.models import Document, Hit, Page, Passage
from orc_core.offline.material import headers, is_quotable
from orc_core.offline.model import Conversation, says_nothing_to_find
from orc_core.offline.passages import closest_passages
from orc_core.offline.remembered import recall
from orc_core.search.bm25 import Candidate, QuestionTerms, TextRanking, has_subject
from orc_core.search.candidates import question_terms
from orc_core.search.document_match import name_parts, reported_periods, score_names
from orc_core.search.fuzzy import edits, misspelling_of, resembles
from orc_core.search.hybrid import cover, search_in_memory, vector_weight
from orc_core.search.mentions import compares, continues
from orc_core.search.postings import InMemoryIndex, index_passages
from orc_core.search.query import cover_period, find_periods, parse_question
from orc_core.search.ranking import rank_briefly, rank_passages
from orc_core.search.vocabulary import shipped_vocabularies
from orc_core.search.whole_scope import passages_named
from orc_core.text.headings import distinctive_headings, ends_of_running_heads, find_headings
from orc_core.text.numbers import find_dates
from orc_core.text.parts import may_name_parts, named_parts, pages_named, without_pages
from orc_core.text.provenance import is_inserted, is_pasted, own_words
from orc_core.text.quotes import QuoteFinder, locate
from orc_core.text.sentences import Piece, sentences, split_pieces
from orc_core.text.terms import detect_language, is_stop_word, question_words, stems, words
from orc_core.text.wording import is_small_talk, is_statement, names_documents

Call = Callable[[str], object]

PAGE = (
    "# Leave\n\nEvery employee has 25 days of leave a year. After the second year it is 28 days. Leave that"
    " is not taken by 31 March 2024 expires.\n\n"
    "Item | 2023 | 2022\nRent | $1,200 | $1,100\nDeposit | $2,400 | $2,200\n"
    "Result | (138) | ≤ 199\n\n■ Boats\n\n"
    "The quay opens at seven, see section 4.2 and Table 3. Harbour Authority (HA) is the “Authority”.\n"
)
QUESTION = "How many days of leave do employees have after the second year, and what is the rent?"
CLAIM = "Every employee has 26 days of leave a year."
ANSWER = f"{CLAIM} [S1] The rent was $1,200 in 2023 [S1]."
DOCUMENT = Document(
    document_id="d",
    organization_id="o",
    user_id="u",
    conversation_id="c",
    blob_name="a.txt",
    etag="e",
    size=1,
)
NOW = datetime(2024, 1, 1, tzinfo=UTC)
METADATA = TurnMetadata(trace_id="t")
TALK = ConversationState(question=QUESTION, conversation_id="c", has_documents=True)
KEYWORDS = TurnSettings(intents={"rent": Intent(keywords=["rent", "the deposit"])})
SHORT_PAGE = 40
"""Characters of a page that has little more than a running line."""
MOST_SET, MOST_SHAPED = 50_000, 2_500
PIECE = 24
"""Characters that a model sends at once."""


def asked(text: str) -> str:
    """As much of the text as a question may have."""
    return text[:MAX_QUESTION_CHARACTERS]


def page_of(text: str) -> Page:
    return Page(number=1, text=text)


def passage_of(text: str) -> Passage:
    return Passage(document_id="d", page=1, start=0, end=len(text), text=text)


def source_of(text: str) -> Source:
    """The text as a whole page, and as the only source of a prompt."""
    return Source(number=1, document_id="d", blob_name="a.txt", page=1, start=0, text=text, page_text=text)


def fenced(text: str) -> FencedSource:
    return FencedSource(number=1, blob_name="a.txt", page=1, text=text)


def turn_of(question: str, answer: str) -> Turn:
    return Turn(
        turn_id="t",
        conversation_id="c",
        seq=1,
        status=TurnStatus.COMMITTED,
        attempt="a",
        request_hash="h",
        question=question,
        assistant=Message(role="assistant", content=answer, created_at=NOW),
        created_at=NOW,
    )


def exported(text: str) -> Turn:
    """A turn in which the question, the answer and the quote of its citation are the text."""
    cited = Citation(
        document_id="d", blob_name="a.txt", page=1, page_id="p", quote=text, start=0, end=1, check="quoted"
    )
    turn = turn_of(text, f'{text} [Page 1 of Document "a.txt"]')
    assert turn.assistant
    answer = turn.assistant.model_copy(update={"citations": [cited]})
    return turn.model_copy(update={"assistant": answer})


def pdf_of(text: str) -> list[ChildMessage]:
    """The text in a PDF, or a part of it: a child with limits does this, and shaping is most of its work."""
    text = text[: MOST_SET if text.isascii() else MOST_SHAPED]
    heading = Heading("Leave", "c", "2024-01-01 00:00 UTC", 1)
    entry = to_json(asdict(Transcript().entry_of(exported(text))))
    return list(write_pdf(asdict(heading), [entry], ""))


def analysis_of(text: str) -> PageAnalysis:
    """An analysis in which everything that a model could have written is the text."""
    return PageAnalysis(
        page=1,
        method="gpt",
        summary=text,
        topics=[text],
        entities=[Entity(name=text, type="term"), Entity(name=text.title(), type="term")],
        relations=[Relation(source=text, type=ABBREVIATED_AS, target="HA", evidence=text)],
    )


@cache
def small_index() -> InMemoryIndex:
    """The index of the fixed page."""
    return index_passages("a.txt", split_pages("d", [page_of(PAGE)]))


def checked(answer: str, page: str, question: str = "") -> object:
    """An answer that arrives in pieces, with all checks of its citations and numbers."""
    writer = CitationWriter([source_of(page)], question)
    for start in range(0, len(answer), PIECE):
        writer.feed(answer[start : start + PIECE])
    writer.finish()
    return writer.grounding


def judge(answer: str, page: str) -> object:
    """The second reading of a checked answer by a judge that rejects all, with the page as its quote."""
    writer = CitationWriter([source_of(page)])
    answer = f"{writer.feed(answer)}{writer.finish()}".strip()
    grounding = writer.grounding
    reading = SecondReading(answer, writer.citations, grounding.statuses)
    shown = checks.Page(page)
    for stated in reading.undecided[:MOST_SENTENCES]:
        pair = reading.pair(stated, lambda _: shown)
        stated.verdict = confirmed(pair, Verdict(verdict="unsupported", quote=page, reason=page))
    return reading.citations(), reading.grounding(grounding)


def correct(answer: str, reply: str) -> object:
    """The correction of the sentences of a checked answer by a model's reply."""
    writer = CitationWriter(sources := [source_of("The fee is 10.")])
    answer = f"{writer.feed(answer)}{writer.finish()}".strip()
    new = []
    for statement in statements(answer, writer.citations)[: rewriting.MOST_STATEMENTS]:
        said = rewriting.numbered(reply, 1).get(1, "")
        new.append(rewritten(statement, said, sources, "") or removal(answer, statement))
    plain(answer, [written.mark for written in written_marks(writer.citations)])
    return rebuilt(answer, writer.citations, new, sources, "", writer.grounding)


def made_safe(text: str, piece: int) -> object:
    """The text as safe Markdown, fed in pieces of this length."""
    shown: list[str] = []
    safe = SafeMarkdown(shown.append, lambda address: len(address) % 2 == 0)
    for start in range(0, len(text), piece):
        safe.feed(text[start : start + piece])
    safe.finish()
    return shown


def read_claims(text: str) -> object:
    claims = Claims()
    claims.add(text)
    return claims.coverage, claims.report_not_found, [claim.needs_source for claim in claims.all]


def name_unknown_files(text: str) -> object:
    """The files of a question that are not attached, and the sentences about them."""
    found = unknown_files_note(unknown_files(text, ["quay.txt", "quay plan.txt"]), text)
    return found, is_name_or_its_end("quay.txt", text)


def analyse(text: str) -> object:
    pages = [page_of(text)]
    context = DocumentContext.of(pages)
    return overview([analyse_page(page, context) for page in pages], context)


def analyse_lines(text: str) -> object:
    """Pieces of a text as pages, most of which repeat."""
    starts = range(0, len(text), SHORT_PAGE)
    pages = [Page(number=at + 1, text=text[at : at + SHORT_PAGE]) for at in starts]
    return DocumentContext.of(pages)


def read_conversation(text: str) -> object:
    block = memory_message("\n".join(["<remembered>", text, "</remembered>"]))
    call = AIMessage("", tool_calls=[tool_call(name="search", args={}, id="1")])
    said = [SystemMessage(text), *block, HumanMessage(text), call, ToolMessage(text, tool_call_id="1")]
    return Conversation.read(said), read_remembered(block, "The user said: ")


def completed(answer: str, quote: str) -> object:
    """An answer for clients of OpenAI's interface."""
    cited = Citation(
        document_id="d",
        blob_name="a.txt",
        page=1,
        page_id="d.p1",
        quote=quote,
        start=0,
        end=1,
        check="quoted",
    )
    result = TurnResult(conversation_id="c", turn_id="t", answer=answer, citations=[cited], metadata=METADATA)
    completion = numbered(result, "http://localhost", lists_sources=True)
    return list(completion.pieces), completion.annotations, completion.details


def read_completion(text: str) -> object:
    """A request with the text as a message, as a part of one, and as its model."""
    parts = [{"type": "text", "text": text}, {"type": "file", "file": {"file_data": f"data:{text}"}}]
    said = [{"role": "user", "content": text}, {"role": "user", "content": parts}]
    request = CompletionRequest.model_validate({"messages": said})
    alone = CompletionRequest.model_validate({"messages": said[:1]})
    return request.messages[1].text, request.task, alone.task


def rank(question: str, page: str) -> object:
    return search_in_memory(question, [split_pages("d", [page_of(page)])], 8)


def widen(question: str, page: str) -> object:
    parsed = parse_question(question, shipped_vocabularies())
    index = small_index() if page == PAGE else index_passages("a.txt", split_pages("d", [page_of(page)]))
    return rank_passages(parsed, [index, index], 8, widened=True)


def cut_into_parts(text: str) -> object:
    blocks = parts.cut(DOCUMENT, [page_of(text)], 600, len)
    hits = [Hit(passage=passage, score=1.0) for passage in split_pages("d", [page_of(text)])[:50]]
    plan = parts.plan_parts(blocks, hits, calls=3, usual=600, largest=1200) if blocks else None
    return plan, parts.thin_out(blocks, 600)


def remember(text: str) -> object:
    notes = [Note(kind=NoteKind.FACT, text=text, first_seen=1, last_seen=1)]
    point = SummaryPoint(text=f"“{text}” {text}", first_seq=1, last_seq=1, tokens=9)
    shown = remembered(Recalled(notes=notes, summary=[point]), 800, TiktokenCounter())
    return shown, line_of(notes[0]), bounded_notes(notes, 1)


OTHER_CONTEXTS = TurnScope(
    places=(
        Place(type=PlaceType.WORKSPACE, id="a" * 16, name="Quays"),
        Place(type=PlaceType.WORKSPACE, id="b" * 16, name="Harbour fees of 2023", near=False),
    )
)
TEXT: Mapping[str, Call] = {
    "find_headings": find_headings,
    "ends_of_running_heads": lambda text: ends_of_running_heads([page_of(text)]),
    "distinctive_headings": lambda text: distinctive_headings([page_of(text)]),
    "split_pieces": split_pieces,
    "sentences": lambda text: list(sentences(text)),
    "words": words,
    "question_words": lambda text: question_words(asked(text)),
    "detect_language": lambda text: detect_language(text.split()),
    "stems": lambda text: stems([text], "en"),
    "find_dates": find_dates,
    "compares": compares,
    "continues": continues,
    "is_inserted": is_inserted,
    "is_pasted": is_pasted,
    "is_small_talk": is_small_talk,
    "own_words": own_words,
    "without_files": without_files,
    "is_statement": is_statement,
    "names_documents": names_documents,
    "has_subject": has_subject,
    "names_other_context": lambda text: names_other_context(text, OTHER_CONTEXTS),
    "quoted": quoted,
    "unknown_files": name_unknown_files,
    "is_stop_word": is_stop_word,
    "not_found_answer": not_found_answer,
    "closest_label": closest_label,
    "TiktokenCounter.count": lambda text: TiktokenCounter().count(text),
    "truncate": lambda text: truncate(text, 60, TiktokenCounter()),
    "truncate_words": lambda text: truncate_words(text, 60, TiktokenCounter()),
    "plain_text": lambda text: plain_text(text, 4000),
    "public_address": lambda text: public_address(f"https://quay.example/{text}"),
    "public_address, host": lambda text: public_address(f"https://{text}.example/"),
}
SEARCH: Mapping[str, Call] = {
    "split_pages": lambda text: split_pages("d", [page_of(text)]),
    "header_above": lambda text: header_above(text, len(text) - 1),
    "header_above, start": lambda text: header_above(text, 0),
    "is_row": is_row,
    "is_column_header": is_column_header,
    "index_passages": lambda text: index_passages("a.txt", [passage_of(text)]),
    "pages_named": lambda text: pages_named(asked(text)),
    "pages_named, number": lambda text: pages_named(f"page {asked(text)}"),
    "without_pages": lambda text: without_pages(asked(text)),
    "may_name_parts": lambda text: may_name_parts(asked(text)),
    "named_parts": lambda text: named_parts(asked(text), [page_of(PAGE)]),
    "named_parts, page": lambda text: named_parts("page 2, sheet Prices, clause 3.3", [page_of(text)]),
    "named_parts, clause": lambda text: named_parts("section 4 and 3.3", [page_of(text)]),
    "named_parts, both": lambda text: named_parts(asked(text), [page_of(text)]),
    "passages_named": lambda text: passages_named("page 1, clause 3.3", {"d": [page_of(text)]}),
    "find_periods": find_periods,
    "cover_period": cover_period,
    "parse_question": lambda text: parse_question(asked(text), shipped_vocabularies()),
    "question_terms": lambda text: question_terms(
        parse_question(asked(text), shipped_vocabularies()), ["en"]
    ),
    "score_names": lambda text: score_names(asked(text), ["contoso-2023.pdf", "handbook.docx"]),
    "name_parts": name_parts,
    "reported_periods": lambda text: reported_periods(text, None),
    "edits": lambda text: edits(text, f"{text}x", 2),
    "misspelling_of": lambda text: misspelling_of(f"{text}x", [text, f"x{text}"]),
    "resembles": lambda text: resembles(text, f"x{text[::-1]}"),
    "QuestionTerms": lambda text: QuestionTerms(asked(text)),
    "TextRanking": lambda text: TextRanking(QUESTION, [Candidate(text)]).matching(),
    "TextRanking, question": lambda text: TextRanking(asked(text), [Candidate(PAGE)]).matching(),
    "TextRanking, both": lambda text: TextRanking(asked(text), [Candidate(text, text)]).matching(),
    "cover": lambda text: cover(QUESTION, [Hit(passage=passage_of(text), score=1)]),
    "vector_weight": lambda text: vector_weight(QUESTION, [Hit(passage=passage_of(text), score=1)]),
    "search_in_memory": lambda text: rank(QUESTION, text),
    "search_in_memory, question": lambda text: rank(asked(text), PAGE),
    "search_in_memory, both": lambda text: rank(asked(text), text),
    "rank_passages, widened": lambda text: widen(QUESTION, text),
    "rank_passages, widened, question": lambda text: widen(asked(text), PAGE),
    "rank_briefly": lambda text: rank_briefly(
        parse_question(asked(text), shipped_vocabularies()), [small_index()], 8
    ),
    "rank_passages, widened, both": lambda text: widen(asked(text), text),
    "parts": cut_into_parts,
    "search page": lambda text: search_tools._page(
        DOCUMENT, [Hit(passage=passage_of(text), score=1)], None, QUESTION
    ),
}
GROUNDING: Mapping[str, Call] = {
    "without_markers": without_markers,
    "fence": lambda text: read_fenced(fence([source_of(text)])),
    "read_fenced": read_fenced,
    "without_fenced": without_fenced,
    "bracketed": lambda text: bracketed(text, is_all=True),
    "cited_numbers": lambda text: cited_numbers(text, dict.fromkeys(range(1, 100), source_of(text[:9]))),
    "cited_numbers, marker": lambda text: cited_numbers(f"[S1, {text}]", {}),
    "cited_numbers, place": lambda text: cited_numbers(f"[{text}, p. 1]", {1: source_of(text)}),
    "status_of": status_of,
    "squared": lambda text: squared(text, {1}, is_all=False),
    "without_places": lambda text: without_places(text, {1: source_of("A.")}),
    "as_said": as_said,
    "without_citations": without_citations,
    "inert": inert,
    "notes_of": lambda text: notes_of(
        ToolResult(name="", content={"passages": [{"source": "S1", "a": text}]})
    ),
    "is_forged": is_forged,
    "is_forged, citation": lambda text: is_forged(f"[Page {text} of Document {text}]"),
    "visible_name": visible_name,
    "located": lambda text: list(located(text)),
    "Values": lambda text: (Values(text).all, Values(text).operands),
    "numbers_of": lambda text: list(numbers_of(text, "en")),
    "locate": lambda text: locate(CLAIM, text),
    "locate, both": lambda text: locate(text, text),
    "QuoteFinder": lambda text: QuoteFinder(text).find(text[:20]),
    "has_content": has_content,
    "only_introduces": only_introduces,
    "Claims": read_claims,
    "CitationWriter, page": lambda text: checked(ANSWER, text),
    "CitationWriter, answer": lambda text: checked(text, PAGE),
    "CitationWriter, cited answer": lambda text: checked(f"{text} [S1]", PAGE),
    "CitationWriter, question": lambda text: checked(ANSWER, PAGE, asked(text)),
    "CitationWriter, both": lambda text: checked(f"{text} [S1]", text),
    "CitationWriter, at once": lambda text: CitationWriter([source_of(PAGE)]).feed(text),
    "replacing, answer": lambda text: correct(f"{text} [S1]", "1. The fee is 10. [S1]"),
    "replacing, correction": lambda text: correct("The fee is 12. [S1]", f"1. {text} [S1]"),
    "SecondReading, answer": lambda text: judge(f"{text} [S1]", PAGE),
    "SecondReading, page": lambda text: judge("People may stay away. [S1]", text),
    "only_lists": lambda text: only_lists(f"a.txt {text}", ["a.txt"]),
    "only_lists, names": lambda text: only_lists(text, [text[:500]]),
    "made_safe": safe_markdown.made_safe,
    "SafeMarkdown": lambda text: made_safe(text, PIECE),
    "SafeMarkdown, at once": lambda text: made_safe(text, len(text)),
    "SafeMarkdown, single characters": lambda text: made_safe(text, 1),
    "inert_json": lambda text: inert_json({text: [{"text": text}, text]}),
    "rectangles": lambda text: rectangles(text, b"\0" * 80, 0, len(text)),
}
EXPORTS: Mapping[str, Call] = {
    "export as Markdown": lambda text: write_entry(Transcript().entry_of(exported(text))),
    "export as PDF": pdf_of,
}
ANALYSIS: Mapping[str, Call] = {
    "analyse_page": analyse,
    "DocumentContext.of": analyse_lines,
    "masked": masked,
    "is_fit": is_fit,
    "overview": lambda text: overview([analysis_of(text)], DocumentContext.of([page_of(PAGE)])),
    "key": relations.key.__wrapped__,
    "build_ontology": lambda text: relations.build_ontology({"d": [analysis_of(text)]}),
    "follow": lambda text: relations.follow({"d": [analysis_of(text)]}, "HA"),
    "follow, name": lambda text: relations.follow({"d": [analysis_of(PAGE)]}, text[:500], text[:500]),
    "relation shown": lambda text: relation_tools._words_of(
        Connection(document_id="d", page=1, named=text[:500]), page_of(text)
    ),
}
OFFLINE: Mapping[str, Call] = {
    "headers": lambda text: headers([Piece(text, "row")] * 3),
    "is_quotable": lambda text: is_quotable(Piece(text, "sentence")),
    "closest_passages": lambda text: closest_passages(QUESTION, [fenced(text)]),
    "closest_passages, beginnings": lambda text: closest_passages("What is this about?", [fenced(text)]),
    "closest_passages, question": lambda text: closest_passages(asked(text), [fenced(PAGE)]),
    "closest_passages, both": lambda text: closest_passages(asked(text), [fenced(text)]),
    "recall": lambda text: recall(QUESTION, [text]),
    "recall, question": lambda text: recall(asked(text), [PAGE]),
    "says_nothing_to_find": says_nothing_to_find,
    "Conversation.read": read_conversation,
}
CONVERSATIONS: Mapping[str, Call] = {
    "cleaned": cleaned,
    "searchable": searchable,
    "wanted": wanted,
    "accepted": accepted,
    "subject_of": subject_of,
    "question_and_history": lambda text: question_and_history([ChatMessage(role="user", content=text)] * 3),
    "question_and_history, pieces": lambda text: question_and_history(
        [ChatMessage(role="user", content=text[at : at + 200]) for at in range(0, len(text), 200)]
    ),
    "completion": lambda text: completed(text, "Leave"),
    "completion, quote": lambda text: completed('[Page 1 of Document "a.txt"]', text),
    "completion, marker": lambda text: completed(f'[Page 1 of Document "{text}', text),
    "CompletionRequest": read_completion,
    "without_sources": without_sources,
    "without_sources, list": lambda text: without_sources(f"Leave [1].\n\n**Sources**\n\n1. a: {text}"),
    "host": lambda text: source_of(text).model_copy(update={"url": f"https://quay.example/{text}"}).place,
    "repair": lambda text: repair({text: [text]}),
    "first_words": lambda text: first_words([ChatMessage(role="user", content=text)]),
    "notes_in": lambda text: notes_in(asked(text), 1),
    "add_notes_of": lambda text: add_notes_of([], turn_of(asked(text), text)),
    "add_turns": lambda text: add_turns(Memory(), [turn_of(asked(text), text)], 1, TiktokenCounter()),
    "point_of": lambda text: point_of(turn_of(QUESTION, text), TiktokenCounter()),
    "point_of, question": lambda text: point_of(turn_of(asked(text), ANSWER), TiktokenCounter()),
    "statements_of": statements_of,
    "shortened": shortened,
    "is_question": is_question,
    "intent_by_keyword": lambda text: intent_by_keyword(asked(text), KEYWORDS),
    "web_query": lambda text: web_query(text, TALK.model_copy(update={"question": asked(text)})),
    "rewritten_or_asked": lambda text: rewritten_or_asked(text, QUESTION),
    "spelling": spelling.__wrapped__,
    "Asked": lambda text: Asked(asked(text)),
    "remembered": remember,
    "shrink_texts": lambda text: shrink_texts({"text": text}, 100, lambda content: len(json.dumps(content))),
    "shrink_lists": lambda text: shrink_lists(
        {"passages": text.split()}, 100, lambda content: len(json.dumps(content))
    ),
}
