"""Text work with faults."""

import re
from collections.abc import Awaitable, Callable

from core.infra.text_processes import Arguments, InThread, Result, TextProcesses, TextWork

Before = Callable[[Callable[..., object], tuple[object, ...], str], Awaitable[None]]


class InterceptedText:
    """Text work that calls `before` with each function, its arguments and whose it is, and then runs it."""

    def __init__(self, before: Before, text: TextWork | None = None) -> None:
        self._before = before
        self._text = text or InThread()

    async def run(
        self,
        function: Callable[[*Arguments], Result],
        *arguments: *Arguments,
        seconds: float,
        whose: str = "",
    ) -> Result:
        await self._before(function, arguments, whose)
        return await self._text.run(function, *arguments, seconds=seconds, whose=whose)


async def hold_the_interpreter(processes: TextProcesses) -> None:
    """Run a regular expression that backtracks for ever in one of the processes. Raises Overdue."""
    await processes.run(re.Pattern.search, re.compile(r"(a+)+$"), "a" * 60 + "!", seconds=0.2)
