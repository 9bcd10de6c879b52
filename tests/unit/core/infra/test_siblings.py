"""Questions between processes of one port: the first that has an answer gives all of its answers."""

import asyncio
import socket
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from core.infra.shared_port import Member, members_in
from core.infra.siblings import Siblings


class Process:
    """Answers with its number and each number up to that of the question; an odd number makes it fail."""

    def __init__(self, member: Member) -> None:
        self.siblings = Siblings(member, first_answer_seconds=0.2)
        self.questions: list[Any] = []
        self.knows = {member.number}

    async def answer(self, question: Any) -> AsyncGenerator[Any, None]:
        self.questions.append(question)
        if question in self.knows:
            for each in range(question + 1):
                yield question, each
            if question % 2:
                raise ValueError("an odd question")


@pytest.fixture
def members(tmp_path_factory: pytest.TempPathFactory) -> list[Member]:
    folder: Path = tmp_path_factory.mktemp("s")
    return members_in(folder, 4)


@pytest.fixture
async def processes(members: list[Member]) -> AsyncIterator[list[Process]]:
    made = [Process(member) for member in members]
    async with AsyncExitStack() as stack:
        for each in made:
            await stack.enter_async_context(each.siblings.answered(each.answer))
        yield made


async def answers(process: Process, question: int) -> list[tuple[int, int]]:
    return [answer async for answer in process.siblings.ask(question)]


async def test_the_sibling_that_knows_gives_all_answers(processes: list[Process]) -> None:
    assert await answers(processes[0], 2) == [(2, 0), (2, 1), (2, 2)]
    assert processes[1].questions == [2]
    assert processes[3].questions == []


async def test_a_process_does_not_ask_itself(processes: list[Process]) -> None:
    assert await answers(processes[2], 2) == []
    assert processes[2].questions == []


async def test_news_reaches_all_siblings(processes: list[Process]) -> None:
    await processes[1].siblings.tell("news")
    assert [process.questions for process in processes] == [["news"], [], ["news"], ["news"]]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_a_sibling_that_ends_in_the_middle_is_an_error(processes: list[Process]) -> None:
    asyncio.get_running_loop().set_exception_handler(lambda *_: None)
    asked = processes[0].siblings.ask(3)
    assert [await anext(asked) for _ in range(4)] == [(3, 0), (3, 1), (3, 2), (3, 3)]
    with pytest.raises(ConnectionError):
        await anext(asked)


async def test_a_sibling_that_hangs_or_has_gone_is_passed_over(members: list[Member]) -> None:
    asking, hanging, gone, knowing = members
    process = Process(knowing)
    with socket.socket(socket.AF_UNIX) as silent, socket.socket(socket.AF_UNIX) as closed:
        silent.bind(str(hanging.requests))
        silent.listen()
        closed.bind(str(gone.requests))
        process.knows = {2}
        async with process.siblings.answered(process.answer):
            assert await answers(Process(asking), 2) == [(2, 0), (2, 1), (2, 2)]
