"""The contract of the turn log, run over every adapter."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import pytest
from pydantic import JsonValue

from devkit import remembered_turns
from devkit.clock import Clock
from devkit.store_pairs import OpenItems, opened_items
from orc.conversations.models import (
    Begun,
    ChatMessage,
    Feedback,
    FeedbackReason,
    Head,
    NewTurn,
    Replayed,
    Retry,
    Started,
    TitleBy,
    Turn,
    TurnChoices,
    TurnContext,
    TurnOutcome,
    TurnStatus,
)
from orc.conversations.search import wanted
from orc.conversations.turn_log import TurnLog
from orc.events import TurnMetadata, TurnResult
from orc_core.errors import (
    Conflict,
    DependencyDown,
    InvalidInput,
    KeyReused,
    NotFound,
    OrcError,
    TurnInFlight,
)
from orc_core.grounding.models import Citation, Rectangle
from orc_core.infra.items import RACING_SECONDS, Items, delete
from orc_core.models import FileRef
from orc_core.names import Owner

pytestmark = pytest.mark.contract("turn log")

Result = TypeVar("Result")

LEASE = 60.0
OWNER = Owner("acme", "ada", "c-1")
STRANGERS = [Owner("umbra", "ada", "c-1"), Owner("acme", "bob", "c-1"), Owner("acme", "ada", "c-2")]
REFS = [FileRef(file_id="file-1", blob_name="a.pdf"), FileRef(file_id="file-2", blob_name="b.pdf")]


OpenLog = Callable[[], Awaitable[TurnLog]]
"""Each call returns a new log over the same store, as another process would have."""


@pytest.fixture
async def open_items(
    adapter: str, request: pytest.FixtureRequest, tmp_path: Path
) -> AsyncIterator[OpenItems]:
    async with opened_items(adapter, request, tmp_path, "conversations") as opened:
        yield opened


@pytest.fixture
async def items(open_items: OpenItems) -> Items:
    return await open_items()


@pytest.fixture
def open_log(open_items: OpenItems, clock: Clock) -> OpenLog:
    async def open_log() -> TurnLog:
        return TurnLog(await open_items(), clock=clock.utc)

    return open_log


@pytest.fixture
async def log(open_log: OpenLog) -> TurnLog:
    return await open_log()


def question(key: str, text: str = "What is covered?", request_hash: str = "h") -> NewTurn:
    contexts = [TurnContext(type="workspace", id="w-1")]
    return NewTurn(key=key, request_hash=request_hash, question=text, blob_names=["a.pdf"], contexts=contexts)


def answer(text: str = "Teeth.", refs: list[FileRef] | None = None, tool: str | None = None) -> TurnOutcome:
    return TurnOutcome(answer=text, result={"answer": text}, uploaded_file_refs=refs, last_mcp_tool_used=tool)


async def begin(log: TurnLog, new: NewTurn, owner: Owner = OWNER, history_limit: int = 12) -> Begun:
    return await in_the_end(lambda: log.begin(owner, new, lease_seconds=LEASE, history_limit=history_limit))


async def in_the_end(write: Callable[[], Awaitable[Result]]) -> Result:
    """Write again if a machine that others keep busy leaves no time for the writes of all at once."""
    while True:
        began = time.monotonic()
        try:
            return await write()
        except DependencyDown as exc:
            if exc.code != "too_many_writers" or time.monotonic() - began < RACING_SECONDS:
                raise


async def begin_new(log: TurnLog, new: NewTurn, **more: Any) -> Started:
    begun = await begin(log, new, **more)
    assert isinstance(begun, Started)
    return begun


async def start(log: TurnLog, key: str, owner: Owner = OWNER) -> Turn:
    return (await begin_new(log, question(key), owner=owner)).turn


async def stored_head(log: TurnLog) -> Head:
    head = await log.head(OWNER)
    assert head is not None
    return head


async def ask(log: TurnLog, key: str, outcome: TurnOutcome | None = None, owner: Owner = OWNER) -> Turn:
    turn = await start(log, key, owner)
    return await in_the_end(lambda: log.commit(owner, turn.turn_id, turn.attempt, outcome or answer()))


async def test_a_question_is_stored_before_it_is_answered(open_log: OpenLog) -> None:
    started = await begin_new(await open_log(), question("k"))
    turn = await (await open_log()).turn(OWNER, "k")
    assert turn == started.turn
    assert turn is not None
    assert (turn.seq, turn.status) == (1, TurnStatus.PENDING)
    assert (turn.question, turn.blob_names) == ("What is covered?", ["a.pdf"])
    assert await (await open_log()).head(OWNER) == started.head


async def test_an_attempt_that_begins_again_gets_the_same_turn(log: TurnLog) -> None:
    await ask(log, "k1")
    new = question("k2")
    started = await begin_new(log, new)
    again = await begin_new(log, new)
    assert (again.turn, again.head) == (started.turn, started.head)
    assert [turn.turn_id for turn in again.history] == ["k1"]
    assert len(await log.turns(OWNER)) == 2


async def test_a_committed_turn_reads_back_whole(open_log: OpenLog, clock: Clock) -> None:
    log = await open_log()
    citation = Citation(
        document_id="d",
        blob_name="a.pdf",
        page=5,
        page_id="d.p5",
        quote="“é”",
        start=1,
        end=4,
        check="quoted",
    )
    result = {"answer": "Teeth.", "n": 1, "share": 0.1, "none": None, "nested": {"b": [1, "é🦷"], "a": {}}}
    outcome = TurnOutcome.model_validate(
        {
            "answer": "Teeth.",
            "result": result,
            "uploaded_file_refs": REFS,
            "last_mcp_tool_used": "document_chat",
            "citations": [citation],
        }
    )
    turn = await start(log, "k")
    clock.advance(3)
    committed = await log.commit(OWNER, "k", turn.attempt, outcome)
    assert await (await open_log()).turn(OWNER, "k") == committed
    assert committed.result == result
    assert list(committed.result) == list(result)
    assert (committed.status, committed.finished_at) == (TurnStatus.COMMITTED, clock.utc())
    message = committed.assistant
    assert message is not None
    assert (message.content, message.citations, message.uploaded_file_refs) == ("Teeth.", [citation], REFS)
    assert message.last_mcp_tool_used == "document_chat"
    assert message.contexts == [TurnContext(type="workspace", id="w-1")]


@pytest.mark.parametrize("said", ["the same", "something else", "nothing"])
async def test_a_result_is_stored_unchanged(log: TurnLog, said: str) -> None:
    citation = Citation(
        document_id="d", blob_name="a.pdf", page=5, page_id="d.p5", quote="é", start=1, end=4, check="quoted"
    )
    result: dict[str, JsonValue] = {"citations": [citation.model_dump(mode="json")], "n": None, "answer": "A"}
    if said == "something else":
        result = {"citations": [], "answer": "B", "content": "C"}
    if said == "nothing":
        result = {}
    outcome = TurnOutcome(answer="A", result=result, citations=[citation])
    assert (await ask(log, "k", outcome)).result == result
    (turn,) = await log.turns(OWNER)
    assert turn.result == result
    assert list(turn.result) == list(result)
    assert turn.assistant is not None
    assert (turn.assistant.content, turn.assistant.citations) == ("A", [citation])


@pytest.mark.slow
async def test_twenty_concurrent_turns_from_several_processes_have_gapless_seq(open_log: OpenLog) -> None:
    logs = [await open_log() for _ in range(4)]
    committed = await asyncio.gather(*(ask(logs[n % 4], f"k{n}", answer(f"a{n}")) for n in range(20)))
    turns = await logs[0].turns(OWNER)
    assert [turn.seq for turn in turns] == list(range(1, 21))
    assert turns == sorted(committed, key=lambda turn: turn.seq)
    assert {turn.turn_id: turn.assistant and turn.assistant.content for turn in turns} == {
        f"k{n}": f"a{n}" for n in range(20)
    }
    head = await stored_head(logs[1])
    assert (head.turn_count, head.version) == (20, 41)


async def test_an_answer_that_is_committed_several_times_at_once_is_stored_once(open_log: OpenLog) -> None:
    logs = [await open_log() for _ in range(3)]
    turn = await start(logs[0], "k")
    commits = (log.commit(OWNER, "k", turn.attempt, answer(f"a{n}")) for n, log in enumerate(logs))
    committed = await asyncio.gather(*commits)
    assert committed == [await logs[0].turn(OWNER, "k")] * 3
    head = await stored_head(logs[0])
    assert (head.turn_count, head.version) == (1, 3)


async def test_a_commit_and_a_failure_at_once_end_the_turn_in_one_way(open_log: OpenLog) -> None:
    logs = [await open_log() for _ in range(2)]
    for n in range(5):
        turn = await start(logs[0], f"k{n}")
        ended = await asyncio.gather(
            logs[0].commit(OWNER, turn.turn_id, turn.attempt, answer()),
            logs[1].fail(OWNER, turn.turn_id, turn.attempt, "late", "Late."),
            return_exceptions=True,
        )
        stored = await logs[0].turn(OWNER, turn.turn_id)
        assert stored is not None
        assert ended[1] == stored
        if stored.status is TurnStatus.COMMITTED:
            assert ended[0] == stored
        else:
            assert isinstance(ended[0], TurnInFlight)


async def test_a_commit_and_a_deletion_at_once_leave_nothing(open_log: OpenLog) -> None:
    logs = [await open_log() for _ in range(2)]
    for n in range(5):
        turn = await start(logs[0], f"k{n}")
        committed, deleted = await asyncio.gather(
            logs[0].commit(OWNER, turn.turn_id, turn.attempt, answer()),
            logs[1].delete(OWNER),
            return_exceptions=True,
        )
        assert isinstance(committed, Turn | NotFound)
        assert deleted is True
        assert await logs[0].head(OWNER) is None
        assert await logs[0].turns(OWNER) == []
        assert (await start(logs[1], "new")).seq == 1
        assert [each.turn_id for each in await logs[0].turns(OWNER)] == ["new"]
        await logs[0].delete(OWNER)


@pytest.mark.parametrize("key", ["a/b?c#d%2F", "~", "..", " ", "é🦷\\'\"", "é" * 128, "k" * 128])
async def test_a_key_may_be_any_text_and_replays_its_answer(log: TurnLog, key: str) -> None:
    committed, head = await ask(log, key), await log.head(OWNER)
    assert await log.turn(OWNER, key) == committed
    for _ in range(2):
        assert await begin(log, question(key)) == Replayed(turn=committed)
    assert (await log.turns(OWNER), await log.head(OWNER)) == ([committed], head)


async def test_the_same_key_at_the_same_time_starts_one_turn(open_log: OpenLog) -> None:
    logs = [await open_log() for _ in range(3)]
    begun = await asyncio.gather(*(begin(log, question("k")) for log in logs), return_exceptions=True)
    assert sorted(type(one).__name__ for one in begun) == ["Started", "TurnInFlight", "TurnInFlight"]
    assert len(await logs[0].turns(OWNER)) == 1


@pytest.mark.parametrize("state", ["pending", "committed", "failed", "expired"])
async def test_a_key_with_another_request_is_refused(log: TurnLog, clock: Clock, state: str) -> None:
    turn = await start(log, "k")
    if state == "committed":
        await log.commit(OWNER, "k", turn.attempt, answer())
    if state == "failed":
        await log.fail(OWNER, "k", turn.attempt, "model_down", "The model did not answer.")
    if state == "expired":
        clock.advance(LEASE)
    before = await log.turns(OWNER)
    with pytest.raises(KeyReused):
        await begin(log, question("k", request_hash="other"))
    assert await log.turns(OWNER) == before


async def test_a_key_means_nothing_in_another_conversation(log: TurnLog) -> None:
    await ask(log, "k")
    for stranger in STRANGERS:
        assert (await start(log, "k", stranger)).seq == 1


async def test_a_turn_is_in_flight_until_its_lease_runs_out(log: TurnLog, clock: Clock) -> None:
    first = await start(log, "k")
    clock.advance(LEASE - 1)
    with pytest.raises(TurnInFlight):
        await begin(log, question("k"))
    clock.advance(1)
    second = await start(log, "k")
    assert (second.turn_id, second.seq, second.status) == ("k", first.seq, TurnStatus.PENDING)
    assert second.attempt != first.attempt
    head = await stored_head(log)
    assert head.turn_count == 1


async def test_concurrent_takeovers_have_one_winner(open_log: OpenLog, clock: Clock) -> None:
    logs = [await open_log() for _ in range(3)]
    await start(logs[0], "k")
    clock.advance(LEASE)
    begun = await asyncio.gather(*(begin(log, question("k")) for log in logs), return_exceptions=True)
    assert sorted(type(one).__name__ for one in begun) == ["Started", "TurnInFlight", "TurnInFlight"]


async def test_a_lease_of_a_clock_that_was_ahead_holds_no_turn(log: TurnLog, clock: Clock) -> None:
    """Its process renews it, or has ended: then the turn can be asked again at once."""
    clock.advance(10 * 24 * 3600)
    turn = (await log.begin(OWNER, question("k"), lease_seconds=LEASE)).turn
    clock.advance(-10 * 24 * 3600)
    read = await log.turn(OWNER, "k")
    assert read is not None
    assert (read.status, read.failure and read.failure.code) == (TurnStatus.FAILED, "interrupted")
    await log.renew(OWNER, "k", turn.attempt, lease_seconds=LEASE)
    renewed = await log.turn(OWNER, "k")
    assert renewed is not None
    assert renewed.status is TurnStatus.PENDING


async def test_a_renewed_turn_stays_in_flight(log: TurnLog, clock: Clock) -> None:
    turn = await start(log, "k")
    clock.advance(LEASE - 1)
    renewed = await log.renew(OWNER, "k", turn.attempt, lease_seconds=LEASE)
    assert renewed.lease_until == clock.utc() + timedelta(seconds=LEASE)
    clock.advance(LEASE - 1)
    with pytest.raises(TurnInFlight):
        await begin(log, question("k"))
    clock.advance(1)
    await start(log, "k")


async def test_a_taken_over_attempt_can_do_nothing_more(log: TurnLog, clock: Clock) -> None:
    old = await start(log, "k")
    clock.advance(LEASE)
    new = await start(log, "k")

    async def old_attempt_is_shut_out() -> None:
        before = await log.turn(OWNER, "k"), await log.head(OWNER)
        for call in (
            log.renew(OWNER, "k", old.attempt, lease_seconds=LEASE),
            log.commit(OWNER, "k", old.attempt, answer("late", REFS)),
            log.fail(OWNER, "k", old.attempt, "late", "Late."),
        ):
            with pytest.raises(TurnInFlight) as caught:
                await call
            assert caught.value.code == "attempt_over"
        assert (await log.turn(OWNER, "k"), await log.head(OWNER)) == before

    await old_attempt_is_shut_out()
    await log.commit(OWNER, "k", new.attempt, answer("in time"))
    await old_attempt_is_shut_out()


async def test_an_attempt_of_a_deleted_conversation_cannot_write_into_its_successor(log: TurnLog) -> None:
    old = await start(log, "k")
    await log.delete(OWNER)
    with pytest.raises(NotFound):
        await log.commit(OWNER, "k", old.attempt, answer())
    await start(log, "k")
    with pytest.raises(TurnInFlight):
        await log.commit(OWNER, "k", old.attempt, answer())


async def test_an_answer_after_the_lease_counts_unless_another_took_over(log: TurnLog, clock: Clock) -> None:
    turn = await start(log, "k")
    clock.advance(LEASE * 10)
    await log.commit(OWNER, "k", turn.attempt, answer())
    assert isinstance(await begin(log, question("k")), Replayed)


async def test_committing_an_attempt_again_changes_nothing(log: TurnLog, clock: Clock) -> None:
    turn = await start(log, "k")
    committed = await log.commit(OWNER, "k", turn.attempt, answer("first"))
    head = await log.head(OWNER)
    clock.advance(1)
    assert await log.commit(OWNER, "k", turn.attempt, answer("second", REFS)) == committed
    assert await log.head(OWNER) == head
    assert await log.fail(OWNER, "k", turn.attempt, "late", "Late.") == committed
    assert await log.turn(OWNER, "k") == committed


async def test_file_refs_are_overwritten_by_documents_and_survive_other_turns(log: TurnLog) -> None:
    async def carried() -> tuple[list[FileRef], str | None]:
        head = await stored_head(log)
        return head.uploaded_file_refs, head.last_mcp_tool_used

    await ask(log, "k1", answer(refs=REFS, tool="document_chat"))
    assert await carried() == (REFS, "document_chat")
    talk = await ask(log, "k2", answer())
    assert await carried() == (REFS, "document_chat")
    assert talk.assistant is not None
    assert talk.assistant.uploaded_file_refs == REFS
    await ask(log, "k3", answer(refs=REFS[1:], tool="get_page"))
    assert await carried() == (REFS[1:], "get_page")
    await ask(log, "k4", answer(refs=[]))
    assert await carried() == ([], "get_page")


async def test_the_first_question_gives_the_title_even_if_it_fails(log: TurnLog) -> None:
    begun = await begin_new(log, question("k1", "  What\nis " + "very " * 30))
    await log.fail(OWNER, "k1", begun.turn.attempt, "model_down", "The model did not answer.")
    await ask(log, "k2")
    head = await stored_head(log)
    # The first 80 characters end within a word.
    assert (head.title, head.title_by) == ("What is " + "very " * 13 + "very…", "words")


async def test_the_first_file_gives_the_title_until_there_is_a_question(log: TurnLog) -> None:
    opened = await log.ensure_conversation(OWNER, "leave.pdf")
    assert (opened.title, opened.title_by) == ("leave.pdf", "file")
    assert (await log.ensure_conversation(OWNER, "other.pdf")).title == "leave.pdf"
    found, _ = await log.conversations(OWNER.organization_id, OWNER.user_id, limit=5, words=wanted("leave"))
    assert [head.conversation_id for head in found] == [OWNER.conversation_id]
    await ask(log, "k1")
    head = await stored_head(log)
    assert head.title_by == "words"
    assert (await log.retitle(OWNER, "Cover of teeth", TitleBy.MODEL)).title_by == "model"


async def test_the_title_of_a_user_stays(log: TurnLog) -> None:
    await ask(log, "k1")
    before = await log.head(OWNER)
    renamed = await log.retitle(OWNER, "Leave")
    assert before is not None
    assert (renamed.title, renamed.title_by, renamed.updated_at) == ("Leave", "user", before.updated_at)
    await ask(log, "k2")
    head = await stored_head(log)
    assert (head.title, head.title_by, head.turn_count) == ("Leave", "user", 2)
    with pytest.raises(NotFound):
        await log.retitle(Owner("acme", "bob", "c-1"), "Mine")
    assert await log.head(Owner("acme", "bob", "c-1")) is None


async def test_the_title_of_a_model_replaces_words_only(log: TurnLog) -> None:
    await ask(log, "k1")
    made = await log.retitle(OWNER, "Cover of teeth", TitleBy.MODEL)
    assert (made.title, made.title_by) == ("Cover of teeth", "model")
    assert (await log.retitle(OWNER, "Another", TitleBy.MODEL)).title == "Cover of teeth"
    await log.retitle(OWNER, "Mine")
    late = await log.retitle(OWNER, "Too late", TitleBy.MODEL)
    assert (late, late.title) == (await log.head(OWNER), "Mine")


async def test_an_edited_question_gives_the_title_instead_of_the_one_that_it_replaces(log: TurnLog) -> None:
    def edited(replaced: str, key: str, words: str) -> NewTurn:
        return question(key, words).model_copy(update={"replaces": replaced})

    async def title() -> tuple[str | None, str | None]:
        head = await stored_head(log)
        return head.title, head.title_by

    async def replace(replaced: str, key: str, words: str) -> tuple[str | None, str | None]:
        begun = await begin(log, edited(replaced, key, words))
        await log.commit(OWNER, key, begun.turn.attempt, answer())
        return await title()

    await begin_and_answer(log, "k1", "How many days of leaf?")
    assert await replace("k1", "k2", "How many days of leave?") == ("How many days of leave?", "words")
    await log.retitle(OWNER, "Days of leave", TitleBy.MODEL)
    # The same question again keeps the title of the model, another one does not.
    assert await replace("k2", "k3", "How many days of leave?") == ("Days of leave", "model")
    assert await replace("k3", "k4", "Who approves travel?") == ("Who approves travel?", "words")
    await log.retitle(OWNER, "Mine")
    assert await replace("k4", "k5", "Who approves it?") == ("Mine", "user")


async def test_a_later_question_that_is_edited_leaves_the_title(log: TurnLog) -> None:
    await begin_and_answer(log, "k1", "How many days of leave?")
    await begin_and_answer(log, "k2", "Who approves it?")
    later = question("k3", "Who pays it?").model_copy(update={"replaces": "k2"})
    begun = await begin_new(log, later)
    head = begun.head
    assert (head.title, head.title_by) == ("How many days of leave?", "words")


async def test_the_title_of_a_user_wins_against_that_of_a_model_at_the_same_time(log: TurnLog) -> None:
    await ask(log, "k1")
    for number in range(5):
        made = [log.retitle(OWNER, f"Model's {number}", TitleBy.MODEL) for _ in range(2)]
        await asyncio.gather(*made[:1], log.retitle(OWNER, f"User's {number}"), *made[1:])
        head = await stored_head(log)
        assert (head.title, head.title_by) == (f"User's {number}", "user")


async def test_conversations_are_found_by_title_and_questions(log: TurnLog) -> None:
    def of(name: str, user: str = "ada") -> Owner:
        return Owner("acme", user, name)

    await begin(log, question("k1", "How many days of leave does a new employee get?"), of("leave"))
    await begin(log, question("k2", "And who approves travel expenses?"), of("leave"))
    await begin(log, question("k1", "Wie viele Urlaubstage gibt es?"), of("german"))
    await begin(log, question("k1", "100% of _this_ is 'quoted'"), of("signs"))
    await begin(log, question("k1", "Days of leave"), of("other", "bob"))
    await log.ensure_conversation(of("empty"))
    await log.retitle(of("signs"), "Budget 2024")

    async def found(query: str) -> set[str]:
        heads, _ = await log.conversations("acme", "ada", limit=10, words=wanted(query))
        return {head.conversation_id for head in heads}

    assert await found("employees leave") == {"leave"}
    assert await found("approv") == await found("EXPENSE day") == {"leave"}
    assert await found("Urlaubstag") == await found("urlaubs") == {"german"}
    assert await found("budget") == await found("100") == {"signs"}
    assert await found("day budget") == await found("lea day") == await found("c-1") == set()
    assert await found("  ") == {"leave", "german", "signs", "empty"}


async def test_conversations_are_found_by_an_answer_and_the_files_that_it_cites(log: TurnLog) -> None:
    said = 'After ten years there is a sabbatical. [Page 5 of Document "handbook.pdf"]'
    await remembered_turns.ask(log, "What do old hands get?", said, Owner("acme", "ada", "c-1"))
    await remembered_turns.ask(log, "Thank you", owner=Owner("acme", "ada", "c-2"))
    await remembered_turns.ask(log, "What do old hands get?", said, Owner("acme", "bob", "c-3"))
    for query, found in (
        ("sabbaticals", {"c-1"}),
        ("years sabb", {"c-1"}),
        ("handbook", {"c-1"}),
        ("hands years", {"c-1"}),
        ("sabbatical ferry", set()),
    ):
        words = wanted(query)
        assert (await log.said("acme", "ada", words)).keys() == found, query
        heads, _ = await log.conversations("acme", "ada", limit=5, words=words, among=list(found))
        assert {head.conversation_id for head in heads} == found
    [(_, passage)] = (await log.said("acme", "ada", wanted("sabbatical"))).values()
    assert passage.startswith("After ten years there is a sabbatical.")


async def test_the_passage_of_a_conversation_is_of_its_latest_turn_with_the_words(
    log: TurnLog, clock: Clock
) -> None:
    turns = dict[str, str]()
    for key, text in (("b", "First a ferry."), ("a", "Then a ferry."), ("c", "Then a quay.")):
        clock.advance(1)
        begun = await begin_new(log, question(key, text), owner=Owner("acme", "ada", "c-1"))
        turns[key] = begun.turn.turn_id
    found = {"c-1": (turns["a"], "Then a ferry.")}
    assert await log.said("acme", "ada", wanted("ferry")) == found


async def test_pinned_conversations_are_listed_first(log: TurnLog, clock: Clock) -> None:
    def of(number: int) -> Owner:
        return Owner("acme", "ada", f"c-{number}")

    for number in range(5):
        clock.advance(1)
        await log.ensure_conversation(of(number))
    for number in (0, 2):
        assert (await log.pin(of(number), True)).is_pinned
    shown, cursor = await log.conversations("acme", "ada", limit=3)
    rest, end = await log.conversations("acme", "ada", limit=3, cursor=cursor)
    assert [head.conversation_id for head in (*shown, *rest)] == ["c-2", "c-0", "c-4", "c-3", "c-1"]
    assert end is None
    later = clock.utc() + timedelta(seconds=1)
    assert len(await log.unused_since(later)) == 5, "pinned ones are old, too"
    assert await log.unused_since(clock.utc() - timedelta(seconds=9)) == []
    await log.pin(of(2), False)
    shown, _ = await log.conversations("acme", "ada", limit=3)
    assert [head.conversation_id for head in shown] == ["c-0", "c-4", "c-3"]
    with pytest.raises(NotFound):
        await log.pin(of(9), True)


async def test_found_conversations_come_in_pages(log: TurnLog, clock: Clock) -> None:
    for number in range(5):
        clock.advance(1)
        text = "What is covered?" if number % 2 == 0 else "What else?"
        await begin(log, question("k", text), Owner("acme", "ada", f"c-{number}"))
    shown, cursor = await log.conversations("acme", "ada", limit=2, words=wanted("cover"))
    rest, end = await log.conversations("acme", "ada", limit=2, cursor=cursor, words=wanted("cover"))
    assert [head.conversation_id for head in (*shown, *rest)] == ["c-4", "c-2", "c-0"]
    assert end is None


async def test_a_title_and_a_turn_at_the_same_time_lose_nothing(log: TurnLog) -> None:
    await ask(log, "k1")
    await asyncio.gather(ask(log, "k2"), *(log.retitle(OWNER, f"Title {number}") for number in range(5)))
    head = await stored_head(log)
    assert (head.turn_count, head.title_by) == (2, "user")


async def test_a_failed_turn_is_seen_keeps_its_seq_and_can_be_asked_again(log: TurnLog) -> None:
    await ask(log, "k1")
    turn = await start(log, "k2")
    await log.fail(OWNER, "k2", turn.attempt, "model_down", "The model did not answer.")
    await ask(log, "k3")
    turns = await log.turns(OWNER)
    assert [(t.seq, t.status.value) for t in turns] == [(1, "committed"), (2, "failed"), (3, "committed")]
    assert turns[1].failure is not None
    assert turns[1].failure.model_dump() == {"code": "model_down", "message": "The model did not answer."}
    with pytest.raises(TurnInFlight):
        await log.commit(OWNER, "k2", turn.attempt, answer())
    with pytest.raises(TurnInFlight):
        await log.renew(OWNER, "k2", turn.attempt, lease_seconds=LEASE)
    again = await ask(log, "k2")
    assert (again.seq, again.failure) == (2, None)


async def test_a_stop_is_seen_by_the_process_that_answers(open_log: OpenLog) -> None:
    here, there = await open_log(), await open_log()
    turn = await start(here, "k")
    asked = await there.ask_to_stop(OWNER, "k")
    assert (asked.status, asked.stop_asked) == (TurnStatus.PENDING, True)
    renewed = await here.renew(OWNER, "k", turn.attempt, lease_seconds=LEASE)
    assert renewed.stop_asked
    part = answer("Tee").model_copy(update={"stopped": True})
    stopped = await here.commit(OWNER, "k", turn.attempt, part)
    assert await there.turn(OWNER, "k") == stopped
    assert stopped.assistant is not None
    assert (stopped.status, stopped.assistant.content) == (TurnStatus.STOPPED, "Tee")
    assert await begin(there, question("k")) == Replayed(turn=stopped)
    assert await there.ask_to_stop(OWNER, "k") == stopped
    assert await here.commit(OWNER, "k", turn.attempt, answer("late")) == stopped
    begun = await begin_new(there, question("k2"))
    assert begun.history == [stopped]


async def test_a_turn_that_has_ended_is_not_stopped(log: TurnLog, clock: Clock) -> None:
    committed = await ask(log, "k1")
    assert await log.ask_to_stop(OWNER, "k1") == committed
    await start(log, "k2")
    clock.advance(LEASE)
    interrupted = await log.ask_to_stop(OWNER, "k2")
    assert (interrupted.status, interrupted.stop_asked) == (TurnStatus.FAILED, False)
    again = await start(log, "k2")
    await log.ask_to_stop(OWNER, "k2")
    await log.fail(OWNER, "k2", again.attempt, "model_down", "The model did not answer.")
    assert not (await start(log, "k2")).stop_asked
    for owner, key in ((OWNER, "k3"), *((stranger, "k1") for stranger in STRANGERS)):
        with pytest.raises(NotFound):
            await log.ask_to_stop(owner, key)


def again(key: str, retry_key: str | None = None) -> NewTurn:
    return question(key, request_hash="any").model_copy(update={"retry": Retry(key=retry_key)})


@pytest.mark.parametrize("end", ["failed", "stopped", "expired"])
async def test_a_turn_without_a_whole_answer_is_retried_in_its_place(
    log: TurnLog, clock: Clock, end: str
) -> None:
    choices = TurnChoices(tools={"web_search": False}, model="m", feature_flags={"lazy": True})
    said = [ChatMessage(role="user", content="Hello.")]
    new = question("k").model_copy(update={"choices": choices, "sent_history": said, "recalls": False})
    first = await log.begin(OWNER, new, lease_seconds=LEASE)
    await ask(log, "k2")
    if end == "failed":
        await log.fail(OWNER, "k", first.turn.attempt, "model_down", "The model did not answer.")
    elif end == "stopped":
        stopped = answer("Tee").model_copy(update={"stopped": True})
        await log.commit(OWNER, "k", first.turn.attempt, stopped)
    else:
        clock.advance(LEASE)
    retried = await begin_new(log, again("k", "retry-1"))
    turn = retried.turn
    assert (turn.seq, turn.status, turn.assistant, turn.failure) == (1, TurnStatus.PENDING, None, None)
    assert (turn.choices, turn.sent_history, turn.recalls) == (choices, said, False)
    assert retried.history == []
    with pytest.raises(TurnInFlight):
        await begin(log, again("k", "retry-1"))
    committed = await log.commit(OWNER, "k", turn.attempt, answer())
    assert committed.sent_history is None
    assert await begin(log, again("k", "retry-1")) == Replayed(turn=committed)
    for key in (None, "retry-2"):
        with pytest.raises(Conflict) as refused:
            await begin(log, again("k", key))
        assert refused.value.code == "turn_not_failed"
    with pytest.raises(NotFound):
        await begin(log, again("unknown"))
    assert [turn.seq for turn in await log.turns(OWNER)] == [1, 2]


async def stopped_turn(log: TurnLog, text: str = "Tee") -> Turn:
    begun = await begin_new(log, question("k"))
    part = answer(text).model_copy(update={"stopped": True})
    await log.commit(OWNER, "k", begun.turn.attempt, part)
    turn = await log.rate(OWNER, "k", Feedback(rating="up", given_at=datetime(2026, 1, 1, tzinfo=UTC)))
    assert turn.status is TurnStatus.STOPPED
    return turn


@pytest.mark.parametrize("end", ["failed", "expired", "stopped"])
async def test_a_stopped_answer_is_kept_until_a_retry_has_stored_another(
    log: TurnLog, clock: Clock, end: str
) -> None:
    stopped = await stopped_turn(log)
    retried = await begin_new(log, again("k", "retry-1"))
    assert retried.turn.attempt_number == 2
    attempt = retried.turn.attempt
    if end == "failed":
        await log.fail(OWNER, "k", attempt, "model_down", "The model did not answer.")
        with pytest.raises(TurnInFlight):
            await log.commit(OWNER, "k", attempt, answer("late"))
    elif end == "stopped":
        nothing = answer("  ").model_copy(update={"stopped": True})
        assert (await log.commit(OWNER, "k", attempt, nothing)).assistant == stopped.assistant
    else:
        clock.advance(LEASE)
    turn = await log.turn(OWNER, "k")
    assert turn is not None
    kept = {"assistant", "result", "feedback", "status", "finished_at"}
    assert turn.model_dump(include=kept) == stopped.model_dump(include=kept)
    reason = {"failed": "model_down", "expired": "interrupted"}.get(end)
    assert (turn.failure and turn.failure.code) == reason
    assert (await log.rate(OWNER, "k", None)).status is TurnStatus.STOPPED
    # A retry that stored nothing is not the one that led to this answer; one that was stopped is.
    repeated = await begin(log, again("k", "retry-1"))
    assert isinstance(repeated, Replayed if end == "stopped" else Started)
    last = await begin(log, again("k", "retry-2")) if end == "stopped" else repeated
    assert isinstance(last, Started)
    committed = await log.commit(OWNER, "k", last.turn.attempt, answer("Tee at five."))
    assert (committed.status, committed.earlier) == (TurnStatus.COMMITTED, None)
    assert committed.failure is None


async def test_an_expired_retry_of_a_stopped_turn_gives_its_request_the_stopped_answer(
    log: TurnLog, clock: Clock
) -> None:
    stopped = await stopped_turn(log)
    await begin(log, again("k"))
    clock.advance(LEASE)
    replayed = await begin(log, question("k"))
    assert isinstance(replayed, Replayed)
    assert replayed.turn.assistant == stopped.assistant


async def test_an_interrupted_retry_leaves_the_stopped_turn_in_the_history(
    log: TurnLog, clock: Clock
) -> None:
    first, stopped = await ask(log, "k1"), await stopped_turn(log)

    async def history(new: NewTurn) -> list[Turn]:
        begun = await begin_new(log, new)
        return begun.history

    assert await history(question("k2")) == [first, stopped]
    await begin(log, again("k"))
    assert await history(question("k3")) == [first]
    clock.advance(LEASE)
    interrupted = await log.turn(OWNER, "k")
    assert interrupted is not None
    assert (interrupted.status, interrupted.assistant) == (TurnStatus.STOPPED, stopped.assistant)
    assert await history(question("k4")) == [first, interrupted]
    assert await history(version_of("k", "k5")) == [first]


async def test_the_head_names_the_turns_that_were_begun_again(log: TurnLog) -> None:
    for key in ("k1", "k2"):
        turn = await start(log, key)
        await log.fail(OWNER, key, turn.attempt, "model_down", "The model did not answer.")
    head = await stored_head(log)
    for key, retried in (("k1", [1]), ("k2", [1, 2]), ("k1", [2, 1])):
        begun = await begin_new(log, again(key))
        now = await stored_head(log)
        assert (begun.head.retried, now.retried) == (retried, retried)
        assert now.version > head.version
        await log.fail(OWNER, key, begun.turn.attempt, "model_down", "The model did not answer.")
        head = now


async def begin_and_answer(log: TurnLog, key: str, words: str) -> None:
    begun = await begin(log, question(key, words))
    await log.commit(OWNER, key, begun.turn.attempt, answer())


def version_of(replaced: str, key: str) -> NewTurn:
    return question(key).model_copy(update={"replaces": replaced})


async def test_a_new_version_takes_the_place_of_the_last_one_in_the_history(log: TurnLog) -> None:
    await ask(log, "k1")
    await ask(log, "k2")
    begun = await begin_new(log, version_of("k1", "k3"))
    assert ([turn.turn_id for turn in begun.history], begun.head.replaced) == (["k2"], [1])
    await log.commit(OWNER, "k3", begun.turn.attempt, answer())
    # The first version names its chain too.
    begun = await begin_new(log, version_of("k1", "k4"))
    assert ([turn.turn_id for turn in begun.history], begun.head.replaced) == (["k2"], [1, 3])
    chain = {turn.turn_id: (turn.replaces, turn.replaced_by) for turn in await log.turns(OWNER)}
    expected = {"k1": (None, "k3"), "k2": (None, None), "k3": ("k1", "k4"), "k4": ("k3", None)}
    assert chain == expected
    assert [turn.place for turn in await log.turns(OWNER)] == [None, None, 1, 1]
    with pytest.raises(TurnInFlight):
        await begin(log, version_of("k1", "k4"))
    await log.fail(OWNER, "k4", begun.turn.attempt, "model_down", "The model did not answer.")
    retried = await begin(log, again("k4"))
    assert (retried.turn.replaces, len(await log.turns(OWNER))) == ("k3", 4)


async def test_what_is_not_there_cannot_be_replaced_and_a_replaced_turn_not_retried(log: TurnLog) -> None:
    turn = await start(log, "k1")
    await log.fail(OWNER, "k1", turn.attempt, "model_down", "The model did not answer.")
    await start_version(log, "k1", "k2")
    with pytest.raises(Conflict) as refused:
        await begin(log, again("k1"))
    assert refused.value.code == "turn_replaced"
    for owner, replaced in ((OWNER, "k3"), (OWNER, "unknown"), *((each, "k1") for each in STRANGERS)):
        with pytest.raises(NotFound):
            await begin(log, version_of(replaced, "k3"), owner)
        assert await log.turn(owner, "k3") is None


async def start_version(log: TurnLog, replaced: str, key: str) -> Turn:
    begun = await begin_new(log, version_of(replaced, key))
    return begun.turn


async def test_versions_that_are_begun_at_the_same_time_are_one_chain(open_log: OpenLog) -> None:
    logs = [await open_log() for _ in range(3)]
    await ask(logs[0], "first")
    keys = ["a", "b", "c"]

    async def replace(log: TurnLog, key: str) -> None:
        turn = await start_version(log, "first", key)
        await log.commit(OWNER, key, turn.attempt, answer())

    await asyncio.gather(*(replace(log, key) for log, key in zip(logs, keys, strict=True)))
    turns = {turn.turn_id: turn for turn in await logs[0].turns(OWNER)}
    chain, at = ["first"], turns["first"]
    while at.replaced_by is not None:
        assert turns[at.replaced_by].replaces == at.turn_id
        at = turns[at.replaced_by]
        chain.append(at.turn_id)
    assert sorted(chain) == sorted(["first", *keys])
    last = await begin_new(logs[0], question("next"))
    assert [turn.turn_id for turn in last.history] == [chain[-1]]
    assert last.head.replaced == [1, 2, 3]


async def test_an_interrupted_turn_is_read_as_failed(open_log: OpenLog, clock: Clock) -> None:
    await start(await open_log(), "k")
    clock.advance(LEASE)
    log = await open_log()
    turns = await log.turns(OWNER)
    assert await log.turn(OWNER, "k") == turns[0]
    assert turns[0].status is TurnStatus.FAILED
    assert turns[0].failure is not None
    assert (turns[0].failure.code, "ask again" in turns[0].failure.message) == ("interrupted", True)


async def test_history_is_the_newest_committed_turns_before_this_one(log: TurnLog) -> None:
    for key in ("k1", "k2", "k3"):
        await ask(log, key)
    failed = await start(log, "k4")
    await log.fail(OWNER, "k4", failed.attempt, "model_down", "The model did not answer.")
    await start(log, "k5")
    await ask(log, "k6")

    async def history(key: str, limit: int) -> list[str]:
        begun = await begin_new(log, question(key), history_limit=limit)
        return [turn.turn_id for turn in begun.history]

    assert await history("k7", 2) == ["k3", "k6"]
    assert await history("k8", 12) == ["k1", "k2", "k3", "k6"]
    assert await history("k9", 0) == []
    assert await history("k4", 12) == ["k1", "k2", "k3"]


async def test_turns_are_paged_by_seq(log: TurnLog) -> None:
    for n in range(1, 8):
        await ask(log, f"k{n}")
    pages = [await log.turns(OWNER, after_seq=after, limit=3) for after in (0, 3, 6, 7)]
    assert [[turn.seq for turn in page] for page in pages] == [[1, 2, 3], [4, 5, 6], [7], []]


async def test_the_newest_turns_come_first_in_pages(log: TurnLog, clock: Clock) -> None:
    assert await log.page(OWNER, limit=3) is None
    await log.ensure_conversation(OWNER)
    empty = await log.page(OWNER, limit=3)
    assert empty is not None
    assert empty.turns == []
    for n in range(1, 7):
        await ask(log, f"k{n}")
    await start(log, "k7")
    clock.advance(LEASE)
    pages: list[list[tuple[int, str]]] = []
    before: int | None = None
    while (page := await log.page(OWNER, limit=3, before_seq=before)) and page.turns:
        assert page.head == await log.head(OWNER)
        pages.append([(turn.seq, turn.status.value) for turn in page.turns])
        before = page.turns[0].seq
    last = [(5, "committed"), (6, "committed"), (7, "failed")]
    assert pages == [last, [(n, "committed") for n in (2, 3, 4)], [(1, "committed")]]
    for stranger in STRANGERS:
        assert await log.page(stranger, limit=3) is None


async def test_feedback_is_kept_until_it_is_taken_back_or_the_turn_retried(
    log: TurnLog, clock: Clock
) -> None:
    feedback = Feedback(rating="down", reason=FeedbackReason.WRONG, comment="No.", given_at=clock.utc())
    turn = await start(log, "k")
    with pytest.raises(Conflict) as refused:
        await log.rate(OWNER, "k", feedback)
    assert refused.value.code == "turn_not_answered"
    await log.commit(OWNER, "k", turn.attempt, answer().model_copy(update={"stopped": True}))
    rated = await log.rate(OWNER, "k", feedback)
    assert (rated.feedback, await log.turn(OWNER, "k")) == (feedback, rated)
    assert (await log.rate(OWNER, "k", None)).feedback is None
    await log.rate(OWNER, "k", feedback)
    assert (await begin(log, again("k"))).turn.feedback is None
    for owner, key in ((OWNER, "k2"), *((stranger, "k") for stranger in STRANGERS)):
        with pytest.raises(NotFound):
            await log.rate(owner, key, feedback)


async def test_conversations_are_paged_from_the_latest_used(log: TurnLog, clock: Clock) -> None:
    for n in range(7):
        await log.ensure_conversation(Owner("acme", "ada", f"c-{n}"))
        clock.advance(n % 2)
    await ask(log, "k", owner=Owner("acme", "ada", "c-0"))
    pages: list[list[str]] = []
    cursor: str | None = None
    while not pages or cursor:
        heads, cursor = await log.conversations("acme", "ada", limit=3, cursor=cursor)
        pages.append([head.conversation_id for head in heads])
        clock.advance(1)
        await log.ensure_conversation(Owner("acme", "ada", f"new-{len(pages)}"))
    assert pages == [["c-6", "c-0", "c-5"], ["c-4", "c-3", "c-2"], ["c-1"]]
    heads, cursor = await log.conversations("acme", "ada", limit=10)
    assert [head.conversation_id for head in heads][:3] == ["new-3", "new-2", "new-1"]
    assert cursor is None


@pytest.mark.parametrize("cursor", ["", "nonsense", "NQ==", "WzEsMl0=", "é", "WyJhIiwgIlx1ZDgwMCJd"])
async def test_a_made_up_cursor_is_refused(log: TurnLog, cursor: str) -> None:
    with pytest.raises(InvalidInput):
        await log.conversations("acme", "ada", limit=3, cursor=cursor)


async def test_an_upload_makes_a_conversation_once(log: TurnLog) -> None:
    head = await log.ensure_conversation(OWNER)
    assert (head.turn_count, head.title, head.owner) == (0, None, OWNER)
    await ask(log, "k")
    assert await log.ensure_conversation(OWNER) == await log.head(OWNER)


async def test_an_upload_is_a_use_of_the_conversation(log: TurnLog, clock: Clock) -> None:
    await log.ensure_conversation(OWNER, "a.pdf")
    clock.advance(60)
    end = clock.utc()
    assert await log.unused_since(end) == [OWNER]
    used = await log.ensure_conversation(OWNER, "b.pdf")
    assert (used.title, used.updated_at >= end, await log.unused_since(end)) == ("a.pdf", True, [])


@pytest.mark.parametrize("stranger", STRANGERS, ids=str)
async def test_another_owner_cannot_access_a_conversation(log: TurnLog, stranger: Owner) -> None:
    turn = await start(log, "k")
    mine = await log.turns(OWNER), await log.head(OWNER)
    assert await log.head(stranger) is None
    assert await log.turn(stranger, "k") is None
    assert await log.turns(stranger) == []
    assert await log.delete(stranger) is False
    calls: list[Awaitable[object]] = [
        log.renew(stranger, "k", turn.attempt, lease_seconds=LEASE),
        log.commit(stranger, "k", turn.attempt, answer()),
        log.fail(stranger, "k", turn.attempt, "x", "X."),
    ]
    refusals = await asyncio.gather(*calls, return_exceptions=True)
    assert [type(refusal) for refusal in refusals] == [NotFound] * 3
    heads, _ = await log.conversations(stranger.organization_id, stranger.user_id, limit=10)
    same_user = (stranger.organization_id, stranger.user_id) == ("acme", "ada")
    assert [head.owner for head in heads] == ([OWNER] if same_user else [])
    assert (await log.turns(OWNER), await log.head(OWNER)) == mine


@pytest.mark.parametrize("stranger", STRANGERS, ids=str)
async def test_the_same_id_of_two_owners_is_two_conversations(log: TurnLog, stranger: Owner) -> None:
    """A stranger's first question begins exactly as in a conversation that does not exist."""
    await ask(log, "k")
    mine = await log.turns(OWNER), await log.head(OWNER)
    nowhere = Owner(stranger.organization_id, stranger.user_id, "nowhere")

    async def begun(owner: Owner) -> dict[str, object]:
        started = await log.begin(owner, question("k"), lease_seconds=LEASE)
        assert isinstance(started, Started)
        assert started.head.owner == owner
        return started.model_dump(
            exclude={"turn": {"attempt", "conversation_id"}, "head": {"conversation_id"}}
        )

    assert await begun(stranger) == await begun(nowhere)
    assert (await log.turns(OWNER), await log.head(OWNER)) == mine


