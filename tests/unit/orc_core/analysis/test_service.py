"""Analyses of whole documents: resumable, with their cost, and with every failure reported."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage

from devkit.fakes import scripted
from devkit.store_pairs import items_here
from orc_core.analysis.models import EXTRACTIVE, AnalysisStatus, DocumentAnalysis, PageAnalysis
from orc_core.analysis.service import UNEXPECTED, Analyser, DailyTokens, DocumentAnalyses
from orc_core.analysis.store import AnalysisStore
from orc_core.errors import BudgetExceeded, DependencyDown, Unavailable
from orc_core.grounding.sources import read_fenced
from orc_core.infra.sqlite import Database
from orc_core.llm.chat_model import ChatModel
from orc_core.llm.errors import ContentFiltered
from orc_core.models import Page
from orc_core.storage.sqlite.tables import TABLES
from tests.unit.orc_core.analysis.analysis_samples import document

pytestmark = pytest.mark.slow

PAGES = [
    Page(
        number=n, text=f"Contoso Ltd. owns house number {n} in the town. It costs $ {n} million.", tokens=1500
    )
    for n in range(1, 61)
]
BLANK = Page(number=61, text=" \n")
PAGES_PER_CALL = 4


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[AnalysisStore]:
    database = Database(tmp_path / "orc.db")
    await database.migrate(TABLES["analyses"].schema)
    yield AnalysisStore(items_here(database, "analyses"))
    await database.close()


class Reader:
    """A model that counts its pages. It fails after `fails_after` calls and for the pages in `refuses`."""

    def __init__(self, *, fails_after: int = 10_000, refuses: frozenset[int] = frozenset()) -> None:
        self.fails_after = fails_after
        self.refuses = refuses
        self.read: Counter[int] = Counter()
        self.summaries = 0
        self.calls = 0
        self.chat: ChatModel
        self.chat, _ = scripted(self._reply)

    def _reply(self, messages: list[BaseMessage], options: dict[str, Any]) -> AIMessage:
        self.calls += 1
        if self.calls > self.fails_after:
            raise DependencyDown("The model does not answer. Try again.", dependency="model")
        sources = read_fenced(str(messages[-1].text))
        form = options["tools"][0]["function"]["name"]
        pages = [source.page for source in sources]
        if form == "PageNotes":
            if self.refuses & set(pages):
                raise ContentFiltered
            self.read.update(pages)
            return _filled(form, pages=[{"page": page, "summary": f"House {page}."} for page in pages])
        self.summaries += 1
        lines = [
            {"first_page": pages[0], "last_page": pages[-1], "text": "All houses."},
            {"first_page": 900, "last_page": 901, "text": "Made up."},
        ]
        return _filled(form, summary=f"{len(sources)} houses.", lines=lines)


def _filled(form: str, **args: Any) -> AIMessage:
    usage = {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110}
    return AIMessage("", tool_calls=[{"name": form, "args": args, "id": "1"}], usage_metadata=usage)


def cost(analysis: DocumentAnalysis) -> tuple[int, int, int]:
    return analysis.model_calls, analysis.input_tokens, analysis.output_tokens


async def test_without_a_model_the_analysis_is_extractive(store: AnalysisStore) -> None:
    heard: list[tuple[int, int]] = []
    analyser = Analyser(store, None)
    analysis = await analyser.analyse(
        document(), PAGES, lambda done, total, what: heard.append((done, total))
    )
    assert (analysis.status, analysis.method, analysis.reason) == (AnalysisStatus.DONE, EXTRACTIVE, None)
    assert (analysis.pages, analysis.pages_done, cost(analysis)) == (60, 60, (0, 0, 0))
    assert "Contoso Ltd. owns house number 1 in the town." in analysis.summary
    lines = analysis.detailed_summary.splitlines()
    assert len(lines) == 60
    assert lines[4].startswith("p. 5: Contoso Ltd. owns house number 5")
    assert heard == [(25, 60), (50, 60), (60, 60), (60, 60)]
    assert (await store.get(["d1"]))["d1"] == analysis
    assert [page.page for page in await store.pages("d1")] == list(range(1, 61))


async def test_the_analysis_of_a_model_is_stored_with_its_usage(store: AnalysisStore) -> None:
    reader = Reader()
    analysis = await Analyser(store, reader.chat).analyse(document(), [*PAGES, BLANK])
    assert (analysis.status, analysis.method, analysis.note) == (AnalysisStatus.DONE, "scripted", "")
    assert reader.read == Counter(range(1, 61))
    assert (reader.calls, reader.summaries) == (60 // PAGES_PER_CALL + 1, 1)
    assert cost(analysis) == (16, 1600, 160)
    assert not analysis.estimated
    assert (analysis.summary, analysis.detailed_summary) == ("60 houses.", "pp. 1–60: All houses.")
    assert [page.summary for page in await store.pages("d1", [7, 61])] == ["House 7.", ""]


async def test_a_finished_analysis_is_not_repeated(store: AnalysisStore) -> None:
    reader = Reader()
    analyser = Analyser(store, reader.chat)
    first = await analyser.analyse(document(), PAGES)
    calls = reader.calls
    assert await analyser.analyse(document(), PAGES) == first
    assert reader.calls == calls


async def test_an_analysis_resumes_where_it_stopped(store: AnalysisStore) -> None:
    reader = Reader(fails_after=7)
    analyser = Analyser(store, reader.chat)
    with pytest.raises(DependencyDown):
        await analyser.analyse(document(), PAGES)
    failed = (await store.get(["d1"]))["d1"]
    assert failed.status is AnalysisStatus.FAILED
    assert failed.reason == "The model does not answer. Try again."
    assert failed.pages_done == 7 * PAGES_PER_CALL == len(await store.pages("d1"))
    assert failed.input_tokens == 700

    reader.fails_after = 10_000
    analysis = await analyser.analyse(document(), PAGES)
    assert (analysis.status, analysis.reason, analysis.pages_done) == (AnalysisStatus.DONE, None, 60)
    assert reader.read == Counter(range(1, 61)), "a page was read twice"
    assert (analysis.model_calls, analysis.input_tokens) == (reader.calls, 1600)


async def test_no_page_is_analysed_twice_if_the_store_fails_halfway(
    store: AnalysisStore, tmp_path: Path
) -> None:
    failing = FailingStore(Database(tmp_path / "orc.db"), saves=2)
    with pytest.raises(DependencyDown):
        await Analyser(failing, None).analyse(document(), PAGES)
    stored = await store.pages("d1")
    assert [page.page for page in stored] == list(range(1, 26))
    heard: list[int] = []
    analysis = await Analyser(store, None).analyse(document(), PAGES, lambda done, *_: heard.append(done))
    assert heard == [50, 60, 60]
    assert analysis.pages_done == 60
    await failing.database.close()


class FailingStore(AnalysisStore):
    """A store that fails from save number `saves` on."""

    def __init__(self, database: Database, saves: int) -> None:
        super().__init__(items_here(database, "analyses"))
        self.database = database
        self.saves = saves

    async def save_pages(self, analysis: DocumentAnalysis, analyses: Sequence[PageAnalysis]) -> bool:
        self.saves -= 1
        if self.saves <= 0:
            raise DependencyDown("The database cannot be used right now.", dependency="store")
        return await super().save_pages(analysis, analyses)


async def test_a_spent_budget_explains_how_to_continue(store: AnalysisStore) -> None:
    reader = Reader()
    with pytest.raises(BudgetExceeded):
        await Analyser(store, reader.chat, max_calls=5).analyse(document(), PAGES)
    failed = (await store.get(["d1"]))["d1"]
    assert (
        failed.reason == "The analysis has used the 5 model calls of one attempt. Start it again to continue."
    )
    assert failed.pages_done == 20
    for _ in range(2):
        with pytest.raises(BudgetExceeded):
            await Analyser(store, reader.chat, max_calls=5).analyse(document(), PAGES)
    analysis = await Analyser(store, reader.chat, max_calls=5).analyse(document(), PAGES)
    assert analysis.model_calls == reader.calls == 16
    assert reader.read == Counter(range(1, 61))


async def test_new_bytes_or_another_method_start_over(store: AnalysisStore) -> None:
    reader = Reader()
    await Analyser(store, reader.chat).analyse(document(), PAGES)
    shorter = await Analyser(store, reader.chat).analyse(document(etag="2"), PAGES[:8])
    assert (shorter.etag, shorter.pages, shorter.model_calls) == ("2", 8, 3)
    assert [page.page for page in await store.pages("d1")] == list(range(1, 9))
    without = await Analyser(store, None).analyse(document(etag="2"), PAGES[:8])
    assert (without.method, without.model_calls) == (EXTRACTIVE, 0)
    assert {page.method for page in await store.pages("d1")} == {EXTRACTIVE}


async def test_a_page_refused_by_the_model_is_analysed_without_it_and_reported(
    store: AnalysisStore,
) -> None:
    reader = Reader(refuses=frozenset({6}))
    analysis = await Analyser(store, reader.chat).analyse(document(), PAGES)
    assert analysis.status is AnalysisStatus.DONE
    assert analysis.note == "The model could not read 1 of 60 pages (6): analysed without it."
    assert reader.read == Counter(n for n in range(1, 61) if n != 6)
    (refused,) = await store.pages("d1", [6])
    assert refused.method == EXTRACTIVE
    assert refused.summary.startswith("Contoso Ltd. owns house number 6")


@pytest.mark.parametrize("refuses", [frozenset[int](), frozenset({6})])
async def test_only_what_the_model_has_read_in_full_counts_for_the_same_bytes_again(
    refuses: frozenset[int], store: AnalysisStore
) -> None:
    await Analyser(store, Reader(refuses=refuses).chat).analyse(document(), PAGES[:8])
    again = document().model_copy(update={"document_id": "again"})
    assert await DocumentAnalyses(store).copy(document(), again) is not bool(refuses)
    assert bool(await store.get([again.document_id])) is not bool(refuses)


async def test_the_analysis_of_a_replaced_document_is_not_overwritten(
    store: AnalysisStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer = DocumentAnalysis(document_id="d1", etag="2", method=EXTRACTIVE)
    save_pages = store.save_pages

    async def replace_after(analysis: DocumentAnalysis, analyses: Sequence[PageAnalysis]) -> bool:
        saved = await save_pages(analysis, analyses)
        if analysis.pages_done == 25:
            await store.save(newer)
        return saved

    monkeypatch.setattr(store, "save_pages", replace_after)
    with pytest.raises(Unavailable, match="replaced or deleted"):
        await Analyser(store, None).analyse(document(), PAGES)
    assert (await store.get(["d1"]))["d1"] == newer


async def test_an_unexpected_error_is_recorded_and_raised(store: AnalysisStore) -> None:
    def break_down(done: int, total: int, what: str) -> None:
        raise RuntimeError("secret inner workings")

    with pytest.raises(RuntimeError):
        await Analyser(store, None).analyse(document(), PAGES, break_down)
    failed = (await store.get(["d1"]))["d1"]
    assert (failed.status, failed.reason) == (AnalysisStatus.FAILED, UNEXPECTED)


@pytest.mark.slow
async def test_a_cancelled_analysis_can_be_resumed(store: AnalysisStore) -> None:
    begun = asyncio.Event()
    analyser = Analyser(store, None)
    many = [page.model_copy(update={"number": n}) for n, page in enumerate(PAGES * 20, start=1)]
    task = asyncio.create_task(analyser.analyse(document(), many, lambda *_: begun.set()))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await store.get(["d1"]))["d1"].status is AnalysisStatus.RUNNING
    assert (await analyser.analyse(document(), many)).pages_done == 1200


async def test_many_summaries_are_condensed_in_rounds(store: AnalysisStore) -> None:
    class Wordy(Reader):
        def _reply(self, messages: list[BaseMessage], options: dict[str, Any]) -> AIMessage:
            reply = super()._reply(messages, options)
            for note in reply.tool_calls[0]["args"].get("pages", []):
                note["summary"] = f"House {note['page']}. " + "It is a house. " * 60
            return reply

    reader = Wordy()
    analysis = await Analyser(store, reader.chat).analyse(document(), PAGES)
    assert reader.summaries > 3
    first, *_, last = analysis.detailed_summary.splitlines()
    assert first.startswith("pp. 1–")
    assert last.endswith("60: All houses.")
    assert "Made up" not in analysis.detailed_summary


async def test_a_document_without_pages_is_finished_immediately(store: AnalysisStore) -> None:
    for chat in (None, Reader().chat):
        analysis = await Analyser(store, chat).analyse(document(), [])
        assert (analysis.status, analysis.summary) == (AnalysisStatus.DONE, "")


async def test_a_very_long_document_has_one_line_per_group_of_pages(store: AnalysisStore) -> None:
    many = [page.model_copy(update={"number": n}) for n, page in enumerate(PAGES * 14, start=1)]
    analysis = await Analyser(store, None).analyse(document(), many)
    lines = analysis.detailed_summary.splitlines()
    assert len(lines) == 280
    assert lines[1].startswith("pp. 4–6: Contoso Ltd. owns house number")


async def test_an_organization_uses_so_many_tokens_a_day(store: AnalysisStore) -> None:
    reader = Reader()
    await Analyser(store, reader.chat).analyse(document(), PAGES)
    whole, day = reader.calls, [date(2026, 11, 22)]
    reader = Reader()
    limited = Analyser(store, reader.chat, tokens=DailyTokens(1, today=lambda: day[0]))
    analysis = await limited.analyse(document(etag="2"), PAGES)
    assert 0 < reader.calls < whole / 2
    assert analysis.is_done
    assert "The organization had used its tokens for the analysis of that day." in analysis.note
    assert analysis.summary
    made = {page.page: page.method for page in await store.pages(analysis.document_id)}
    assert len(made) == len(PAGES)
    assert {EXTRACTIVE, limited.method} == set(made.values())
    calls = reader.calls
    other = document(etag="3").model_copy(update={"organization_id": "globex"})
    await limited.analyse(other, PAGES)
    assert reader.calls > calls, "another organization is not affected"
    day[0] = date(2026, 11, 23)
    calls = reader.calls
    await limited.analyse(document(etag="4"), PAGES)
    assert reader.calls > calls, "another day is another allowance"
