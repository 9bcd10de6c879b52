"""One run of the graph against fake tools and scripted models, for the tests of its nodes."""

from collections.abc import Awaitable, Callable
from dataclasses import fields, replace
from typing import Any

from langchain_core.messages import AIMessage

from devkit.fakes import FakeTools, Script, ScriptedModel, WordCounter, models_of, scripted
from orc.bootstrap import load_prompts
from orc.conversations.models import ChatMessage
from orc.events import Event, Token
from orc.graphs.graph import build_graph, run_graph
from orc.graphs.models import ConversationState, Resources, Run, RunContext
from orc.judges.building import ModelJudge
from orc.memory.models import ConversationMemory, Memory, Recalled
from orc.settings import TurnSettings
from orc.tools.ports import ToolSchema
from orc_core.extraction.word_boxes import Box, pack
from orc_core.grounding.models import Grounding
from orc_core.llm.chat_model import CallBudget
from orc_core.llm.model_catalog import ModelCatalogue
from orc_core.mcp_contract import DocumentChatMetadata, DocumentChatResult
from orc_core.models import FileRef, Page

HISTORY = [ChatMessage(role="user", content="What is the fee?"), ChatMessage(role="assistant", content="10.")]
LIST_TOOL = ToolSchema(
    name="documents_list", description="lists", input_schema={"type": "object", "properties": {}}
)
CHAT_TOOL = ToolSchema(
    name="document_chat", description="asks", input_schema={"type": "object", "properties": {}}
)


def ref(blob_name: str, file_id: str = "file-1") -> FileRef:
    return FileRef(file_id=file_id, blob_name=blob_name)


def document_chat_result(*files: FileRef) -> dict[str, Any]:
    checks = Grounding(grounded=True, citations=1, quoted=1, coverage=1.0)
    metadata = DocumentChatMetadata(mode="inline", reason="it fits", grounding=checks)
    result = DocumentChatResult(answer="It is 10.", files=list(files), metadata=metadata)
    return result.model_dump(mode="json")


def says(text: str) -> Script:
    return lambda _messages, _options: AIMessage(text)


PAGES = {("secret-id", 5): "The fee is 10. Families pay 15.", ("other-id", 1): "Dogs are welcome."}
MODEL_CHOOSES = {"chosen": {"keywords": ["fee"], "retriever": "tools"}}
"""Settings under which the question of these turns is left to the model and its tools from the start."""
SEARCH_TOOL = ToolSchema(
    name="semantic_search", description="searches", input_schema={"type": "object", "properties": {}}
)


async def page_text(document_id: str, number: int) -> str:
    return PAGES.get((document_id, number), "")


class Shelf:
    """The pages of these turns."""

    def __init__(self, read: Callable[[str, int], Awaitable[str]] = page_text) -> None:
        self._read = read

    async def page_of(self, document_id: str, number: int) -> Page | None:
        text = await self._read(document_id, number)
        return Page(number=number, text=text) if text else None

    async def page_boxes(self, document_id: str, number: int) -> bytes:
        words = PAGES.get((document_id, number), "").split()
        return pack([[Box(1000 * n, 500, 1000 * n + 900, 600)] for n in range(len(words))])


class Recalling(ConversationMemory):
    """A memory that recalls the same for every question."""

    def __init__(self, recalled: Recalled) -> None:
        self.recalled = recalled

    async def recall(self, question: str, memory: Memory) -> Recalled:
        return self.recalled


def passage(document_id: str, page: int, text: str) -> dict[str, Any]:
    start = PAGES[document_id, page].index(text)
    return {"document_id": document_id, "blob_name": "a.pdf", "page": page, "text": text, "start": start}


class Turn:
    """One run of the graph, with everything that it touched."""

    def __init__(
        self,
        tools: FakeTools,
        script: Script | None = None,
        *,
        stream: bool = True,
        recalled: Recalled | None = None,
        asked_model: str | None = None,
        tools_off: frozenset[str] = frozenset(),
        has_judge: bool = False,
        **policy: Any,
    ) -> None:
        self.tools = tools
        self.events: list[Event] = []
        self.model: ScriptedModel
        model, self.model = scripted(script or says("Hello."))
        resources = Resources(
            library=Shelf(),  # type: ignore[arg-type]
            memory=Recalling(recalled or Recalled()),
            tools=tools,
            models=models_of(model),
            catalogue=ModelCatalogue(),
            counter=WordCounter(),
            prompts=load_prompts(),
            judge=ModelJudge(model, "Judge.") if has_judge else None,
        )
        context = RunContext(
            scope_token="token",
            settings=TurnSettings.model_validate({"max_tool_rounds": 3, **policy}),
            stream=stream,
            asked_model=asked_model,
            tools_off=tools_off,
            budget=CallBudget(max_calls=8),
        )
        self.uses = Run(resources, context, self.events.append)

    def change(self, **changes: Any) -> None:
        """Use other resources, or other values of the run; `page_text` reads the pages."""
        if (read := changes.pop("page_text", None)) is not None:
            changes["library"] = Shelf(read)
        names = {each.name for each in fields(Resources)}
        resources = {name: value for name, value in changes.items() if name in names}
        values = {name: value for name, value in changes.items() if name not in names}
        uses = self.uses
        self.uses = Run(replace(uses.resources, **resources), replace(uses.context, **values), uses.emit)

    async def run(self, **state: Any) -> ConversationState:
        given = ConversationState(question="And the fee?", conversation_id="c", **state)
        return await self.run_from(given)

    async def run_from(self, state: ConversationState) -> ConversationState:
        graph = build_graph(self.uses.resources)
        return await run_graph(graph, state, self.uses.context, self.uses.emit)

    def of(self, kind: type[Event]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def streamed(self) -> str:
        return "".join(event.text for event in self.of(Token))


def reasons(state: ConversationState) -> list[tuple[str, str]]:
    """The tool and the reason code of each lookup step."""
    return [(step.tool, step.reason_code) for step in state.lookup_steps]
