"""The rules that conftest.py and pyproject.toml lay on every test."""

import os
import socket
import subprocess
import sys
import warnings
from functools import partial
from pathlib import Path
from textwrap import dedent

import pytest
from pytest_socket import SocketConnectBlockedError

from devkit.shared_data import ROOT

SKIPPING_TESTS = {
    "test_mark.py": "import pytest\n\n@pytest.mark.skip(reason='no mark')\ndef test_it(): ...\n",
    "test_call.py": "import pytest\n\ndef test_it(): pytest.skip('no call')\n",
    "test_module.py": "import pytest\npytest.skip('no module', allow_module_level=True)\n",
    "test_fixtures.py": """
        import pytest

        from devkit.errors import NotInstalled

        @pytest.fixture(scope="session")
        def emulator(): raise NotInstalled("no program")

        @pytest.fixture(scope="session")
        def skipping(): pytest.skip("no fixture")

        def test_first(emulator): ...

        def test_second(emulator): ...

        def test_third(skipping): ...

        def test_itself(): raise NotInstalled("no program")
    """,
}


CERTIFICATES = "SSL_CERT_FILE"
ALL_AUTHORITIES = {
    "test_authorities.py": f"import os\n\ndef test_it(): assert {CERTIFICATES!r} not in os.environ\n"
}

LOGGING_TESTS = {
    "test_a_change.py": """
        import logging

        def test_it():
            logging.setLogRecordFactory(lambda *args, **kwargs: None)
            logging.getLogger("made.here").setLevel("ERROR")
            logging.getLogger("concurrent.futures").setLevel("DEBUG")
            logging.disable()
            logging.root.handlers.append(logging.NullHandler())
            logging.root.setLevel("CRITICAL")
    """,
    "test_b_state.py": """
        import logging

        def test_it():
            assert logging.getLogRecordFactory() is logging.LogRecord
            assert logging.root.manager.disable == 0
            levels = [logging.getLogger(name).level for name in ("made.here", "concurrent.futures")]
            assert [*levels, logging.root.level] == [0, 0, logging.WARNING]
            assert not any(type(each) is logging.NullHandler for each in logging.root.handlers)
    """,
}


def run_tests(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs a suite under this suite's own conftest.py."""
    (folder / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text())
    for name, source in (SKIPPING_TESTS | ALL_AUTHORITIES | LOGGING_TESTS).items():
        (folder / name).write_text(dedent(source))
    options = ["-q", "-p", "no:cacheprovider", "--continue-on-collection-errors"]
    unset = {"ORC_REQUIRE_ALL", CERTIFICATES}
    inherited = {name: value for name, value in os.environ.items() if name not in unset}
    return subprocess.run(
        [sys.executable, "-m", "pytest", *options],
        cwd=folder,
        env=inherited | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_skips_a_real_service_and_changes_of_logging_are_allowed(tmp_path: Path) -> None:
    """A real service may have a certificate of any authority; what a test does to logging ends with it."""
    run = run_tests(tmp_path, ORC_TEST_SEARCH_URL="https://search.example")
    assert "3 passed, 7 skipped" in run.stdout
    assert "3 skipped: no program\n" in run.stdout
    assert run.returncode == 0


def test_every_kind_of_skip_fails_with_its_reason_under_require_all(tmp_path: Path) -> None:
    run = run_tests(tmp_path, ORC_REQUIRE_ALL="1")
    assert run.returncode == 1
    assert "skipped in" not in run.stdout
    for reason in ("no mark", "no call", "no module", "no fixture", "no program"):
        assert f"may not be skipped under ORC_REQUIRE_ALL=1: Skipped: {reason}" in run.stdout


def test_a_warning_about_our_code_is_an_error_and_one_about_a_dependency_is_not() -> None:
    warn = partial(warnings.warn_explicit, "old", DeprecationWarning, "file.py", 1)
    warn(module="langsmith.client")
    for ours in ("orc_core.names", "tests.unit.test_it", "function_app"):
        with pytest.raises(DeprecationWarning):
            warn(module=ours)


def test_the_network_beyond_loopback_is_closed() -> None:
    with (
        socket.socket() as outside,
        pytest.warns(UserWarning, match="192.0.2.1"),
        pytest.raises(SocketConnectBlockedError),
    ):
        outside.connect(("192.0.2.1", 80))


def test_loopback_is_open() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname()).close()


def test_no_test_runs_in_the_repository_or_with_its_data() -> None:
    assert ROOT not in (Path.cwd(), *Path.cwd().parents)
    assert ROOT not in Path(os.environ["ORC_DATA_DIR"]).parents
