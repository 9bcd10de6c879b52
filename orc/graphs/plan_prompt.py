"""What the planner is asked: the form that it fills in, and a prompt within its budget."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, get_args

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import BaseModel, Field, create_model

from core.llm.memory_message import remembered_message
from core.llm.prompt_size import BEFORE_THE_REPLY, message_tokens, tools_tokens
from core.llm.tokens import TokenCounter
from orc.graphs.intents import Reach
from orc.graphs.models import ChatMessage, ConversationState, Deps
from orc.intents import MAX_STEPS, Intent, Step
from orc.memory.rendering import remembered

STEPS: tuple[Step, ...] = get_args(Step)
SHORTENED = 400
"""Characters of a message that is told in part, because not even the last two fit as they are."""
FORMS_KEPT = 32


class TurnPlan(BaseModel):
    """How one turn of a conversation is answered."""

    # Lenient: what does not fit is refused by code that can say what it was.
    intent: str
    question: str = Field(description="the last question, understandable without the conversation")
    steps: list[str] = Field(
        default=[],
        description="in order; none: as usual for the kind",
        json_schema_extra={"items": {"type": "string", "enum": list(STEPS)}, "maxItems": MAX_STEPS},
    )
    confidence: float = Field(
        description="that these steps find the answer", json_schema_extra={"minimum": 0, "maximum": 1}
    )


@lru_cache(maxsize=FORMS_KEPT)
def form_for(kinds: tuple[str, ...]) -> type[TurnPlan]:
    """The form with the names of the kinds that there are; the same one every time."""
    intent = Field(description="the kind of question", json_schema_extra={"enum": list(kinds)})
    return create_model("TurnPlan", __base__=TurnPlan, __doc__=TurnPlan.__doc__, intent=(str, intent))


def planning_prompt(
    state: ConversationState, reach: Reach, kinds: Mapping[str, Intent], deps: Deps
) -> list[BaseMessage]:
    """The prompt, with its form within `policy.planner_tokens` unless the question alone takes more.

    The newest messages go first; what is remembered gets half of the room at the most.
    """
    form, counter = form_for(tuple(kinds)), deps.counter
    instructions = deps.prompts.plan.format(reach=_told(reach), kinds=_listed(kinds), most=MAX_STEPS)
    room = deps.policy.planner_tokens

    def asked(known: str, said: Sequence[str]) -> list[BaseMessage]:
        transcript = "\n".join(["Conversation so far:", *said, "", ""]) if said else ""
        question = HumanMessage(f"{transcript}Last question: {state.question}")
        return [SystemMessage(instructions), *remembered_message(known), question]

    def left(known: str, said: Sequence[str]) -> int:
        return room - prompt_tokens(asked(known, said), form, counter)

    for_memory = min(deps.policy.memory_tokens, left("", []) // 2)
    known = remembered(state.recalled, for_memory, counter) if for_memory > 0 else ""
    said = _newest(state.history, left(known, []), counter)
    while said and left(known, said) < 0:  # text counts differently once it is put together
        said = said[1:]
    return asked(known, said)


def prompt_tokens(messages: Sequence[BaseMessage], form: type[TurnPlan], counter: TokenCounter) -> int:
    """All tokens that a model is given with this form."""
    return (
        BEFORE_THE_REPLY
        + tools_tokens([_definition(form)], counter)
        + sum(message_tokens(message, counter) for message in messages)
    )


@lru_cache(maxsize=FORMS_KEPT)
def _definition(form: type[TurnPlan]) -> dict[str, Any]:
    return convert_to_openai_tool(form)


def _newest(history: Sequence[ChatMessage], tokens: int, counter: TokenCounter) -> list[str]:
    """The newest messages that fit, oldest first; shortened where not even the last two fit whole."""
    # One line a message: a line inside it that starts like another speaker's must not count as one.
    lines = [f"{message.role}: {' '.join(message.content.split())}" for message in history]
    whole = _that_fit(lines, tokens, counter)
    if len(whole) >= min(2, len(lines)):
        return whole
    return _that_fit([_shortened(line) for line in lines], tokens, counter)


def _that_fit(lines: Sequence[str], tokens: int, counter: TokenCounter) -> list[str]:
    kept = 0
    for line in reversed(lines):
        tokens -= counter.count(f"{line}\n")
        if tokens < 0:
            break
        kept += 1
    return list(lines[len(lines) - kept :])


def _shortened(line: str) -> str:
    return line if len(line) <= SHORTENED else f"{line[:SHORTENED].rstrip()} …"


def _told(reach: Reach) -> str:
    places = ["the documents of this conversation"] * reach.documents + ["the web"] * reach.web
    return " and ".join(places) or "nothing"


def _listed(kinds: Mapping[str, Intent]) -> str:
    return "\n".join(f"- {name}: {' '.join(kind.description.split())}" for name, kind in kinds.items())
