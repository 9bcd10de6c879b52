"""Has the refuted sentences of an answer written again, and replaces them in place."""

import re
from collections.abc import Sequence
from xml.sax.saxutils import escape

from langchain_core.messages import BaseMessage, SystemMessage

from orc.events import Correction
from orc.graphs.cited_pages import around_quotes, cited_pages, key_of
from orc.graphs.models import ConversationState, Run
from orc.graphs.replacing import (
    Rebuilt,
    Replacement,
    Statement,
    as_written,
    markers_of,
    plain,
    rebuilt,
    removal,
    rewritten,
    statements,
)
from orc.graphs.utils import writer_of
from orc_core.errors import OrcError
from orc_core.grounding.models import are_not_there
from orc_core.grounding.rectangles import with_rectangles
from orc_core.grounding.sources import Source, fence, without_markers
from orc_core.llm.messages import QuestionMessage

MOST_STATEMENTS = 20
"""What is asked for in one call; the rest of an answer with more keeps its marks."""
NONE_CORRECTED = "no correction was supported by the cited pages."
_NUMBERED = re.compile(r"^[ \t]*\**(\d{1,2})[.)]\**[ \t]*", re.M)
_LEFT_OUT = "-\N{EN DASH}\N{EM DASH} "


async def rewrite_refuted(state: ConversationState, run: Run) -> tuple[Rebuilt, list[Correction]]:
    """Ask once for all refuted sentences; those that are not better than before stay as they are.

    Raises OrcError if none is replaced.
    """
    attempt = state.attempt
    assert attempt.answer is not None
    wrong, pages = await _correctable(attempt.answer, state, run)
    shown = _shown(wrong, pages, run)
    writer, cap = writer_of(state, run)
    prompt = _prompt(attempt.answer, wrong, shown, state, run)
    reply = await writer.complete(prompt, budget=run.context.budget, max_tokens=cap)
    made, corrections = _corrected(attempt.answer, wrong, (shown, pages), reply, state)
    if not attempt.sources:
        # Those of other answers are located when the turn ends.
        located = await with_rectangles(made.citations, pages, run.resources.library.page_boxes)
        made = made._replace(citations=located)
    return made, corrections


async def _correctable(
    answer: str, state: ConversationState, run: Run
) -> tuple[list[Statement], list[Source]]:
    """The refuted statements, and all cited pages."""
    statuses = state.attempt.grounding.statuses if state.attempt.grounding else ()
    found = statements(answer, state.attempt.citations, statuses)
    cited = [each for each in found if each.is_correctable]
    pages = await cited_pages(state.attempt.citations, state, run) if cited else []
    if not pages:
        raise OrcError(NONE_CORRECTED)
    return cited[:MOST_STATEMENTS], pages


def _shown(wrong: Sequence[Statement], pages: Sequence[Source], run: Run) -> list[Source]:
    """The pages that these statements cite, as far as they fit, numbered from 1."""
    citations = [citation for statement in wrong for citation in statement.citations]
    cited = [page for page in pages if key_of(page) in set(map(key_of, citations))]
    share = run.context.settings.retrieval_tokens // len(cited)
    fitting = [around_quotes(page, citations, share, run.resources.counter) for page in cited]
    return [page.model_copy(update={"number": number}) for number, page in enumerate(fitting, 1)]


def _prompt(
    answer: str, wrong: Sequence[Statement], sources: Sequence[Source], state: ConversationState, run: Run
) -> list[BaseMessage]:
    numbers, listed = {source.page_id: source.number for source in sources}, []
    for number, each in enumerate(wrong, 1):
        markers = markers_of(each.citations, (), numbers)
        said = as_written(answer, markers, each.start, each.end, _inert)
        listed.append(f"{number}. {said}\n({_inert(_what_is_wrong(each))})")
    sentences = "\n".join(["<sentences>", *listed, "</sentences>"])
    text = f"{fence(sources)}\n\nQuestion: {state.query}\n\n{sentences}"
    return [SystemMessage(run.resources.prompts.revise), QuestionMessage(content=text, question=state.query)]


def _what_is_wrong(statement: Statement) -> str:
    said = [are_not_there(statement.missing)] if statement.missing else []
    said += dict.fromkeys(each.reason for each in statement.citations if each.reason)
    return " ".join("; ".join(said or ["Its sources do not say this."]).split())


def _inert(text: str) -> str:
    return escape(without_markers(text))


def _corrected(
    answer: str,
    wrong: Sequence[Statement],
    sources: tuple[Sequence[Source], Sequence[Source]],
    reply: str,
    state: ConversationState,
) -> tuple[Rebuilt, list[Correction]]:
    """The answer with what can be taken of a reply; `sources` are those of the prompt, and all."""
    attempt, said, question = state.attempt, numbered(reply, len(wrong)), f"{state.question}\n{state.query}"
    taken: list[Replacement] = []
    corrections: list[Correction] = []
    for number, statement in enumerate(wrong, 1):
        new: Replacement | None = None
        if (text := said.get(number)) and not text.strip(_LEFT_OUT):
            new = removal(answer, statement)
        elif text:
            own = set(map(key_of, statement.citations))
            new = rewritten(statement, text, [each for each in sources[0] if key_of(each) in own], question)
        if new is not None:
            after = plain(new.text, [mark for each in new.citations for mark in each.marks])
            corrections.append(Correction(before=statement.text, after=after))
            taken.append(new)
    assert attempt.grounding is not None
    made = rebuilt(answer, attempt.citations, taken, sources[1], question, attempt.grounding)
    if not taken or not made.citations:
        raise OrcError(NONE_CORRECTED)
    return made, corrections


def numbered(reply: str, count: int) -> dict[int, str]:
    """The texts of a reply by their numbers, from 1 to `count`; what has no number is left out."""
    found: dict[int, str] = {}
    begins = [each for each in _NUMBERED.finditer(reply) if 0 < int(each[1]) <= count]
    for at, begin in enumerate(begins):
        end = begins[at + 1].start() if at + 1 < len(begins) else len(reply)
        found.setdefault(int(begin[1]), reply[begin.end() : end].strip())
    return found