async def test_delete_takes_the_turns_along_and_nothing_else(log: TurnLog) -> None:
    for owner in (OWNER, *STRANGERS):
        await ask(log, "k", owner=owner)
    assert await log.delete(OWNER) is True
    assert await log.delete(OWNER) is False
    assert await log.head(OWNER) is None
    assert await log.turns(OWNER) == []
    assert await log.turn(OWNER, "k") is None
    assert [len(await log.turns(stranger)) for stranger in STRANGERS] == [1, 1, 1]
    assert (await start(log, "k")).seq == 1


async def test_ping_answers(log: TurnLog) -> None:
    await log.ping()


async def test_a_conversation_keeps_its_home_and_its_contexts(open_log: OpenLog) -> None:
    log, here = await open_log(), TurnContext(type="workspace", id="w-1", name="Quays")
    for key, home in (("k1", "w-1"), ("k2", "w-2")):
        await begin(log, question(key).model_copy(update={"used": [here], "home": home}))
    turn = await log.turn(OWNER, "k1")
    assert turn is not None
    await log.commit(OWNER, "k1", turn.attempt, answer().model_copy(update={"shown": [here]}))
    head = await stored_head(await open_log())
    assert head.home == "w-1"
    assert [(each.context_id, each.last_seq, each.shown) for each in head.contexts] == [("w-1", 2, [(1, 1)])]
    expected: dict[str | None, list[Head]] = {"w-1": [head], "w-2": [], None: [head]}
    for opened_in, found in expected.items():
        assert (await log.conversations("acme", "ada", limit=9, home=opened_in))[0] == found
    named = Owner("acme", "ada", "2f0d8f5e-6f0e-4f5a-9d5f-0b1f8f6b2a11")
    below = TurnContext(type="usecase", id="w-1-3", name="Piers")
    await begin(log, question("k3").model_copy(update={"used": [below]}), named)
    asked_about = {"w-1": OWNER.conversation_id, "w-1-3": named.conversation_id, "w-2": None, "w-": None}
    for about, conversation in asked_about.items():
        heads = (await log.conversations("acme", "ada", limit=9, about=about))[0]
        assert [each.conversation_id for each in heads] == [conversation] * (conversation is not None)


