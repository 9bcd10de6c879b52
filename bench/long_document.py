"""A long report next to the handbook: uploads, streamed turns with three checked citations, searches.

The model double answers with three sentences of the pages, so that each citation is verified and located.
"""

import asyncio
import json
import re
import uuid
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from statistics import median
from typing import Any

from langchain_core.messages import BaseMessage

from bench import annual_report
from bench.client import (
    QUESTION,
    Advance,
    BareModel,
    last_prompt,
    prepare_conversations,
    timed,
    until_searchable,
    upload,
)
from bench.connection import Connection, connected
from bench.deployment import HANDBOOK, Stage
from bench.plan import Plan
from bench.statistics import Figure, flat, overheads, summary
from orc.identity import LOCAL_ORGANIZATION, LOCAL_USER, Principal
from orc.tools.mcp_client import McpToolGateway
from orc_core.bootstrap import open_documents
from orc_core.documents.scope import Scope
from orc_core.grounding.citations import marker
from orc_core.grounding.sources import FencedSource, read_fenced
from orc_core.infra.settings import CoreSettings

UPLOADS, TURNS, SEARCHES = (f"Long document, {what}" for what in ("uploads", "turns", "searches"))
CITED = 3
SENTENCES = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
SENTENCE_CHARACTERS = range(80, 220)
SECONDS = 60
REPORT, SHORT = "report", "handbook"


Rounds = dict[str, list[list[float]]]
ProcessorTimes = dict[str, dict[str, list[float]]]


@dataclass(frozen=True)
class Case:
    """A document, and what is asked about it."""

    what: str
    name: str
    content: bytes
    question: str

    def body(self, conversation_id: str) -> bytes:
        """The turn as JSON."""
        turn = {"question": self.question, "conversation_id": conversation_id, "blob_names": [self.name]}
        return json.dumps(turn).encode()

    def unique(self) -> bytes:
        """The file with bytes that no other upload has, which would be read only once."""
        return self.content + f"\n%{uuid.uuid4()}\n".encode()


@dataclass
class Answered:
    """A case with conversations that are prepared for it, the prompt of its turns and the scripted answer."""

    case: Case
    waiting: list[str]
    prompt: Sequence[BaseMessage]
    answer: str


def make_cases(plan: Plan) -> list[Case]:
    """The handbook, then the report."""
    report = annual_report.make_report(plan.report_pages)
    return [
        Case(SHORT, HANDBOOK.name, HANDBOOK.read_bytes(), QUESTION),
        Case(REPORT, annual_report.NAME, report, annual_report.QUESTION),
    ]


async def measure_long_document(stage: Stage, bare: BareModel, plan: Plan, advance: Advance) -> list[Figure]:
    """Everything about the report, and the same of the handbook."""
    cases = await asyncio.to_thread(make_cases, plan)
    figures = await _measure_uploads(stage, plan, cases, advance)
    try:
        answered = [await _prepare(stage, case, plan, advance) for case in cases]
        figures += await _measure_turns(stage, bare, plan, answered, advance)
    finally:
        await _script(stage, {})
    return figures + await _measure_searches(stage, plan, answered, advance)


