"""The order of the suite, and the groups of tests that share a process."""

from types import SimpleNamespace
from typing import Any

import pytest

from devkit.suite_order import group_of, require_groups, start_slowest_first


def item(nodeid: str, *fixtures: str, slow: bool = False) -> Any:
    return SimpleNamespace(
        nodeid=nodeid, fixturenames=fixtures, get_closest_marker=lambda name: slow and name == "slow"
    )


def test_modules_with_the_running_system_share_a_process_and_others_have_their_own() -> None:
    shared = {group_of(f"tests/system/{name}.py") for name in ("test_isolation", "test_turns_over_http")}
    assert shared == {"orc"}
    assert group_of("tests/test_readme.py") == group_of("tests/unit/orc/api/test_uploads.py")
    for module in ("tests/system/test_backup.py", "tests/unit/mcp_server/test_mcp_server.py"):
        assert group_of(module) == module


def test_a_module_that_uses_the_running_system_outside_of_its_group_is_refused() -> None:
    require_groups([item("tests/system/test_isolation.py::test_it", "orc")])
    require_groups([item("tests/campaigns/test_crashes.py::test_it", "orc")])
    require_groups([item("tests/system/test_backup.py::test_it")])
    for fixture, module in (("orc", "test_backup"), ("offline_system", "test_isolation")):
        with pytest.raises(pytest.UsageError, match=rf"system/{module}\.py uses {fixture}"):
            require_groups([item(f"tests/system/{module}.py::test_it", fixture)])


def test_slow_folders_start_first_then_the_modules_with_most_slow_tests() -> None:
    items = [
        item("tests/unit/a.py::test_1"),
        item("tests/unit/b.py::test_1", slow=True),
        item("tests/unit/c.py::test_1", slow=True),
        item("tests/unit/c.py::test_2"),
        item("tests/unit/c.py::test_3", slow=True),
        item("tests/system/d.py::test_1"),
        item("tests/campaigns/e.py::test_1"),
        item("tests/web/f.py::test_1"),
    ]
    start_slowest_first(items)
    assert [each.nodeid[6:].replace(".py::test", "") for each in items] == [
        "web/f_1",
        "campaigns/e_1",
        "system/d_1",
        "unit/c_1",
        "unit/c_2",
        "unit/c_3",
        "unit/b_1",
        "unit/a_1",
    ]