def large_outcome() -> TurnOutcome:
    """An answer of 600 words with twenty citations, each of three lines on its page."""
    line = Rectangle(left=0.1176470588235294, top=0.3434343434343434, right=0.8823529411764706, bottom=0.36)
    citations = [
        Citation(
            document_id="6f0d6a4e-5d3c-4c39-9a52-0d0f4f2a7c11",
            blob_name=f"annual-report-of-the-company-2024-part-{n}.pdf",
            page=n + 1,
            page_id=f"6f0d6a4e-5d3c-4c39-9a52-0d0f4f2a7c11.p{n + 1}",
            quote="The insurer pays for the treatment of teeth up to the amount agreed. " * 4,
            start=1000,
            end=1280,
            check="quoted",
            rectangles=[line] * 3,
        )
        for n in range(20)
    ]
    refs = [FileRef(file_id=f"assistant-{n}", blob_name=f"{n}.pdf") for n in range(10)]
    result = TurnResult(
        conversation_id="c-1",
        turn_id="k",
        answer="The insurer pays for teeth. " * 120,
        citations=citations,
        uploaded_file_refs=refs,
        metadata=TurnMetadata(trace_id="t"),
    )
    return TurnOutcome(
        answer=result.answer,
        result=result.model_dump(mode="json"),
        uploaded_file_refs=refs,
        citations=citations,
    )


