"""The pages of a turn: each is read once, and those that one result quotes are read side by side."""

import asyncio

import pytest

from core.errors import DependencyDown
from orc.graphs.page_texts import PageTexts
from orc.graphs.sources import Findings


async def test_a_page_is_read_once_in_a_turn_and_again_after_a_failure() -> None:
    asked: list[tuple[str, int]] = []

    async def read(document_id: str, number: int) -> str:
        asked.append((document_id, number))
        if len(asked) == 1:
            raise DependencyDown("The store is down.", dependency="store")
        return "The fee is 10."

    texts = PageTexts(read)
    with pytest.raises(DependencyDown):
        await texts("d", 1)
    assert [await texts("d", 1), await texts("d", 1)] == ["The fee is 10."] * 2
    assert asked == [("d", 1)] * 2


async def test_the_pages_that_a_result_quotes_are_read_side_by_side_and_each_once() -> None:
    together, asked = asyncio.Barrier(3), list[int]()

    async def read(_document_id: str, number: int) -> str:
        asked.append(number)
        await together.wait()
        return f"Page {number}."

    quoted = [{"document_id": "d", "page": n, "text": f"Page {n}.", "start": 0} for n in (3, 1, 2, 1)]
    findings = Findings(read)
    async with asyncio.timeout(5):
        numbered = await findings.take({"passages": quoted, "steps": []})
    assert [item["source"] for item in numbered["passages"]] == ["S1", "S2", "S3", "S2"]
    assert [source.page_text for source in findings.sources] == ["Page 3.", "Page 1.", "Page 2."]
    await findings.take({"pages": [{**quoted[0], "text": "Page"}]})
    assert asked == [3, 1, 2]
