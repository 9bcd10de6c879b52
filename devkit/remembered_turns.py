"""Turns of a conversation and a memory service, for the tests of memory."""

import uuid
from datetime import UTC, datetime
from typing import Any

from devkit.fakes import WordCounter
from devkit.store_pairs import items_here
from orc.conversations.models import Head, Message, NewTurn, Started, Turn, TurnOutcome, TurnStatus
from orc.conversations.turn_log import TurnLog
from orc.memory.recall import Selection
from orc.memory.service import READ_SECONDS, MemoryService, MemoryStore
from orc.memory.summary import Summarizer
from orc.settings import MemorySettings
from orc_core.grounding.closest import NOT_FOUND_ANSWER
from orc_core.grounding.models import Citation
from orc_core.infra.sqlite import Database
from orc_core.llm.tokens import TokenCounter
from orc_core.names import Owner

OWNER = Owner("acme", "ada", "c-1")
BEGUN = datetime(2025, 1, 1, tzinfo=UTC)
CITED = 'It is three months. [Page 5 of Document "handbook.pdf"]'
NOTED = "Thank you, that is good to know."


def citation(page: int = 5, *, verified: bool = True) -> Citation:
    return Citation(
        document_id="d",
        blob_name="handbook.pdf",
        page=page,
        page_id="p",
        quote="q",
        start=0,
        end=1,
        check="quoted" if verified else "reworded",
    )


def answered(seq: int, question: str, answer: str = NOTED) -> Turn:
    """An answered turn; an answer that shows citations has them."""
    is_doubted = "not verified" in answer or "not there" in answer
    cited = [citation()] if "[Page" in answer and not is_doubted else []
    message = Message(role="assistant", content=answer, created_at=BEGUN, citations=cited)
    return Turn(
        turn_id=f"t-{seq}",
        conversation_id="c-1",
        seq=seq,
        status=TurnStatus.COMMITTED,
        attempt="a",
        request_hash="h",
        question=question,
        assistant=message,
        result={"answer": answer, "metadata": {"critic_summary": {"not_found": NOT_FOUND_ANSWER in answer}}},
        created_at=BEGUN,
    )


async def begin(
    log: TurnLog, question: str, owner: Owner = OWNER, *, replaces: str | None = None, **options: Any
) -> Started:
    new = NewTurn(key=uuid.uuid4().hex, request_hash="h", question=question, replaces=replaces)
    begun = await log.begin(owner, new, lease_seconds=60, **options)
    assert isinstance(begun, Started)
    return begun


async def commit(log: TurnLog, begun: Started, answer: str = NOTED) -> Turn:
    """The stored turn with this answer."""
    turn = answered(begun.turn.seq, begun.turn.question, answer)
    assert turn.assistant and turn.result
    outcome = TurnOutcome(answer=answer, result=turn.result, citations=turn.assistant.citations)
    return await log.commit(begun.head.owner, begun.turn.turn_id, begun.turn.attempt, outcome)


async def ask(log: TurnLog, question: str, answer: str = NOTED, owner: Owner = OWNER) -> Head:
    """A question and its answer, both stored; the conversation's head as the turn has begun with it."""
    begun = await begin(log, question, owner)
    await commit(log, begun, answer)
    return begun.head


def memory_service_of(
    database: Database,
    log: TurnLog,
    *,
    store: MemoryStore | None = None,
    summarizer: Summarizer | None = None,
    counter: TokenCounter | None = None,
    read_seconds: float = READ_SECONDS,
    **limits: Any,
) -> MemoryService:
    counter = counter or WordCounter()
    return MemoryService(
        store or MemoryStore(items_here(database, "memory")),
        log,
        Selection(800, counter),
        counter,
        MemorySettings.model_validate(limits),
        summarizer,
        read_seconds=read_seconds,
    )
