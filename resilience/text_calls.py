"""What the product does with text of others, as calls that take one text: from its arrival to its storage.

Each call is what a request, an upload or an answer goes through, and enters the functions below it. What it
needs besides the text is short and fixed, so that its time depends on the text alone.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime

from devkit.exported import TRANSCRIPT, heading_of
from mcp_server.web.ports import plain_text, public_address
from orc.api.completions import CompletionRequest, numbered
from orc.api.schemas import ChatRequest
from orc.conversations.models import Message, Turn, TurnStatus
from orc.conversations.search import searchable
from orc.events import TurnMetadata, TurnResult
from orc.exports.markdown import write_entry
from orc.exports.pdf import write_pdf
from orc.exports.service import to_json
from orc.memory.models import Memory
from orc.memory.service import add_turns
from orc.tools.schemas import Handles
from orc.turns.titles import accepted
from orc_core.analysis.document_context import DocumentContext
from orc_core.analysis.extractive import analyse_page
from orc_core.analysis.summaries import overview
from orc_core.documents.passages import split_pages
from orc_core.documents.unknown_files import unknown_files
from orc_core.errors import OrcError
from orc_core.grounding.citations import CitationWriter
from orc_core.grounding.models import Citation
from orc_core.grounding.sources import FencedSource, Source, fence, read_fenced
from orc_core.llm.tokens import TokenCounter
from orc_core.markdown.safe_markdown import SafeMarkdown
from orc_core.mcp_contract import MAX_QUESTION_CHARACTERS
from orc_core.models import Page
from orc_core.names import name_for_upload
from orc_core.ocr.tesseract import parse
from orc_core.offline.passages import closest_passages
from orc_core.search.hybrid import search_in_memory
from orc_core.search.postings import index_passages
from orc_core.search.query import parse_question
from orc_core.search.vocabulary import shipped_vocabularies
from orc_core.text.parts import named_parts

Call = Callable[[str], object]

PAGE = (
    "# Leave\n\nEvery employee has 25 days of leave a year. After the second year it is 28 days. Leave that"
    " is not taken by 31 March 2024 expires.\n\n"
    "Item | 2023 | 2022\nRent | $1,200 | $1,100\nResult | (138) | ≤ 199\n\n■ Boats\n\n"
    "The quay opens at seven, see section 4.2 and Table 3. Harbour Authority (HA) is the “Authority”.\n"
)
QUESTION = "How many days of leave do employees have after the second year, and what is the rent?"
ANSWER = "Every employee has 26 days of leave a year. [S1] The rent was $1,200 in 2023 [S1]."
NOW = datetime(2024, 1, 1, tzinfo=UTC)
MOST_SET, MOST_SHAPED = 50_000, 2_500
"""Characters of a PDF export; shaping is most of its work."""
PIECE = 24
"""Characters that a model sends at once."""


def asked(text: str) -> str:
    """As much of the text as a question may have."""
    return text[:MAX_QUESTION_CHARACTERS]


def page_of(text: str) -> Page:
    return Page(number=1, text=text)


def source_of(text: str) -> Source:
    """The text as a whole page, and as the only source of a prompt."""
    return Source(number=1, document_id="d", blob_name="a.txt", page=1, start=0, text=text, page_text=text)


def fenced(text: str) -> FencedSource:
    return FencedSource(number=1, blob_name="a.txt", page=1, text=text)


def turn_of(question: str, text: str) -> Turn:
    """A turn in which the answer and the quote of its citation are the text."""
    answer = Message(
        role="assistant",
        content=f'{text} [Page 1 of Document "a.txt"]',
        created_at=NOW,
        citations=[cited(text)],
    )
    return Turn(
        turn_id="t",
        conversation_id="c",
        seq=1,
        status=TurnStatus.COMMITTED,
        attempt="a",
        request_hash="h",
        question=question,
        assistant=answer,
        created_at=NOW,
    )


def cited(text: str) -> Citation:
    return Citation(
        document_id="d", blob_name="a.txt", page=1, page_id="p", quote=text, start=0, end=1, check="quoted"
    )


def refused(call: Call) -> Call:
    """The call of a function that refuses most texts."""

    def tried(text: str) -> None:
        with suppress(OrcError, ValueError):
            call(text)

    return tried


def pdf_of(text: str) -> object:
    """The text in a PDF, or a part of it."""
    text = text[: MOST_SET if text.isascii() else MOST_SHAPED]
    entry = to_json(asdict(TRANSCRIPT.entry_of(turn_of(text, text))))
    return list(write_pdf(asdict(heading_of("Leave")), [entry], ""))


def checked(answer: str, page: str, question: str = "") -> object:
    """An answer that arrives in pieces, with all checks of its citations and numbers."""
    writer = CitationWriter([source_of(page)], question)
    for start in range(0, len(answer), PIECE):
        writer.feed(answer[start : start + PIECE])
    writer.finish()
    return writer.grounding


def made_safe(text: str, piece: int) -> object:
    """The text as safe Markdown, fed in pieces of this length."""
    shown: list[str] = []
    safe = SafeMarkdown(shown.append, lambda address: len(address) % 2 == 0)
    for start in range(0, len(text), piece):
        safe.feed(text[start : start + piece])
    safe.finish()
    return shown


def uploaded(text: str) -> object:
    """A page that is split, indexed and analysed."""
    pages = [page_of(text)]
    context = DocumentContext.of(pages)
    analysed = overview([analyse_page(page, context) for page in pages], context)
    return index_passages("a.txt", split_pages("d", pages)), analysed


def searched(question: str, page: str) -> object:
    return search_in_memory(asked(question), [split_pages("d", [page_of(page)])], 8)


def table_of(text: str) -> str:
    """The words of the text as Tesseract shows them."""
    words = enumerate(text.split() or [text])
    return "".join(f"5\t1\t1\t1\t1\t{number}\t0\t0\t9\t9\t96\t{word}\n" for number, word in words)


def chat_of(text: str) -> object:
    said = [{"role": "user", "content": text[at : at + 50_000]} for at in range(0, len(text), 50_000)]
    said.append({"role": "user", "content": asked(text) or "?"})
    return ChatRequest.model_validate({"messages": said}).said


def completed(text: str, quote: str) -> object:
    """An answer for clients of OpenAI's interface."""
    result = TurnResult(
        conversation_id="c",
        turn_id="t",
        answer=text,
        citations=[cited(quote)],
        metadata=TurnMetadata(trace_id="t"),
    )
    return numbered(result, "http://127.0.0.1/api", lists_sources=True).annotations


