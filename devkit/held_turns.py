"""A turn service whose parts wait, fail or lose confirmations as a test wants."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from langchain_core.messages import AIMessage

from devkit.fakes import FakeTools, WordCounter, models_of, scripted
from devkit.store_pairs import items_here
from orc.bootstrap import load_prompts
from orc.contexts.turn_scope import TurnScope, TurnScopes
from orc.conversations.models import Begun, NewTurn, Turn, TurnContext, TurnOutcome
from orc.conversations.turn_log import TurnLog
from orc.events import Done, Failed
from orc.graphs.models import Attempt, ConversationState, RunContext
from orc.identity import Principal
from orc.limits.models import RateLimit
from orc.memory.models import ConversationMemory, Memory
from orc.settings import TurnSettings
from orc.turns.event_log import EventLog
from orc.turns.requests import TurnRequest
from orc.turns.running_turn import COMMIT_SECONDS, TurnDependencies
from orc.turns.service import TurnService
from orc_core.documents.scope import ScopeTokens
from orc_core.infra.keys import Keys
from orc_core.infra.sqlite import Database
from orc_core.infra.telemetry.spans import step
from orc_core.llm.model_catalog import ModelCatalogue
from orc_core.mcp_contract import DocumentChatMetadata, DocumentChatResult
from orc_core.models import BlobProperties, Document, FileRef, Page
from orc_core.names import BlobPath, Owner

CALLER = Principal("contoso", "ada")
CONVERSATION = "3f0d8f5e-6f0e-4f5a-9d5f-0b1f8f6b2a11"
ELSEWHERE = TurnContext(type="project", id="elsewhere")
OWNER = CALLER.owner_of(CONVERSATION)
POLICY = TurnSettings(
    max_tool_rounds=2,
    turn_deadline_seconds=5,
    turn_lease_seconds=5,
    max_model_calls=8,
    max_documents_per_request=3,
)


class FakeLibrary:
    """The part of a document library that turns use: every name is a document, and lists may be slow."""

    def __init__(self) -> None:
        self.may_list = asyncio.Event()
        self.may_list.set()

    async def resolve(self, owner: Owner, names: list[str]) -> list[Document]:
        return [
            Document.first_seen(BlobProperties(path=BlobPath(owner, name), etag="e", size=1))
            for name in names
        ]

    async def list_documents(self, owner: Owner) -> list[Document]:
        await self.may_list.wait()
        return []

    async def page_of(self, document_id: str, number: int) -> Page | None:
        return None

    async def page_boxes(self, document_id: str, number: int) -> bytes:
        return b""


class Log(TurnLog):
    """A turn log that can fail writes and lose confirmations."""

    commit_error: Exception | None = None
    confirmation_error: Exception | None = None
    fail_error: Exception | None = None
    begin_error: Exception | None = None

    def __init__(self, database: Database) -> None:
        super().__init__(items_here(database, "conversations"))
        self.may_store, self.may_begin = asyncio.Event(), asyncio.Event()
        self.may_commit, self.may_fail = asyncio.Event(), asyncio.Event()
        for each in (self.may_store, self.may_begin, self.may_commit, self.may_fail):
            each.set()
        self.is_asked = asyncio.Event()

    async def begin(self, owner: Owner, new: NewTurn, **options: Any) -> Begun:
        self.is_asked.set()
        await self.may_store.wait()
        begun = await super().begin(owner, new, **options)
        await self.may_begin.wait()
        if self.begin_error:
            raise self.begin_error
        return begun

    async def commit(self, owner: Owner, turn_id: str, attempt: str, outcome: TurnOutcome) -> Turn:
        await self.may_commit.wait()
        if self.commit_error:
            raise self.commit_error
        committed = await super().commit(owner, turn_id, attempt, outcome)
        if self.confirmation_error:
            raise self.confirmation_error
        return committed

    async def fail(self, owner: Owner, turn_id: str, attempt: str, code: str, message: str) -> Turn:
        await self.may_fail.wait()
        if self.fail_error:
            raise self.fail_error
        return await super().fail(owner, turn_id, attempt, code, message)


class SlowTools(FakeTools):
    """A document_chat that answers when the test allows it."""

    def __init__(self) -> None:
        found = DocumentChatResult(
            answer="It is 10.",
            files=[FileRef(file_id="file-new", blob_name="a.pdf")],
            metadata=DocumentChatMetadata(mode="inline", reason="it fits"),
        )
        super().__init__(document_chat=found.model_dump(mode="json"))
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    async def call(self, *words: Any, **options: Any) -> dict[str, Any]:
        await self.may_answer.wait()
        return await super().call(*words, **options)


class RecordingGraph:
    """A graph that only records the input of a turn."""

    policy: TurnSettings

    async def astream(
        self, state: ConversationState, config: Any, *, context: RunContext, **options: Any
    ) -> AsyncIterator[tuple[tuple[str, ...], str, dict[str, Any]]]:
        self.policy = context.settings
        yield (), "values", {**dict(state), "attempt": Attempt(answer="Hello.")}


def turn_service(
    log: Log,
    tools: FakeTools,
    shelf: FakeLibrary | None = None,
    commit_seconds: float = COMMIT_SECONDS,
    messages: RateLimit | None = None,
    **limits: float,
) -> TurnService:
    model, _ = scripted(lambda _messages, _options: AIMessage("Hello."))
    parts = TurnDependencies(
        log=log,
        library=shelf or FakeLibrary(),  # type: ignore[arg-type]
        tools=tools,
        scope_tokens=ScopeTokens(Keys("k" * 32)),
        memory=ConversationMemory(),
        models=models_of(model),
        catalogue=ModelCatalogue(),
        counter=WordCounter(),
        prompts=load_prompts(),
        settings=POLICY.model_copy(update=limits),
        messages=messages or RateLimit(),
        commit_seconds=commit_seconds,
    )
    return TurnService(parts)


def asking(*names: str) -> TurnRequest:
    return TurnRequest(
        question="What is the fee?", conversation_id=CONVERSATION, blob_names=list(names), trace_id="trace"
    )


async def ending(events: EventLog) -> Done | Failed:
    last = await asyncio.wait_for(events.last(), 5)
    assert isinstance(last, Done | Failed)
    return last


class WatchedMemory(ConversationMemory):
    """A memory that reports when it is read."""

    def __init__(self) -> None:
        super().__init__()
        self.was_read = asyncio.Event()

    async def read(self, *words: Any, **options: Any) -> Memory:
        self.was_read.set()
        with step("read memory"):
            pass
        return await super().read(*words, **options)


class SlowScopes(TurnScopes):
    """Contexts of a turn that are found when the test allows it."""

    def __init__(self) -> None:
        self.is_asked, self.may_find = asyncio.Event(), asyncio.Event()
        self.may_find.set()

    async def of_turn(self, *words: Any, **options: Any) -> TurnScope | None:
        self.is_asked.set()
        with step("find contexts"):
            await self.may_find.wait()
        return None
