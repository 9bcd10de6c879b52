"""Systems without Landlock. What it forbids to a child is in test_sandbox.py."""

import ctypes
import sys
from pathlib import Path

import pytest

from orc_core.infra.sandbox_child import isolate

LANDLOCK_CREATE_RULESET, VERSION = 444, 1
has_landlock = sys.platform == "linux" and (
    ctypes.CDLL(None).syscall(LANDLOCK_CREATE_RULESET, None, 0, VERSION) > 0
)
needs_landlock = pytest.mark.skipif(not has_landlock, reason="this kernel has no Landlock")


def test_a_system_without_landlock_goes_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert isolate(tmp_path) is False
