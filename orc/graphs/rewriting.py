"""rewrite_sentences: has the refuted sentences of an answer written again, and replaces them in place."""

import re
from collections.abc import Sequence
from typing import Any
from xml.sax.saxutils import escape

from langchain_core.messages import BaseMessage, SystemMessage
from langgraph.runtime import Runtime

from core.errors import OrcError
from core.grounding.citations import marker
from core.grounding.models import Citation
from core.grounding.objections import are_not_there
from core.grounding.rectangles import with_rectangles
from core.grounding.replacing import (
    Replacement,
    Statement,
    checked_again,
    is_safe,
    plain,
    removal,
    replace,
    rewritten,
    statements,
)
from core.grounding.sources import Source, fence, without_markers
from core.llm.messages import QuestionMessage
from orc.events import Correction, Revised
from orc.graphs.cited_pages import cited_pages, key_of
from orc.graphs.models import ConversationState, Deps
from orc.graphs.revision import revision_deadline
from orc.graphs.utils import changes, writer_of

MOST_STATEMENTS = 20
"""What is asked for in one call; the rest of an answer with more keeps its marks."""
NONE_CORRECTED = "no correction was supported by the cited pages."
_NUMBERED = re.compile(r"^[ \t]*\**(\d{1,2})[.)]\**[ \t]*", re.M)
_LEFT_OUT = "-\N{EN DASH}\N{EM DASH} "


async def rewrite_sentences(state: ConversationState, runtime: Runtime[Deps]) -> dict[str, Any]:
    """Ask once for all refuted sentences; those that are not better than before stay as they are.

    Raises OrcError if none is replaced.
    """
    deps, attempt = runtime.context, state.attempt
    assert attempt.answer is not None
    assert attempt.grounding is not None
    async with revision_deadline(state, deps):
        wrong, sources = await _correctable(attempt.answer, state, deps)
        writer, cap = writer_of(state, deps)
        prompt = _prompt(attempt.answer, wrong, sources, state, deps)
        reply = await writer.complete(prompt, budget=deps.budget, max_tokens=cap)
        answer, citations, corrections = _corrected(attempt.answer, wrong, sources, reply, state)
        if not attempt.sources:
            # Those of other answers are located when the turn ends.
            citations = await with_rectangles(citations, sources, deps.page_boxes)
    deps.emit(Revised(answer=answer, citations=citations, corrections=corrections))
    grounding = checked_again(answer, citations, attempt.grounding)
    revised = {"answer": answer, "citations": citations, "grounding": grounding}
    return changes(attempt=attempt.model_copy(update=revised))


async def _correctable(
    answer: str, state: ConversationState, deps: Deps
) -> tuple[list[Statement], list[Source]]:
    """The refuted statements whose pages can be read, and these pages."""
    cited = [each for each in statements(answer, state.attempt.citations) if each.is_correctable]
    cited = cited[:MOST_STATEMENTS]
    citations = [citation for statement in cited for citation in statement.citations]
    sources = await cited_pages(citations, state, deps, deps.settings.retrieval_tokens)
    there = {key_of(source) for source in sources}
    cited = [each for each in cited if there.issuperset(map(key_of, each.citations))]
    if not cited:
        raise OrcError(NONE_CORRECTED)
    return cited, sources


def _prompt(
    answer: str, wrong: Sequence[Statement], sources: Sequence[Source], state: ConversationState, deps: Deps
) -> list[BaseMessage]:
    numbers = {key_of(source): source.number for source in sources}
    listed = [
        f"{number}. {_cited_by_number(answer, each, numbers)}\n({_what_is_wrong(each)})"
        for number, each in enumerate(wrong, 1)
    ]
    sentences = "\n".join(["<sentences>", *listed, "</sentences>"])
    text = f"{fence(sources)}\n\nQuestion: {state.query}\n\n{sentences}"
    return [SystemMessage(deps.prompts.revise), QuestionMessage(content=text, question=state.query)]


def _cited_by_number(answer: str, statement: Statement, numbers: dict[tuple[str, int], int]) -> str:
    """The statement as a model wrote it, with markers of these numbers."""
    shown, end = "", statement.start
    for written in statement.marks:
        shown += escape(without_markers(answer[end : written.mark.start]))
        shown += marker(numbers[key_of(written.citation)])
        end = written.mark.end
    return shown + escape(without_markers(answer[end : statement.end]))


def _what_is_wrong(statement: Statement) -> str:
    said = [are_not_there(statement.missing)] if statement.missing else []
    said += dict.fromkeys(each.reason for each in statement.citations if each.reason)
    return escape(without_markers(" ".join("; ".join(said or ["Its sources do not say this."]).split())))


def _corrected(
    answer: str, wrong: Sequence[Statement], sources: Sequence[Source], reply: str, state: ConversationState
) -> tuple[str, list[Citation], list[Correction]]:
    """The answer with what can be taken of a reply. From its end on, so that earlier places stay the same."""
    said, question = numbered(reply, len(wrong)), f"{state.question}\n{state.query}"
    citations, corrections = list(state.attempt.citations), list[Correction]()
    for number, statement in reversed([*enumerate(wrong, 1)]):
        text = said.get(number)
        new: Replacement | None = None
        if text and not text.strip(_LEFT_OUT):
            new = removal(answer, statement)
        elif text:
            own = set(map(key_of, statement.citations))
            new = rewritten(statement, text, [each for each in sources if key_of(each) in own], question)
        changed = replace(answer, citations, new) if new else None
        if new is None or changed is None:
            continue
        after = plain(new.text, [mark for each in new.citations for mark in each.marks])
        corrections.insert(0, Correction(before=statement.text, after=after))
        answer, citations = changed
    if not corrections or not is_safe(answer, citations):
        raise OrcError(NONE_CORRECTED)
    return answer, citations, corrections


def numbered(reply: str, count: int) -> dict[int, str]:
    """The texts of a reply by their numbers, from 1 to `count`; what has no number is left out."""
    found: dict[int, str] = {}
    begins = [each for each in _NUMBERED.finditer(reply) if 0 < int(each[1]) <= count]
    for at, begin in enumerate(begins):
        end = begins[at + 1].start() if at + 1 < len(begins) else len(reply)
        found.setdefault(int(begin[1]), reply[begin.end() : end].strip())
    return found