CALLS: Mapping[str, Call] = {
    "upload": uploaded,
    "upload, name": refused(name_for_upload),
    "OCR table": lambda text: parse(table_of(text)),
    "chat": refused(chat_of),
    "completion": refused(
        lambda text: CompletionRequest.model_validate(
            {"messages": [{"role": "user", "content": text}]}
        ).check()
    ),
    "question": lambda text: parse_question(asked(text), shipped_vocabularies()),
    "question, parts": lambda text: named_parts(asked(text), [page_of(PAGE)]),
    "question, parts of a page": lambda text: named_parts(
        "page 2, sheet Prices, clause 3.3", [page_of(text)]
    ),
    "question, files": lambda text: unknown_files(text, ["quay.txt", "quay plan.txt"]),
    "search": lambda text: searched(QUESTION, text),
    "search, question": lambda text: searched(text, PAGE),
    "search, both": lambda text: searched(text, text),
    "tools, handles": refused(lambda text: Handles(["d"]).hide({"document_id": text, text: [text]})),
    "web page": lambda text: plain_text(text, 4000),
    "web address": lambda text: public_address(f"https://quay.example/{text}"),
    "prompt": lambda text: read_fenced(fence([source_of(text)])),
    "answer": lambda text: checked(text, PAGE),
    "answer, cited": lambda text: checked(f"{text} [S1]", PAGE),
    "answer, page": lambda text: checked(ANSWER, text),
    "answer, question": lambda text: checked(ANSWER, PAGE, asked(text)),
    "answer, both": lambda text: checked(f"{text} [S1]", text),
    "answer as Markdown": lambda text: made_safe(text, PIECE),
    "answer as Markdown, at once": lambda text: made_safe(text, len(text)),
    "without a model": lambda text: closest_passages(QUESTION, [fenced(text)]),
    "without a model, question": lambda text: closest_passages(asked(text), [fenced(PAGE)]),
    "without a model, both": lambda text: closest_passages(asked(text), [fenced(text)]),
    "answer for OpenAI's clients": lambda text: completed(text, "Leave"),
    "answer for OpenAI's clients, quote": lambda text: completed('[Page 1 of Document "a.txt"]', text),
    "memory": lambda text: add_turns(Memory(), [turn_of(asked(text), text)], 1, TokenCounter()),
    "title": accepted,
    "search in conversations": searchable,
    "export as Markdown": lambda text: write_entry(
        TRANSCRIPT.entry_of(turn_of(text, text)), heading_of("Leave").labels
    ),
    "export as PDF": pdf_of,
}
IN_CHILDREN = frozenset({"export as PDF"})
"""The calls that the product makes only in a separate process."""
