"""The commands of the campaigns leave nothing behind, however they are ended."""

import importlib
import signal

import psutil
import pytest

from devkit.processes import is_tools_server, left_behind
from devkit.shared_data import ROOT

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
    tools = set[psutil.Process]()

    def are_killed(servers: set[psutil.Process]) -> bool:
        tools.update(each for each in servers - tools if is_tools_server(each))
        # The third one is in the place of one that was killed.
        return len(tools) == 3

    command = ["-m", "resilience.kill_tools", "--count", "1000"]
    assert left_behind(command, signal.SIGTERM, are_killed) == []