async def _measure_uploads(stage: Stage, plan: Plan, cases: Sequence[Case], advance: Advance) -> list[Figure]:
    """Seconds from the start of an upload until it is stored and until it is searchable, and the CPU."""
    stored, searchable = defaultdict(list), defaultdict(list)
    cpu: ProcessorTimes = defaultdict(lambda: defaultdict(list))
    pages: dict[str, int] = {}
    for _ in range(plan.report_uploads):
        for case in cases:
            before = stage.cpu_ms(helpers=True)
            async with connected(stage.system.api_port) as connection:
                conversation_id, loop = str(uuid.uuid4()), asyncio.get_running_loop()
                started = loop.time()
                pages[case.what] = await upload(connection, conversation_id, case.name, case.unique())
                stored[case.what].append(loop.time() - started)
                await until_searchable(connection, conversation_id)
                searchable[case.what].append(loop.time() - started)
            for process, used in stage.cpu_ms(helpers=True).items():
                cpu[case.what][process].append(used - before[process])
            advance()
    figures = []
    for what in (SHORT, REPORT):
        name = f"{what} of {pages[what]} pages, upload"
        figures.append(summary(UPLOADS, f"{name} to stored", stored[what], "s"))
        figures.append(summary(UPLOADS, f"{name} to searchable", searchable[what], "s"))
    per_page = {what: median(searchable[what]) / pages[what] for what in (SHORT, REPORT)}
    ratio = per_page[REPORT] / per_page[SHORT]
    figures.append(Figure(UPLOADS, "upload per page, report to handbook", ratio, "x", plan.report_uploads))
    return figures + _processor_times(UPLOADS, "upload", cpu)


def _processor_times(group: str, work: str, cpu: ProcessorTimes) -> list[Figure]:
    """User and system time of each process, and of its helpers, for one piece of work."""
    return [
        summary(group, f"{what}, {work}, CPU of {process}", used)
        for what, by_process in cpu.items()
        for process, used in by_process.items()
        if any(used)
    ]


async def _prepare(stage: Stage, case: Case, plan: Plan, advance: Advance) -> Answered:
    """Conversations with the document; the first is asked in, which shows the prompt that all turns have."""
    port, count = stage.system.api_port, plan.report_questions
    first, *waiting = await prepare_conversations(port, count, advance, case.name, case.unique())
    await _script(stage, {})
    async with connected(port) as connection:
        await connection.post("/api/orc", case.body(first), "application/json")
    prompt = await last_prompt(stage.double_port)
    text = "\n".join(str(message.content) for message in prompt)
    return Answered(case, waiting, prompt, cited_answer(read_fenced(text), case.question))


def cited_answer(sources: Sequence[FencedSource], question: str) -> str:
    """Three sentences of the sources that share most words with the question, each with its marker.

    Raises ValueError if there are fewer.
    """
    asked = _words(question)
    found = {
        sentence: source.number
        for source in reversed(sources)
        for sentence in SENTENCES.split(" ".join(source.text.split()))
        if len(sentence) in SENTENCE_CHARACTERS and sentence.endswith(".")
    }
    best = sorted(found, key=lambda sentence: (-len(asked & _words(sentence)), sentence))[:CITED]
    if len(best) < CITED:
        raise ValueError(f"The prompt has {len(best)} sentences to cite.")
    return " ".join(f"{sentence} {marker(found[sentence])}" for sentence in best)


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w{3,}", text.lower()))


async def _measure_turns(
    stage: Stage, bare: BareModel, plan: Plan, answered: Sequence[Answered], advance: Advance
) -> list[Figure]:
    """Streamed turns about each document, in turn with bare streams of the same prompt and answer."""
    turns: Rounds = defaultdict(list)
    replays: Rounds = defaultdict(list)
    cpu: ProcessorTimes = defaultdict(lambda: defaultdict(list))
    count = plan.report_turns_per_round
    async with connected(stage.system.api_port) as connection:
        for round_number in range(plan.rounds + 1):
            for each in answered:
                what = each.case.what
                await _script(stage, {"text": each.answer})
                replay = [await timed(bare.stream(each.prompt)) for _ in range(count)]
                before = stage.cpu_ms(helpers=True)
                times = [await timed(_checked_turn(connection, each)) for _ in range(count)]
                after = stage.cpu_ms(helpers=True)
                if round_number:  # the first one warms caches up
                    turns[what].append(times)
                    replays[what].append(replay)
                    for process, used in after.items():
                        cpu[what][process].append((used - before[process]) / count)
                advance()
    return _turn_figures(turns, replays) + _processor_times(TURNS, "turn", cpu)


