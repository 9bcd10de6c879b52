"""Child processes: started, brought back if they die, and gone when this process is, however it ends."""

import asyncio
import contextlib
import logging
import sys
from collections.abc import Mapping, Sequence

from orc.settings import Settings, child_environment

logger = logging.getLogger(__name__)

RESTART_SECONDS = 0.5
STOP_SECONDS = 5.0


def environment_of(settings: Settings, **overrides: str) -> dict[str, str]:
    """The environment of a child that works on the same data, with some settings of its own."""
    return child_environment(
        ORC_DATA_DIR=str(settings.data_dir.resolve()),
        ORC_TOKEN_CACHE=str(settings.token_cache_dir.resolve()),
        **overrides,
    )


async def keep_running(what: str, arguments: Sequence[str], environment: Mapping[str, str]) -> None:
    """Run Python with these arguments, again whenever it ends, until cancelled; then it is stopped.

    The child should end when its standard input does: the pipe ends with this process.
    """
    while True:
        process = await asyncio.create_subprocess_exec(
            sys.executable, *arguments, env=environment, stdin=asyncio.subprocess.PIPE
        )
        try:
            code = await process.wait()
        except asyncio.CancelledError:
            await _stop(process)
            raise
        logger.error("%s ended with code %s; starting it again", what, code)
        await asyncio.sleep(RESTART_SECONDS)


async def _stop(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()
