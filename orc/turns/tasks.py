"""Tasks of clients, such as titles of their chats: one call of a model each, counted like any other."""

import uuid
from contextlib import suppress
from dataclasses import asdict, dataclass

from langchain_core.messages import HumanMessage

from orc.identity import Principal
from orc.limits.models import RateLimit, UserLimit
from orc.traces.models import TraceSink, TurnIds
from orc.traces.trace import TurnRecorder
from orc_core.errors import OrcError
from orc_core.llm.chat_model import CallBudget, ChatModel
from orc_core.llm.model_catalog import ModelCatalogue
from orc_core.markdown.safe_markdown import made_safe
from orc_core.models import Usage

TASK_TOKENS = 1000
"""The longest answer to a task."""
PER_MESSAGE = 3
"""Tasks that a user may ask for with each message: a title, tags and suggestions."""


@dataclass(frozen=True)
class Tasks:
    """Answers tasks. Without a `model` the answers are empty, and clients use the user's words."""

    model: ChatModel | None
    limit: RateLimit
    at_a_time: UserLimit
    traces: TraceSink
    catalogue: ModelCatalogue

    async def answer(
        self, prompt: str, caller: Principal, *, max_tokens: int | None, trace_id: str
    ) -> tuple[str, Usage]:
        """The model's reply, safe to render, and its tokens. The model sees nothing but the prompt, and
        nothing of it is stored but what it cost.

        Raises TooMany beyond the limits of the user.
        """
        if self.model is None:
            return "", Usage()
        budget, code = CallBudget(max_calls=1), "interrupted"
        with self.at_a_time.hold(caller):
            async with self.limit.counted(caller):
                task = str(uuid.uuid4())
                ids = TurnIds(trace_id=trace_id, turn_id=task, attempt=task, **asdict(caller.owner_of(task)))
                recorder = TurnRecorder(
                    lambda _: None, ids, catalogue=self.catalogue, tools_model=self.model.name
                )
                try:
                    limit = min(max_tokens or TASK_TOKENS, TASK_TOKENS)
                    reply = await self.model.complete([HumanMessage(prompt)], budget=budget, max_tokens=limit)
                    code = ""
                except OrcError as exc:
                    code = exc.code
                    raise
                finally:
                    with suppress(OrcError):
                        await self.traces.save(recorder.finish_task(budget, code))
        return made_safe(reply), budget.usage