async def test_a_turn_with_twenty_citations_stores_them_once_and_stays_small(
    items: Items, log: TurnLog
) -> None:
    outcome = large_outcome()
    committed = await ask(log, "k", outcome)
    assert committed.result == outcome.result
    assert await log.turn(OWNER, "k") == committed
    text = json.dumps(await items.query(OWNER.key))
    assert text.count("annual-report-of-the-company-2024-part-7.pdf") == 1
    assert len(text) < 30_000


async def test_leftovers_of_an_interrupted_deletion_are_invisible(items: Items, log: TurnLog) -> None:
    old = await start(log, "k")
    await ask(log, "k2")
    await items.write(OWNER.key, delete("head"))

    async def nothing_is_visible() -> None:
        assert await log.head(OWNER) is None
        assert await log.turns(OWNER) == []
        assert await log.turn(OWNER, "k2") is None
        for call in (
            log.renew(OWNER, "k", old.attempt, lease_seconds=LEASE),
            log.commit(OWNER, "k", old.attempt, TurnOutcome(answer="late", result={})),
            log.fail(OWNER, "k", old.attempt, "x", "X."),
        ):
            with pytest.raises(NotFound):
                await call

    await nothing_is_visible()
    assert len(await items.query(OWNER.key)) == 2
    assert await log.delete(OWNER) is False
    assert await items.query(OWNER.key) == []
    await nothing_is_visible()


