"""The commands of the campaigns clean up at SIGTERM as they do at Ctrl+C."""

import importlib
import signal

import pytest

from devkit.shared_data import ROOT

COMMANDS = sorted(
    file.stem for file in (ROOT / "resilience").glob("*.py") if "sys.exit(main())" in file.read_text()
)


@pytest.mark.slow
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
