"""Texts of replies can be encoded, whatever the model sent; refusals and broken calls are recognised."""

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.messages.tool import tool_call_chunk

from orc_core.llm.replies import (
    StreamRepair,
    Thoughts,
    merge_chunks,
    refusal,
    repair_message,
    repair_text,
    reported_usage,
)
from orc_core.models import Usage


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        ("plain äöü 😀", "plain äöü 😀"),
        ("\ud83d\ude00", "😀"),
        ("a\ud83d", "a\ufffd"),
        ("\ud83db", "\ufffdb"),
        ("\ude00\ud83d", "\ufffd\ufffd"),
    ],
)
def test_pairs_are_joined_and_lone_surrogates_replaced(sent: str, shown: str) -> None:
    assert repair_text(sent) == shown


@pytest.mark.parametrize(
    ("chunks", "shown"),
    [
        (["a \ud83d", "\ude00 b"], "a 😀 b"),
        (["a \ud83d", " b"], "a \ufffd b"),
        (["a \ud83d"], "a \ufffd"),
        (["a \ud83d", "", "\ude00"], "a 😀"),
    ],
)
def test_a_pair_may_be_split_over_chunks(chunks: list[str], shown: str) -> None:
    repair = StreamRepair()
    text = "".join(repair.feed(AIMessageChunk(content=chunk)).text for chunk in chunks)
    rest = repair.finish()
    assert text + (rest.text if rest else "") == shown


@pytest.mark.parametrize("size", [1, 3, 100])
def test_blank_lines_behind_thoughts_are_no_part_of_the_answer(size: int) -> None:
    repair = StreamRepair(Thoughts(is_open=True))
    sent = "Let me see.</think>\n\n28 days\n\n"
    chunks = [AIMessageChunk(content=sent[at : at + size]) for at in range(0, len(sent), size)]
    assert "".join(repair.feed(chunk).text for chunk in chunks) == "28 days\n\n"


def test_the_blocks_of_the_responses_api_are_repaired_too() -> None:
    repair = StreamRepair()
    chunks = [AIMessageChunk(content=[{"type": "text", "text": text}]) for text in ("a \ud83d", "\ude00")]
    assert "".join(repair.feed(chunk).text for chunk in chunks) == "a 😀"


def test_the_arguments_of_a_call_are_repaired() -> None:
    parts = ['{"query": "\ud83d', '\ude00 \\ud83d"}']
    calls = [tool_call_chunk(name=None, args=part, id=None, index=0) for part in parts]
    calls[0]["name"], calls[0]["id"] = "search", "c1"
    merged = merge_chunks([AIMessageChunk(content="", tool_call_chunks=[call]) for call in calls])
    assert merged.tool_calls[0]["args"] == {"query": "😀 \ufffd"}
    whole = AIMessage("", tool_calls=[{"name": "search", "args": {"query": ["\ud83d"]}, "id": "c1"}])
    assert repair_message(whole).tool_calls[0]["args"] == {"query": ["\ufffd"]}


def test_every_call_has_a_separate_id() -> None:
    calls = [
        tool_call_chunk(name="search", args="{}", id=given, index=at)
        for at, given in enumerate(["c", "c", None])
    ]
    merged = merge_chunks([AIMessageChunk(content="", tool_call_chunks=calls)])
    assert len({call["id"] for call in merged.tool_calls}) == 3
    assert all(call["id"] for call in merged.tool_calls)


def test_a_refusal_is_put_together_from_its_parts() -> None:
    parts = [
        AIMessageChunk(content=[{"type": "refusal", "refusal": part}]) for part in ("I cannot", " do that.")
    ]
    assert refusal(parts) == "I cannot do that."
    assert refusal([AIMessage("Yes.")]) == ""


def test_reasoning_is_part_of_the_output_and_impossible_usage_is_not_believed() -> None:
    def message(given: int, made: int, reasoning: int) -> AIMessage:
        usage = {"input_tokens": given, "output_tokens": made, "total_tokens": given + made}
        return AIMessage("", usage_metadata={**usage, "output_token_details": {"reasoning": reasoning}})

    assert reported_usage([message(5, 9, 7)]) == Usage(input_tokens=5, output_tokens=9, reasoning_tokens=7)
    assert reported_usage([message(-5, 9, 0)]) is None
    assert reported_usage([AIMessage("")]) is None
