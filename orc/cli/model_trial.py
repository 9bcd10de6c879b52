"""What `orc doctor` learns of the model by short requests: a sentence, a tool call, and an object."""

import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing
from typing import Literal, NamedTuple

from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import BaseModel
from rich.text import Text

from orc.graphs.prompts import LEAST_WINDOW_FOR_TOOLS
from orc_core.errors import OrcError
from orc_core.infra.model_servers import SERVERS
from orc_core.llm.chat_model import CallBudget, ChatModel
from orc_core.llm.structured_outputs import Part

ASKED = [HumanMessage("What is the weather in Oslo?")]
MOST_CALLS = 8
Say = Callable[..., None]
_MARKS = {True: ("ok", "green"), None: ("--", "yellow")}


class Weather(BaseModel):
    """Looks up the weather of a city."""

    city: str


class Trial(NamedTuple):
    """What was found; `is_ok` is None for what the model lacks and Orc does without, as `advice` says."""

    is_ok: Literal[True] | None
    text: str
    advice: str = ""


def report_model(trials: Sequence[Trial], window: int, server: str | None, say: Say) -> None:
    """Say what the model can do, and what Orc does about the rest."""
    reads = Trial(True, f"reads {window:,} tokens")
    if window < LEAST_WINDOW_FOR_TOOLS:
        how = SERVERS[server].larger_window if server else ""
        more = f" For more, {how}." if how else ""
        few = f"Few passages fit into a prompt, and no tools are offered.{more}"
        reads = Trial(None, f"reads {window:,} tokens only", few)
    for trial in (*trials, reads):
        say(Text(*_MARKS[trial.is_ok]), f" model: {trial.text}")
        if trial.advice:
            say(f"    {trial.advice}")


async def try_model(model: ChatModel) -> AsyncIterator[Trial]:
    """Tries what turns need, in order. Raises OrcError if the model does not answer."""
    budget, started = CallBudget(MOST_CALLS), time.monotonic()
    await model.complete(ASKED, budget=budget)
    yield Trial(True, f"answers, in {time.monotonic() - started:.1f} s")
    parts = model.stream_with_tools(ASKED, [convert_to_openai_tool(Weather)], budget=budget)
    async with aclosing(parts):
        called = [isinstance(part, AIMessage) and bool(part.tool_calls) async for part in parts]
    if any(called):
        yield Trial(True, "calls tools")
    else:
        instead = "The passages that Orc finds by itself are in each prompt."
        yield Trial(None, "calls no tools" if model.abilities.takes_tools else "refuses tools", instead)
    try:
        await model.structured(ASKED, Weather, budget=budget)
        form = model.abilities.form
        yield Trial(True, f"gives objects by {form.value if form else ''}")
    except OrcError as exc:
        instead = "Turns are planned by rules, and old turns are not summarized."
        yield Trial(None, "gives no objects", f"{exc.message} {instead}")
    if lacking := [part.name.lower() for part in sorted(model.abilities.without - {Part.TOOLS})]:
        yield Trial(None, f"refuses requests with {', '.join(lacking)}", "Orc leaves that out.")
