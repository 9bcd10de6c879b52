"""What is exported, to where, and that nothing is set up where nothing is."""

import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import orc
import orc_core
from devkit.doubles.application_insights import ingesting
from devkit.shared_data import ROOT
from orc_core.errors import InvalidInput
from orc_core.infra.settings import CoreSettings
from orc_core.infra.telemetry.exporters import build_providers
from orc_core.infra.telemetry.setup import Telemetry

pytestmark = pytest.mark.slow

RECORDING = """
from orc_core.infra.settings import CoreSettings
from orc_core.infra.telemetry.setup import start_telemetry
from orc_core.infra.telemetry.spans import span

telemetry = start_telemetry(CoreSettings(), "orc-tools")
assert start_telemetry(CoreSettings(), "another") is not telemetry
with span("turn"):
    pass
"""


def run(program: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    surroundings = {"PYTHONPATH": str(ROOT), "PATH": "", **environment}
    ran = subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        env=surroundings,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran


@pytest.mark.slow
def test_where_nothing_is_exported_nothing_is_set_up(tmp_path: Path) -> None:
    program = """
import sys
from opentelemetry import trace
from orc.api.app import create_app
from orc.settings import Settings
import mcp_server.server

create_app(Settings())
assert isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)
assert not {"orc_core.infra.telemetry.exporters", "opentelemetry.exporter.otlp"} & set(sys.modules)
"""
    run(program, tmp_path)


def test_the_console_is_standard_error_and_has_all_when_the_process_ends(tmp_path: Path) -> None:
    ran = run(RECORDING, tmp_path, ORC_TELEMETRY_EXPORTERS="console")
    assert ran.stdout == ""
    [span] = [json.loads(line) for line in ran.stderr.splitlines() if '"name": "turn"' in line]
    attributes = span["resource"]["attributes"]
    assert (attributes["service.name"], attributes["service.version"]) == ("orc-tools", orc_core.__version__)


def test_the_version_is_one() -> None:
    assert orc_core.__version__ == orc.__version__


@pytest.mark.slow
def test_azure_receives_what_the_process_ends_with(tmp_path: Path) -> None:
    with ingesting() as (address, received):
        settings = {
            "ORC_TELEMETRY_EXPORTERS": "azure",
            "APPLICATIONINSIGHTS_CONNECTION_STRING": address,
            # Microsoft's usage statistics of its library, which have another destination.
            "APPLICATIONINSIGHTS_STATSBEAT_DISABLED_ALL": "true",
            "APPLICATIONINSIGHTS_CONTROLPLANE_DISABLED": "true",
        }
        assert "Failed" not in run(RECORDING, tmp_path, **settings).stderr
    [turn] = [item for item in received if item["data"]["baseData"].get("name") == "turn"]
    assert turn["tags"]["ai.cloud.role"] == "orc-tools"


def test_azure_needs_a_connection_string() -> None:
    with pytest.raises(InvalidInput, match="APPLICATIONINSIGHTS_CONNECTION_STRING"):
        build_providers(CoreSettings(telemetry_exporters=["azure"]), "orc-api", (), ())
    unusable = CoreSettings(telemetry_exporters=["azure"], applicationinsights_connection_string="nonsense")
    with pytest.raises(InvalidInput, match="APPLICATIONINSIGHTS_CONNECTION_STRING"):
        build_providers(unusable, "orc-api", (), ())


@pytest.mark.slow
def test_an_end_does_not_wait_for_what_does_not_answer() -> None:
    answer = threading.Event()

    def send() -> None:
        answer.wait()

    ended = threading.Thread(target=Telemetry(send).close)
    ended.start()
    ended.join(10)
    assert not ended.is_alive()
    answer.set()
