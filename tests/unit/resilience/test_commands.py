"""The commands of the campaigns leave nothing behind, however they are ended."""

import importlib
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).resolve().parents[3]
COMMANDS = sorted(
    file.stem for file in (ROOT / "resilience").glob("*.py") if "sys.exit(main())" in file.read_text()
)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_campaign_ends_at_sigterm_as_at_ctrl_c(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module(f"resilience.{name}")
    handlers: list[object] = []

    def look(*_words: object, **_options: object) -> None:
        handlers.append(signal.getsignal(signal.SIGTERM))
        raise SystemExit

    monkeypatch.setattr("argparse.ArgumentParser", look)
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(SystemExit):
        module.main()
    assert callable(handlers[0]) and handlers[0] != before
    assert signal.getsignal(signal.SIGTERM) == before


@pytest.mark.slow
def test_the_servers_of_a_campaign_end_with_it() -> None:
    command = [sys.executable, "-m", "resilience.kill_tools", "--count", "1000"]
    servers, tools = set[psutil.Process](), set[psutil.Process]()
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as program:
        try:
            deadline = time.monotonic() + 120
            # The third tools server is in the place of one that was killed: kills are under way.
            while len(tools) < 3:
                assert time.monotonic() < deadline and program.poll() is None
                time.sleep(0.05)
                servers |= set(psutil.Process(program.pid).children(recursive=True))
                tools |= {each for each in servers - tools if _is_tools_server(each)}
            program.terminate()
            program.wait(60)
            _, left = psutil.wait_procs(servers, 5)
            assert [each for each in left if each.status() != psutil.STATUS_ZOMBIE] == []
        finally:
            for each in servers:
                with suppress(psutil.NoSuchProcess):
                    each.kill()
            program.kill()


def _is_tools_server(process: psutil.Process) -> bool:
    """Whether `orc serve` has started it as a tools server, whose own children can have the same command."""
    with suppress(psutil.Error):
        parent = process.parent()
        return "mcp_server" in process.cmdline() and parent is not None and "serve" in parent.cmdline()
    return False