async def test_a_new_conversation_of_the_same_id_does_not_see_leftovers(items: Items, log: TurnLog) -> None:
    old = await start(log, "k")
    await ask(log, "k2", TurnOutcome(answer="A forgotten ferry.", result={}))
    assert await log.said("acme", "ada", wanted("ferry")) != {}
    await items.write(OWNER.key, delete("head"))
    begun = await begin_new(log, question("k"))
    assert await log.said("acme", "ada", wanted("ferry")) == {}
    assert (begun.turn.seq, begun.history) == (1, [])
    with pytest.raises(TurnInFlight):
        await log.commit(OWNER, "k", old.attempt, TurnOutcome(answer="late", result={}))
    await log.commit(OWNER, "k", begun.turn.attempt, TurnOutcome(answer="in time", result={}))
    assert isinstance(await log.begin(OWNER, question("k"), lease_seconds=LEASE), Replayed)
    await ask(log, "k2")
    third = await begin_new(log, question("k3"))
    assert [turn.seq for turn in third.history] == [1, 2]
    assert [turn.turn_id for turn in await log.turns(OWNER)] == ["k", "k2", "k3"]
    assert await log.delete(OWNER) is True
    assert await items.query(OWNER.key) == []


@pytest.mark.slow
async def test_questions_during_deletions_are_stored_completely_or_refused(
    open_log: OpenLog, items: Items
) -> None:
    logs = [await open_log() for _ in range(3)]

    async def keep_asking(log: TurnLog, name: str) -> None:
        for n in range(15):
            try:
                await ask(log, f"{name}{n}")
            except OrcError as exc:
                assert isinstance(exc, NotFound), exc

    async def keep_deleting() -> None:
        for _ in range(8):
            await asyncio.sleep(0.02)
            await logs[2].delete(OWNER)

    await asyncio.gather(keep_asking(logs[0], "a"), keep_asking(logs[1], "b"), keep_deleting())
    await ask(logs[0], "last")
    turns, head = await logs[1].turns(OWNER), await logs[1].head(OWNER)
    assert head is not None
    assert [turn.seq for turn in turns] == list(range(1, head.turn_count + 1))
    await logs[0].delete(OWNER)
    assert await items.query(OWNER.key) == []


async def test_turns_do_not_expire_by_themselves(log: TurnLog, items: Items) -> None:
    await ask(log, "k")
    assert all("ttl" not in item for item in await items.query(OWNER.key))
