"""In which order tests start, and which of them share a process of pytest-xdist."""

from collections import Counter
from collections.abc import Iterable
from pathlib import PurePosixPath

import pytest
from xdist.scheduler import LoadScopeScheduling

SLOWEST = (
    "tests/campaigns",
    "tests/system",
    "tests/unit/bench",
    "tests/unit/evals",
    "tests/test_functions_part",
)
RUNNING_SYSTEM = "orc"
"""The fixture of tests/system/conftest.py with the running product: 8 s of processor time in each process."""
SHARING = {
    "test_injection",
    "test_inspector",
    "test_isolation",
    "test_mcp_server",
    "test_names_over_http",
    "test_pages_over_http",
    "test_openapi",
    "test_problems_over_http",
    "test_reuse_over_http",
    "test_streams_over_http",
    "test_tool_tokens",
    "test_turns_over_http",
}
"""The modules of tests/system that use it."""


class SharedSystem(LoadScopeScheduling):  # type: ignore[misc]
    """The tests of a module share a process, and so do all modules that use the one running system."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(super()._split_scope(nodeid))


def group_of(module: str) -> str:
    """The group of a module (a path from the root of the repository), which is itself for most of them."""
    path = PurePosixPath(module)
    shares = path.parent.as_posix() == "tests/system" and path.stem in SHARING
    return "tests/system" if shares else module


def require_groups(items: Iterable[pytest.Item]) -> None:
    """Raise UsageError if a module uses the running system from another process than its other users."""
    for item in items:
        module = item.nodeid.partition("::")[0]
        alone = module.startswith("tests/system/") and group_of(module) == module
        if alone and RUNNING_SYSTEM in getattr(item, "fixturenames", ()):
            raise pytest.UsageError(f"{module} uses the running system: add it to devkit/suite_order.py")


def start_slowest_first(items: list[pytest.Item]) -> None:
    """Sort modules by their folder and their number of slow tests: a long one must not start last."""
    slow = Counter(_module(item) for item in items if item.get_closest_marker("slow"))
    items.sort(key=lambda item: (_rank(item.nodeid), -slow[_module(item)]))


def _rank(nodeid: str) -> int:
    return next((n for n, path in enumerate(SLOWEST) if nodeid.startswith(path)), len(SLOWEST))


def _module(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]
