"""In which order tests start, and which of them share a process of pytest-xdist."""

from collections import Counter
from collections.abc import Iterable

import pytest
from xdist.scheduler import LoadScopeScheduling

SLOWEST = (
    "tests/web",
    "tests/test_other_pythons",
    "tests/campaigns",
    "tests/system",
    "tests/seeds",
    "tests/unit/bench",
    "tests/unit/evals",
    "tests/test_functions_part",
)
"""What starts first. Nearly all of `tests/web` shares a browser, so one process runs it: at the end of the
suite the others would wait for it."""
# Why tests share running products: docs/decisions/tests.md.
SHARING = {
    "orc": {
        "tests/system/test_injection",
        "tests/system/test_inspector",
        "tests/system/test_isolation",
        "tests/system/test_mcp_server",
        "tests/system/test_names_over_http",
        "tests/system/test_openapi",
        "tests/system/test_pages_over_http",
        "tests/system/test_problems_over_http",
        "tests/system/test_reuse_over_http",
        "tests/system/test_streams_over_http",
        "tests/system/test_tool_tokens",
        "tests/system/test_turns_over_http",
    },
    "offline_system": {
        "tests/system/test_documents_over_http",
        "tests/system/test_generated_client",
        "tests/test_readme",
        "tests/unit/orc/api/test_uploads",
    },
    "visit": {
        "tests/web/test_about_collections",
        "tests/web/test_access",
        "tests/web/test_asking",
        "tests/web/test_checks",
        "tests/web/test_collections",
        "tests/web/test_files",
        "tests/web/test_finished",
        "tests/web/test_first_use",
        "tests/web/test_fits",
        "tests/web/test_keyboard",
        "tests/web/test_layout",
        "tests/web/test_lists",
        "tests/web/test_notes",
        "tests/web/test_page",
        "tests/web/test_panel",
        "tests/web/test_people",
        "tests/web/test_places",
        "tests/web/test_proposals",
        "tests/web/test_reading",
        "tests/web/test_refused",
        "tests/web/test_seed_notes",
        "tests/web/test_sessions",
        "tests/web/test_sharing",
        "tests/web/test_shelf",
        "tests/web/test_sign_in",
        "tests/web/test_undo",
        "tests/web/test_viewers",
    },
}
"""The fixtures with a running product, which take 7 s of processor time, and the modules that use them."""
_GROUPS = {module: fixture for fixture, modules in SHARING.items() for module in modules}
_ALONE = ("tests/campaigns/",)
"""Folders whose modules may have the running system for themselves."""


class SharedSystem(LoadScopeScheduling):  # type: ignore[misc]
    """The tests of a module share a process, and so do all modules that use the same running product.

    Runs on other Pythons share nothing: each takes minutes.
    """

    def _split_scope(self, nodeid: str) -> str:
        alone = nodeid.startswith("tests/test_other_pythons")
        return nodeid if alone else group_of(super()._split_scope(nodeid))


def group_of(module: str) -> str:
    """The group of a module (a path from the root of the repository), which is itself for most of them."""
    return _GROUPS.get(module.removesuffix(".py"), module)


def require_groups(items: Iterable[pytest.Item]) -> None:
    """Raise UsageError if a module uses a running product from another process than its other users."""
    for item in items:
        module = item.nodeid.partition("::")[0]
        used = SHARING.keys() & set(getattr(item, "fixturenames", ()))
        if used - {group_of(module)} and not module.startswith(_ALONE):
            raise pytest.UsageError(f"{module} uses {min(used)}: add it to devkit/suite_order.py")


def start_slowest_first(items: list[pytest.Item]) -> None:
    """Sort modules by their folder and their number of slow tests: a long one must not start last."""
    slow = Counter(_module(item) for item in items if item.get_closest_marker("slow"))
    items.sort(key=lambda item: (_rank(item.nodeid), -slow[_module(item)]))


def _rank(nodeid: str) -> int:
    return next((n for n, path in enumerate(SLOWEST) if nodeid.startswith(path)), len(SLOWEST))


def _module(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]
