"""A foreign context is refused in the time of an invented one, so that no clock says which ids exist.

A campaign has 1,000 pairs of each request in a round, the suite a few. A busy machine delays either of a
pair, so that the median of few differences says little: rounds follow until that of all is small enough.
"""

import random
import time
from collections.abc import AsyncIterator
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from devkit.context_chat import EASYAUTH, Chat, chatting
from orc.contexts.ids import new_id
from orc.settings import Settings

PAIRS, FULL_PAIRS = 20, 1000
ROUNDS = 10
MEMBERS, DOCUMENTS = 100, 5
MOST_SECONDS = 0.001
REQUESTS = {
    "context": ("GET", "/contexts/{id}", None),
    "members": ("GET", "/contexts/{id}/members", None),
    "documents": ("GET", "/contexts/{id}/documents", None),
    "deletion": ("DELETE", "/contexts/{id}", None),
    "question": ("POST", "/orc", {"question": "Why?", "contexts": [{"type": "workspace", "id": "{id}"}]}),
    "chat": ("POST", "/workspaces/{id}/chat", {"message": "Why?"}),
}


@pytest.fixture
async def chat(tmp_path: Path) -> AsyncIterator[Chat]:
    async with chatting(Settings(data_dir=tmp_path, critic="off", **EASYAUTH)) as opened:
        yield opened


@pytest.mark.parametrize("request_name", REQUESTS)
async def test_a_foreign_context_is_refused_in_the_time_of_an_invented_one(
    chat: Chat, request_name: str, full_size: bool
) -> None:
    foreign = await chat.create("workspace", "Ferries")
    for number in range(MEMBERS):
        await chat.grant(foreign, f"user-{number}")
    for number in range(DOCUMENTS):
        await chat.upload(foreign, f"{number}.txt", "The ferry costs ten crowns.")
    chance, differences = random.Random(14), list[float]()
    await refused_in(chat, request_name, foreign)
    for _ in range(ROUNDS):
        for _ in range(FULL_PAIRS if full_size else PAIRS):
            pair = [foreign, new_id()]
            chance.shuffle(pair)
            seconds = {each: await refused_in(chat, request_name, each) for each in pair}
            differences.append(seconds.pop(foreign) - sum(seconds.values()))
        if abs(median(differences)) < MOST_SECONDS:
            return
    pytest.fail(f"a foreign context takes {1000 * median(differences):.3f} ms more")


async def refused_in(chat: Chat, request_name: str, context_id: str) -> float:
    """The seconds that the request takes for someone without a role."""
    method, path, body = REQUESTS[request_name]
    options: dict[str, Any] = {"json": with_id(body, context_id)} if body else {}
    began = time.perf_counter()
    answer = await chat.call("eve", method, path.format(id=context_id), **options)
    seconds = time.perf_counter() - began
    assert answer.status_code == 404
    return seconds


def with_id(value: Any, context_id: str) -> Any:
    if isinstance(value, dict):
        return {name: with_id(each, context_id) for name, each in value.items()}
    if isinstance(value, list):
        return [with_id(each, context_id) for each in value]
    return context_id if value == "{id}" else value
