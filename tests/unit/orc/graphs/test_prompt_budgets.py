"""Budgets of prompts: each part within its own, all within the window, counted as a model counts."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.messages.utils import convert_to_openai_messages
from pydantic import SecretStr

from devkit.doubles.openai_window import Window
from devkit.fakes import WordCounter
from orc.graphs.prompts import (
    INSTRUCTIONS,
    INSTRUCTIONS_AND_TOOLS,
    LEAST,
    LEAST_WINDOW_FOR_TOOLS,
    shrink_to_window,
)
from orc.settings import Settings, TurnSettings
from orc_core.llm.messages import MemoryMessage
from orc_core.llm.model_catalog import REPLY
from orc_core.llm.tokens import TokenCounter, load_encoding, section_tokens

TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=80)
SEARCH: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "semantic_search",
        "description": "Find the passages that bear on a question.",
        "parameters": {
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "words to look for"},
                "order": {"type": "string", "enum": ["best", "page"]},
            },
        },
    },
}


@pytest.fixture(scope="module")
def counter() -> TokenCounter:
    return TokenCounter()


def conversation(system: str, known: str, said: list[str], question: str, found: str) -> list[BaseMessage]:
    past = [HumanMessage(text) if at % 2 == 0 else AIMessage(text) for at, text in enumerate(said)]
    call = {"name": "semantic_search", "args": {"query": question}, "id": "1", "type": "tool_call"}
    asked = [HumanMessage(question), AIMessage("", tool_calls=[call])]
    return [
        SystemMessage(system),
        MemoryMessage(content=known),
        *past,
        *asked,
        ToolMessage(found, tool_call_id="1"),
    ]


@settings(max_examples=60, deadline=None)
@given(TEXTS, st.lists(TEXTS, max_size=6), TEXTS, TEXTS)
def test_the_parts_add_up_to_what_the_model_counts(
    counter: TokenCounter, system: str, said: list[str], question: str, found: str
) -> None:
    messages = conversation(system, found, said, question, found)
    sizes = section_tokens(messages, question, counter, [SEARCH])
    body = {"messages": convert_to_openai_messages(messages), "tools": [SEARCH]}
    counted = Window(1, load_encoding()).size_of(body)
    assert sum(tokens for name, tokens in sizes.items() if name != "total") == sizes["total"]
    # A model may join the arguments of a call and its name into one token, which we count separately.
    assert abs(sizes["total"] - counted) <= 4 + 0.01 * counted


@given(st.integers(4000, 63_999), st.integers(1, 8000), st.integers(1, 4000))
def test_a_small_window_is_never_exceeded_unless_the_question_fills_it(
    window: int, words: int, cap: int
) -> None:
    policy = shrink_to_window(TurnSettings(), window, "word " * words, WordCounter(), cap)
    parts = (policy.history_tokens, policy.memory_tokens, policy.retrieval_tokens)
    reserved = INSTRUCTIONS_AND_TOOLS if policy.max_tool_rounds else INSTRUCTIONS
    assert sum(parts) <= window - words - min(cap, window // 4) - reserved or LEAST in parts
    assert (policy.max_tool_rounds == 0) == (window < LEAST_WINDOW_FOR_TOOLS)
    assert sum(parts) <= 4000 + 800 + 6000


@pytest.mark.parametrize("name", ["retrieval_tokens", "history_tokens", "memory_tokens", "planner_tokens"])
def test_large_budgets_are_limited_by_a_large_window_too(name: str) -> None:
    policy = shrink_to_window(TurnSettings.model_validate({name: 100_000}), 64_000, "Why?", WordCounter())
    parts = policy.history_tokens + policy.memory_tokens + policy.retrieval_tokens
    assert max(parts, policy.planner_tokens) <= 64_000 - INSTRUCTIONS_AND_TOOLS - REPLY


def test_a_model_on_this_machine_plans_from_a_short_prompt_and_has_the_time() -> None:
    local = Settings(model="ollama:llama3.2")
    assert (local.planner_tokens, local.planner_seconds) == (1000, 60)
    assert Settings(model="ollama:llama3.2", planner_tokens=9).planner_tokens == 9
    assert Settings(model="openai:gpt-5.1", openai_api_key=SecretStr("k")).planner_tokens == 3000
