"""Questions to ask next, made from headings of documents and kept if a search answers them."""

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

from orc.conversations.turn_log import TurnLog
from orc_core.analysis.models import PageAnalysis
from orc_core.analysis.store import AnalysisStore
from orc_core.documents.places import Accessible, Place, session_place
from orc_core.documents.ports import Retriever
from orc_core.documents.service import DocumentService
from orc_core.errors import NotFound
from orc_core.grounding.models import Citation
from orc_core.markdown.brackets import visible_name
from orc_core.models import Document
from orc_core.names import Owner
from orc_core.text.terms import detect_language, words

MOST = 3
MOST_HEADINGS = 12
"""A page with more headings is a table of contents."""
MOST_TRIED = 12
"""Candidates that are searched for; each search takes a few milliseconds."""
SUGGESTION_SECONDS = 1.0
"""Suggestions that take longer are not part of a stream."""
MOST_DOCUMENTS, MOST_PAGES = 5, 20
"""Documents that are looked at, the latest ones, and pages of each."""
MOST_LISTED = 50
SEARCHED_PASSAGES, RELATED_PASSAGES = 5, 10
FEWEST_CHARACTERS, MOST_CHARACTERS, MOST_WORDS = 4, 60, 8
_NUMBERED = re.compile(r"^(?:[0-9]{1,3}(?:\.[0-9]{1,3}){0,5}[.)]?|(?:[A-Z]|[IVX]{1,5})[.)])[ \t]+")
_NO_SUBJECT = re.compile(r"[\[\]<>{}|()“”\"/\\]|[0-9]{2}|\.{3}")
_ASKING = {
    "en": ("What does the document say about “{subject}”?", "What does {name} say about “{subject}”?"),
    "de": ("Was steht im Dokument zu „{subject}“?", "Was steht in {name} zu „{subject}“?"),
    "fr": ("Que dit le document sur « {subject} » ?", "Que dit {name} sur « {subject} » ?"),
    "es": ("¿Qué dice el documento sobre «{subject}»?", "¿Qué dice {name} sobre «{subject}»?"),
}


class Candidate(NamedTuple):
    """A subject, and the page that has it as a heading."""

    subject: str
    document: Document
    page: int


class AnalysedPage(NamedTuple):
    """A page with its analysis."""

    document: Document
    page: PageAnalysis


class Suggestions:
    """Suggests questions without a model: `retriever` searches by words."""

    def __init__(
        self, library: DocumentService, analyses: AnalysisStore, retriever: Retriever, log: TurnLog
    ) -> None:
        self._library = library
        self._analyses = analyses
        self._retriever = retriever
        self._log = log

    async def for_session(self, owner: Owner, places: Sequence[Place] = ()) -> list[str]:
        """Questions after the latest answer, or for a beginning. Raises NotFound."""
        page = await self._log.page(owner, limit=1)
        if page is None:
            raise NotFound("There is no such conversation.")
        last = page.turns[-1] if page.turns else None
        question, citations = (last.question, last.citations) if last else ("", [])
        return await self.after(owner, question, citations, places)

    async def for_turn(self, owner: Owner, turn_id: str, places: Sequence[Place] = ()) -> list[str]:
        """Questions after the answer of this turn. Raises NotFound."""
        turn = await self._log.turn(owner, turn_id)
        if turn is None:
            raise NotFound("There is no such turn.")
        return await self.after(owner, turn.question, turn.citations, places)

    async def after(
        self, owner: Owner, question: str, citations: Sequence[Citation], places: Sequence[Place] = ()
    ) -> list[str]:
        """At most three questions about what an answer has not cited; without documents, none.

        `places` are those of contexts that the caller may read now: their documents count, too.
        """
        accessible = Accessible(owner, (session_place(owner), *places))
        recorded = await self._library.latest(accessible, MOST_LISTED)
        analysed_ids = await self._library.summarised(recorded)
        documents = [each for each in recorded if each.document_id in analysed_ids][-MOST_DOCUMENTS:]
        if not documents:
            return []
        cited = {(each.document_id, each.page) for each in citations}
        pages = await self._pages(documents, question)
        asked = {*words(question)}
        fresh = [
            each
            for each in candidates(pages)
            if (each.document.document_id, each.page) not in cited and not {*words(each.subject)} <= asked
        ]
        sample = words(question) or [word for each in fresh for word in words(each.subject)]
        ids, kept = [document.document_id for document in documents], list[Candidate]()
        for each in fresh[:MOST_TRIED]:
            # A candidate whose page a search for its subject finds.
            found = await self._retriever.search(each.subject, ids, SEARCHED_PASSAGES)
            on_pages = {(hit.passage.document_id, hit.passage.page) for hit in found.hits}
            is_served = any(step.served for step in found.steps[:1])
            if is_served and (each.document.document_id, each.page) in on_pages:
                kept.append(each)
            if len(kept) == MOST:
                break
        return [question_about(each, detect_language(sample), named=len(recorded) > 1) for each in kept]

    async def _pages(self, documents: Sequence[Document], question: str) -> list[AnalysedPage]:
        """The analysed pages that a search for the question finds, then the first ones of each document."""
        of_documents = {}
        for document in documents:
            numbers = range(1, MOST_PAGES + 1)
            analysed = await self._analyses.pages(document.document_id, numbers)
            of_documents[document.document_id] = [AnalysedPage(document, page) for page in analysed]
        found = await self._retriever.search(question, list(of_documents), RELATED_PASSAGES)
        related = dict.fromkeys((hit.passage.document_id, hit.passage.page) for hit in found.hits)
        in_turns = [page for pages in zip_longest(*of_documents.values()) for page in pages if page]
        rank = {key: number for number, key in enumerate(related)}
        last = len(rank)
        return sorted(in_turns, key=lambda each: rank.get((each.document.document_id, each.page.page), last))


def candidates(pages: Sequence[AnalysedPage]) -> Iterator[Candidate]:
    """Distinct subjects: one of each page, then the next ones. Titles of documents are none."""
    seen: set[str] = set()
    for subjects in zip_longest(*map(_of_page, pages)):
        for each in subjects:
            if each is not None and each.subject.casefold() not in seen:
                seen.add(each.subject.casefold())
                yield each


def _of_page(analysed: AnalysedPage) -> list[Candidate]:
    """The subjects of a page; the heading of its chapter, which is less specific, comes last."""
    document, page = analysed
    headings = [anchor.text for anchor in page.anchors if anchor.kind == "heading"]
    if len(headings) > MOST_HEADINGS:
        return []
    chapter, sections = headings[:1], headings[1:]
    # The first heading of a document is its title.
    subjects = map(subject_of, sections if page.page == 1 else [*sections, *chapter])
    return [Candidate(subject, document, page.page) for subject in subjects if subject]


def subject_of(heading: str) -> str | None:
    """The heading without its number, if a question can be made of it."""
    subject = _NUMBERED.sub("", " ".join(heading.split())).strip(" .:;,-–")
    fits = FEWEST_CHARACTERS <= len(subject) <= MOST_CHARACTERS and len(subject.split()) <= MOST_WORDS
    return subject if fits and subject.isprintable() and not _NO_SUBJECT.search(subject) else None


def question_about(candidate: Candidate, language: str, *, named: bool) -> str:
    """The question about a subject, with the document's name if there are several."""
    one, several = _ASKING.get(language, _ASKING["en"])
    name = visible_name(candidate.document.blob_name)
    return (several if named else one).format(subject=candidate.subject, name=name)
