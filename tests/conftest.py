"""Rules for the whole suite: the machine stays as it was, and under ORC_REQUIRE_ALL=1 nothing may skip.

The network is closed beyond loopback by pytest-socket, whose options stand in pyproject.toml.
"""

import os
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from tests.shared_data import HANDBOOK, ROOT, SHARED

FOREIGN_SETTINGS = ("ORC_", "OPENAI_", "AZURE_", "LANGCHAIN_", "LANGSMITH_", "OTEL_")
KEPT_SETTINGS = {"ORC_REQUIRE_ALL"}

# Azure's Functions runtime needs 3.13: there its tests run with the others, elsewhere through one test.
ON_3_13 = sys.version_info >= (3, 13)
collect_ignore = ["test_functions_part.py" if ON_3_13 else "functions"]

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)


@pytest.fixture(scope="session", autouse=True)
def clean_machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the developer's settings, `.env` and `.orc` out of the tests, and the tests out of them.

    Tests run in an empty folder; processes that they start find the code through PYTHONPATH.
    """
    folder = tmp_path_factory.mktemp("machine")
    with pytest.MonkeyPatch.context() as patch:
        for name in set(os.environ) - KEPT_SETTINGS:
            if name.startswith(FOREIGN_SETTINGS):
                patch.delenv(name)
        patch.setenv("ORC_DATA_DIR", str(folder / ".orc"))
        patch.setenv("PYTHONPATH", str(ROOT))
        patch.chdir(folder)
        yield


@pytest.fixture
def shared() -> Path:
    """The data folder beside the repository; the test is skipped where there is none."""
    if not SHARED.is_dir():
        pytest.skip("the folder ../shared with the test documents is not there")
    return SHARED


@pytest.fixture
def handbook() -> Path:
    """The sample document that ships with the repository."""
    return HANDBOOK


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    return refuse_skip((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    return refuse_skip((yield))


def refuse_skip(report: Report) -> Report:
    """Turn a skipped report into a failed one that says why, if everything has to run."""
    if report.skipped and os.environ.get("ORC_REQUIRE_ALL") == "1":
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"{report.nodeid} may not be skipped under ORC_REQUIRE_ALL=1: {reason}"
    return report
