"""Rules for the whole suite: the machine stays as it was, and under ORC_REQUIRE_ALL=1 nothing may skip.

The network is closed beyond loopback by pytest-socket, whose options are in pyproject.toml.
"""

import gc
import os
import sys
from collections import Counter
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import certifi
import hypothesis
import pytest

from devkit.azure.targets import PREFIX, Target, real
from devkit.clock import Clock
from devkit.errors import NotInstalled
from devkit.process_state import logging_restored
from devkit.shared_data import HANDBOOK, ROOT, SHARED
from devkit.suite_order import SharedSystem, require_groups, start_slowest_first

if TYPE_CHECKING:
    from xdist.remote import Producer

    from devkit.recorded_telemetry import Recorded
    from devkit.system import System

FOREIGN_SETTINGS = (
    "ORC_", "OPENAI_", "AZURE_", "LANGCHAIN_", "LANGSMITH_", "OTEL_", "GOOGLE_SEARCH_", "BRAVE_SEARCH_",
)  # fmt: skip
KEPT_SETTINGS = {"ORC_REQUIRE_ALL"}
EMULATORS = {"cosmos_target", "storage_target", "search_target"}
EMULATED_ADAPTERS = {"cosmos", "azurite", "azure"}

# Azure's Functions runtime needs 3.13: there its tests run with the others, elsewhere through one test.
ON_3_13 = sys.version_info >= (3, 13)
collect_ignore = ["test_functions_part.py" if ON_3_13 else "functions"]

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)

# A busy machine fails no property.
hypothesis.settings.register_profile("no deadline", deadline=None)
hypothesis.settings.register_profile("many examples", deadline=None, max_examples=2000)
hypothesis.settings.load_profile("no deadline")

gc.disable()  # while tests are imported and collected, which then takes a seventh less; see below


@pytest.fixture(scope="session", autouse=True)
def clean_machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the developer's settings, `.env` and `.orc` out of the tests, and the tests out of them.

    Tests run in an empty folder; processes that they start find the code through PYTHONPATH.
    """
    folder = tmp_path_factory.mktemp("machine")
    with pytest.MonkeyPatch.context() as patch:
        for name in set(os.environ) - KEPT_SETTINGS:
            if name.startswith(FOREIGN_SETTINGS) and not name.startswith(PREFIX):
                patch.delenv(name)
        patch.setenv("ORC_DATA_DIR", str(folder / ".orc"))
        patch.setenv("PYTHONPATH", str(ROOT))
        patch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)  # a process without bytecode starts 2 s later
        if not any(map(real, ("COSMOS", "STORAGE", "SEARCH"))):
            patch.setenv("SSL_CERT_FILE", str(one_authority(folder)))
        patch.chdir(folder)
        yield


def one_authority(folder: Path) -> Path:
    """A certificate file with one entry: every TLS context reads it, and all of certifi's take 40 ms."""
    file, end = folder / "authority.pem", "-----END CERTIFICATE-----\n"
    file.write_text(certifi.contents().partition(end)[0] + end)
    return file


@pytest.fixture
def clock() -> Clock:
    """The clock of a test, which moves it."""
    return Clock()


@pytest.fixture(scope="session")
def cosmos_target() -> Iterator[Target]:
    """Cosmos DB: its emulator, started once, or a real account. Each test creates its own database."""
    from devkit.doubles.cosmos_emulator import running

    if target := real("COSMOS"):
        yield target
    else:
        with running() as target:
            yield target


@pytest.fixture(scope="session")
def storage_target() -> Iterator[Target]:
    """Blob and queue storage: Azurite, started once, or a real account."""
    from devkit.doubles.azurite import running

    if target := real("STORAGE"):
        yield target
    else:
        with running() as target:
            yield target


@pytest.fixture(scope="session")
def search_target() -> Iterator[Target]:
    """AI Search: a double of its REST API, started once, or a real service."""
    from devkit.doubles.search_double import running

    if target := real("SEARCH"):
        yield target
    else:
        with running() as target:
            yield target


@pytest.fixture(scope="session")
def upstash_target() -> Iterator[Target]:
    """Upstash Vector: a double of its REST API, started once, or a real index."""
    from devkit.doubles.upstash_double import UpstashDouble, serving

    if target := real("UPSTASH"):
        yield target
    else:
        with serving(UpstashDouble()) as target:
            yield target


