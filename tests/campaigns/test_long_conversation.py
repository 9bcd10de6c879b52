"""A long conversation over many pages, with a model that refuses any prompt beyond its window.

A campaign has 500 turns over 2,000 pages; the suite has 120 turns over 200 pages.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median
from typing import Any

import httpx
import pytest

from devkit.doubles.openai_double import ChatRequest, OpenAIDouble, Reply, ToolCall, default_reply, serving
from devkit.doubles.openai_window import Window
from devkit.system import System, upload
from devkit.system_here import system_here
from tests.system.steps import wait_until

WINDOW = 16_384
CONVERSATION = "5b6f0c3e-2f57-4a3e-9f53-7a1f0c9d1e11"
FACT, ASKED = "My badge number is 7431-K.", "What is my badge number?"
TALK = "Understood. " + "I keep to what you said and to what the documents say. " * 12
LONG = "Please bear in mind all of this before you go on. " * 190
FILLER = (
    "Entries of this register are made by the clerk of the section on the day of receipt, and are checked by"
    " a second clerk within the week. "
) * 5


@dataclass(frozen=True)
class Size:
    """How long the conversation is, and what it is about."""

    turns: int
    documents: int
    pages_each: int
    recall_turn: int

    @property
    def pages(self) -> int:
        return self.documents * self.pages_each


SMALL = Size(turns=80, documents=5, pages_each=20, recall_turn=70)
FULL = Size(turns=500, documents=20, pages_each=100, recall_turn=200)


@dataclass(frozen=True)
class Turn:
    """What one turn answered, and how long each prompt was that the model was given for it."""

    kind: str
    result: dict[str, Any]
    prompts: list[int]


def ceiling_of(entry: int) -> str:
    """What the documents say of this account."""
    return f"The ceiling of account A-{entry:04} is {3 * entry + 7} crowns."


def register(number: int, size: Size) -> bytes:
    """A text of many pages, each with one entry that no other page has."""
    first = number * size.pages_each
    pages = [
        f"Register {number}, entry {entry}\n{ceiling_of(entry)}\n{FILLER}"
        for entry in range(first, first + size.pages_each)
    ]
    return "\f".join(pages).encode()


def question(seq: int, size: Size) -> tuple[str, dict[str, Any]]:
    """The question of a turn: about named documents, about all of them, or about neither."""
    entry = (37 * seq) % size.pages
    ceiling = f"What is the ceiling of account A-{entry:04}?"
    if seq == 3:
        return "fact", {"question": FACT}
    if seq == size.recall_turn:
        return "recall", {"question": ASKED}
    if seq % 50 == 0:
        return "long", {"question": LONG + ceiling}
    if seq % 4 == 0:
        return "search", {"question": ceiling}
    if seq % 4 == 1:
        return "talk", {"question": f"Thank you, that helps with point {seq}."}
    first = entry // size.pages_each
    names = sorted({f"register-{(first + step) % size.documents}.txt" for step in range(3)})
    return "named", {"question": ceiling, "blob_names": names}


def answer(asked: ChatRequest) -> Reply | None:
    """A model that answers from its sources or from what the user said, and otherwise talks at length."""
    forced = asked.form
    if forced and forced["name"] == "TurnPlan":
        whole = (
            asked.question[asked.question.rfind("What is") :]
            if "What is" in asked.question
            else asked.question
        )
        plan = {"question": whole, "confidence": 0.9, "reason": "asked so"}
        looks = "ceiling" in asked.question
        steps = ["retrieve", "answer"] if looks else ["answer"]
        intent = "factual_lookup" if looks else "conversational"
        return Reply(
            tool_calls=[ToolCall(name="TurnPlan", arguments={"intent": intent, "steps": steps, **plan})]
        )
    if asked.sources:
        account = re.search(r"A-\d{4}", asked.question)
        for source in asked.sources:
            if account and account[0] in source.text:
                [sentence] = re.findall(rf"The ceiling of account {account[0]} is \d+ crowns\.", source.text)[
                    :1
                ]
                return Reply(text=f"{sentence} [S{source.number}]")
        return default_reply(asked)
    if "badge number" in asked.question and "?" in asked.question:
        found = re.search(r"badge number is ([\w-]+)", asked.prompt)
        return Reply(text=f"It is {found[1]}." if found else "You have not said.")
    return Reply(text=TALK)


@pytest.fixture(scope="module")
def window() -> Window:
    return Window(WINDOW)


@pytest.fixture(scope="module")
def system(window: Window, tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    with serving(OpenAIDouble(answer, window=window)) as base_url:
        settings = {
            "ORC_MODEL": "openai:gpt-5.1",
            "OPENAI_BASE_URL": base_url,
            "OPENAI_API_KEY": "none",
            # A prompt that condenses old turns in the background would be counted with those of the turn.
            "ORC_MEMORY": "extractive",
            "ORC_ADVANCED": json.dumps({"model_retries": 0, "context_window": WINDOW}),
        }
        with system_here(tmp_path_factory.mktemp("long"), **settings) as started:
            yield started


@pytest.fixture(scope="module")
def size(full_size: bool) -> Size:
    return FULL if full_size else SMALL


@pytest.fixture(scope="module")
def turns(system: System, window: Window, size: Size) -> list[Turn]:
    with system.client() as client:
        files = [(f"register-{number}.txt", register(number, size)) for number in range(size.documents)]
        assert upload(client, CONVERSATION, *files).status_code == 201
        wait_until(lambda: _all_completed(client), "the documents can be searched")
        return [_ask(client, window, seq, size) for seq in range(1, size.turns + 1)]


def _all_completed(client: httpx.Client) -> bool:
    listed = client.get(f"/conversations/{CONVERSATION}/documents").json()["documents"]
    return all(document["status"] == "completed" for document in listed)


def _ask(client: httpx.Client, window: Window, seq: int, size: Size) -> Turn:
    kind, body = question(seq, size)
    before = len(window.prompts)
    response = client.post("/orc", json={**body, "conversation_id": CONVERSATION})
    assert response.status_code == 200, (seq, kind, response.text)
    return Turn(kind, response.json(), window.prompts[before:])


def test_no_prompt_exceeds_the_window(turns: list[Turn], window: Window) -> None:
    assert (window.overflows, max(window.prompts) < WINDOW) == (0, True)


def test_what_orc_counts_is_what_the_model_counts(turns: list[Turn]) -> None:
    for turn in turns:
        counted = turn.result["metadata"]["context_budget"]["total"]
        assert counted == pytest.approx(turn.prompts[-1], rel=0.01), turn.kind


@pytest.mark.parametrize("kind", ["named", "search", "talk"])
def test_prompts_stop_growing(turns: list[Turn], kind: str) -> None:
    sizes = [sum(turn.prompts) for turn in turns if turn.kind == kind]
    share = max(1, len(sizes) * 30 // len(turns))
    early, late = sizes[share : 2 * share + 1], sizes[-share - 1 :]
    assert median(late) <= 1.1 * median(early)


def test_a_fact_of_turn_3_is_recalled_much_later(turns: list[Turn], size: Size) -> None:
    recall = turns[size.recall_turn - 1].result
    assert "7431-K" in recall["answer"]
    assert recall["metadata"]["summary_selection"]["notes"] >= 1


def test_answers_are_as_good_at_the_end_as_at_the_beginning(turns: list[Turn]) -> None:
    asked = [turn for turn in turns if turn.kind in ("named", "search")]
    right = [_is_right(turn) for turn in asked]
    part = len(right) // 3
    assert sum(right[-part:]) >= sum(right[:part]) >= 0.9 * part


def _is_right(turn: Turn) -> bool:
    entry = re.search(r"A-(\d{4}) is (\d+) crowns", turn.result["answer"])
    cited = [citation["verified"] for citation in turn.result["citations"]]
    return entry is not None and int(entry[2]) == 3 * int(entry[1]) + 7 and bool(cited) and all(cited)