def _turn_figures(turns: Rounds, replays: Rounds) -> list[Figure]:
    figures = []
    for what in turns:
        bare = median(flat(replays[what]))
        name = f"{what}, {CITED} citations, streamed"
        over = overheads(turns[what], replays[what])
        figures += [
            summary(TURNS, f"{what}, bare stream of the turn's prompt", flat(replays[what])),
            summary(TURNS, name, flat(turns[what]), bare=bare, tail=True),
            summary(TURNS, f"{name}, overhead", over, bare=bare, tail=True),
        ]
    ratios = [median(long) / median(short) for long, short in zip(turns[REPORT], turns[SHORT], strict=True)]
    return [*figures, summary(TURNS, "turn, report to handbook", ratios, "x")]


async def _checked_turn(connection: Connection, answered: Answered) -> None:
    """One streamed turn. Raises ValueError unless all its citations are verified and located."""
    stream = connection.stream("/api/orc", answered.case.body(answered.waiting.pop()))
    events = b"".join([part async for part in stream])
    check_citations(result_of(events)["citations"])


def result_of(events: bytes) -> dict[str, Any]:
    _, _, ending = events.rpartition(b"event: done\n")
    result: dict[str, Any] = json.loads(ending.partition(b"data: ")[2].partition(b"\n")[0])
    return result


def check_citations(citations: Sequence[dict[str, Any]]) -> None:
    """Raise ValueError unless there are three, each verified and with its places on the page."""
    good = [each for each in citations if each["verified"] and each["rectangles"]]
    if len(citations) != CITED or len(good) != CITED:
        raise ValueError(f"{len(good)} of {len(citations)} citations are verified and located, not {CITED}.")


async def _measure_searches(
    stage: Stage, plan: Plan, answered: Sequence[Answered], advance: Advance
) -> list[Figure]:
    """Searches through the tool, each over the one document of a conversation."""
    times: Rounds = defaultdict(list)
    cpu: ProcessorTimes = defaultdict(lambda: defaultdict(list))
    async with _searching(stage) as search:
        for round_number in range(plan.rounds + 1):
            for each in answered:
                before = stage.cpu_ms(helpers=True)["tools server"]
                taken = [await timed(search(each)) for _ in range(plan.report_searches)]
                used = stage.cpu_ms(helpers=True)["tools server"] - before
                if round_number:
                    times[each.case.what].append(taken)
                    cpu[each.case.what]["tools server"].append(used / plan.report_searches)
                advance()
    figures = [summary(SEARCHES, f"{what}, search", flat(taken), tail=True) for what, taken in times.items()]
    ratios = [median(long) / median(short) for long, short in zip(times[REPORT], times[SHORT], strict=True)]
    figures.append(summary(SEARCHES, "search, report to handbook", ratios, "x"))
    return figures + _processor_times(SEARCHES, "search", cpu)


@asynccontextmanager
async def _searching(stage: Stage) -> AsyncIterator[Callable[[Answered], Awaitable[None]]]:
    """A function that searches once for the question of a case, in a conversation that is left of it."""
    gateway = McpToolGateway(stage.system.mcp_url, timeout_seconds=SECONDS)
    async with open_documents(CoreSettings(data_dir=stage.system.data_dir)) as documents:
        caller, tokens = Principal(LOCAL_ORGANIZATION, LOCAL_USER), {}

        async def search(answered: Answered) -> None:
            case = answered.case
            if case.what not in tokens:
                owner = caller.owner_of(answered.waiting[-1])
                scope = Scope.of_session(owner)
                tokens[case.what] = documents.tokens.mint(scope, seconds=3600)
            found = await gateway.call("semantic_search", {"query": case.question}, tokens[case.what])
            if not found["passages"]:
                raise ValueError("The search found nothing.")

        try:
            yield search
        finally:
            await gateway.close()


async def _script(stage: Stage, script: dict[str, Any]) -> None:
    async with connected(stage.double_port) as double:
        await double.post_json("/_script", script)