@pytest.fixture(scope="session")
def offline_system(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[System]":
    """An Orc as users start it, with the offline model. No test may stop it or change its settings."""
    from devkit.system import running

    with running(tmp_path_factory.mktemp("offline")) as system:
        yield system


@pytest.fixture
def recorded() -> "Iterator[Recorded]":
    """The spans and metrics of this process. From the first test that asks on, every test makes them."""
    from devkit.recorded_telemetry import recording

    with recording() as recorded:
        yield recorded


@pytest.fixture
def shared() -> Path:
    """The data folder next to the repository; the test is skipped if there is none."""
    if not SHARED.is_dir():
        pytest.skip("the folder ../shared with the test documents is not there")
    return SHARED


@pytest.fixture(scope="session")
def full_size(request: pytest.FixtureRequest) -> bool:
    """Whether campaigns run at full size (`--campaigns`) or at the smallest size that can find a bug."""
    return bool(request.config.getoption("--campaigns"))


@pytest.fixture
def handbook() -> Path:
    """The sample document that ships with the repository."""
    return HANDBOOK


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Generator[None, object, object]:
    """Put logging back after each test, whatever it did, or the fixtures that it was the first to need."""
    with logging_restored():
        return (yield)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Note which adapter a contract's test runs against: the parameter of the fixture `adapter`."""
    marker, call = item.get_closest_marker("contract"), getattr(item, "callspec", None)
    if marker is not None and call is not None and "adapter" in call.params:
        item.user_properties.append(("contract", (marker.args[0], call.params["adapter"])))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    call: pytest.CallInfo[None],
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Report a test that needs a missing program as skipped, whether it or a fixture says so.

    Not where the exception is raised: pytest raises that of a failed fixture again for its later tests.
    """
    if call.excinfo is not None and isinstance(call.excinfo.value, NotInstalled):
        reason = str(call.excinfo.value)
        call.excinfo = pytest.CallInfo.from_call(lambda: pytest.skip(reason), call.when).excinfo
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


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--campaigns", action="store_true", help="run campaigns too, and at their full size")


def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput"):
        os.environ["COLUMNS"] = "240"  # a process of xdist would wrap the messages that tests compare
    config.addinivalue_line("markers", "contract(port): what every adapter of this port must do")
    config.addinivalue_line("markers", "campaign: takes minutes; runs with --campaigns only")
    config.addinivalue_line("markers", "slow: a tenth of a second or more, or a module of such tests")
    config.addinivalue_line("markers", "emulator: needs an emulator of an Azure service; set by conftest.py")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One process more than there are processors: some tests wait for others to answer."""
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: "Producer") -> SharedSystem:
    return SharedSystem(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect campaigns unless asked for, mark the tests that start an emulator, start the slowest first."""
    for item in items:
        if needs_emulator(item):
            item.add_marker("emulator")
    require_groups(items)
    start_slowest_first(items)
    if config.getoption("--campaigns"):
        return
    campaigns = [item for item in items if item.get_closest_marker("campaign")]
    items[:] = [item for item in items if item not in campaigns]
    config.hook.pytest_deselected(items=campaigns)


def pytest_collection_finish() -> None:
    """Leave what was collected out of garbage collections: it is large, and stays."""
    gc.freeze()
    gc.enable()


def needs_emulator(item: pytest.Item) -> bool:
    """Whether a test uses a fixture of an Azure service, directly or by its `adapter` parameter."""
    if EMULATORS & set(getattr(item, "fixturenames", ())):
        return True
    call = getattr(item, "callspec", None)
    return call is not None and call.params.get("adapter") in EMULATED_ADAPTERS


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say why tests were left out, how runs on other Pythons ended, and what each adapter passed."""
    reasons = Counter(report.longrepr[2] for report in terminalreporter.getreports("skipped"))
    for reason, count in reasons.most_common():
        terminalreporter.line(f"{count} skipped: {reason.removeprefix('Skipped: ')}")
    passed: Counter[tuple[str, str]] = Counter()
    for report in terminalreporter.getreports("passed"):
        for line in [value for name, value in report.user_properties if name == "other run"]:
            terminalreporter.line(str(line))
        passed.update(value for name, value in report.user_properties if name == "contract")
    if passed:
        terminalreporter.section("contracts")
    for (port, adapter), count in sorted(passed.items()):
        terminalreporter.line(f"{port:14} {adapter:12} {count:4} passed")
