"""What is deployed: the files that Azure gets, and what they say."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import azure_functions_runtime
import pytest
from azurefunctions.extensions.http import fastapi
from pydantic import AliasChoices
from pydantic.fields import FieldInfo

from devkit.shared_data import ROOT
from orc.settings import AuthMode, Settings
from orc_core.extraction.extractor import LIMITS
from orc_core.infra.setting_names import deprecation_warnings
from orc_core.llm.factory import describe
from orc_core.ocr.service import OCR_SECONDS

AZURE_URL_SECONDS = 230
SETTINGS_OF_THE_HOST = {
    "FUNCTIONS_WORKER_RUNTIME": "python",
    "PYTHON_ENABLE_INIT_INDEXING": "1",
    "AzureWebJobsStorage": "",
    "AzureWebJobsSecretStorageType": "files",
}


def deployed_files() -> set[str]:
    """The repository's files, less what .funcignore leaves out (its patterns are those of .gitignore)."""
    files = git("ls-files", "--cached", "--others", "--exclude-standard")
    left_out = git("ls-files", "--cached", "--others", "--ignored", "--exclude-from=.funcignore")
    return files - left_out


def git(*arguments: str) -> set[str]:
    command = ["git", *arguments, "-z"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return set(filter(None, run.stdout.split("\0")))


def load(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((ROOT / name).read_text())
    return content


def test_only_what_the_api_needs_is_deployed() -> None:
    top = {name.partition("/")[0] for name in deployed_files()}
    assert top == {"function_app.py", "host.json", "requirements.txt", "orc", "orc_core"}


def test_what_is_deployed_builds_the_api_without_the_rest(tmp_path: Path) -> None:
    """On Azure the project itself is not installed: there are these files and requirements.txt."""
    for name in deployed_files():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    program = (
        "import function_app, pathlib; assert function_app.build_api.cache_info().currsize == 0; "
        "print(function_app.build_api().title, pathlib.Path(function_app.__file__).parent)"
    )
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    run = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.stdout == f"Orc {tmp_path}\n", run.stderr


def test_the_host_has_no_sampling_which_opentelemetry_ignores() -> None:
    assert load("host.json")["telemetryMode"] == "OpenTelemetry"
    assert "samplingSettings" not in json.dumps(load("host.json"))


def test_the_host_adds_no_prefix_so_that_the_page_is_at_the_root() -> None:
    assert load("host.json")["extensions"]["http"]["routePrefix"] == ""


def function_timeout() -> int:
    hours, minutes, seconds = map(int, load("host.json")["functionTimeout"].split(":"))
    return hours * 3600 + minutes * 60 + seconds


def test_the_host_outlasts_a_turn() -> None:
    assert Settings().turn_deadline_seconds < AZURE_URL_SECONDS < function_timeout()


def test_the_host_outlasts_the_reading_of_a_document() -> None:
    """It would end the process, and then every process that replaces it."""
    assert function_timeout() > LIMITS.wall + OCR_SECONDS + 600


def test_an_instance_has_as_many_documents_in_hand_as_a_worker() -> None:
    queues = load("host.json")["extensions"]["queues"]
    assert queues["batchSize"] + queues["newBatchThreshold"] == Settings().worker_concurrency


def test_the_example_settings_are_settings_of_orc_or_of_the_host() -> None:
    """A name with a mistake in it would be ignored without a word."""
    values = load("local.settings.json.example")["Values"]
    assert SETTINGS_OF_THE_HOST.items() <= values.items()
    known = {name for field in Settings.model_fields.items() for name in environment_names(*field)}
    assert values.keys() - SETTINGS_OF_THE_HOST.keys() <= known
    assert deprecation_warnings(values) == []


def environment_names(name: str, field: FieldInfo) -> set[str]:
    alias = field.validation_alias
    return set(map(str, alias.choices)) if isinstance(alias, AliasChoices) else {f"ORC_{name}".upper()}


def test_the_example_settings_run_offline_for_one_local_user(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in load("local.settings.json.example")["Values"].items():
        monkeypatch.setenv(name, value)
    settings = Settings()
    assert settings.auth_mode is AuthMode.LOCAL
    assert describe(settings).startswith("the offline")


def test_the_worker_has_one_event_loop() -> None:
    """Clients are made once in a process: none of Azure's packages may start another loop for a function."""
    folders = [Path(found.__path__[0]) for found in (azure_functions_runtime, fastapi)]
    sources = [file.read_text(encoding="utf-8") for each in folders for file in each.rglob("*.py")]
    assert any("create_task(web_server_run_task)" in source for source in sources)
    starting = re.compile(r"new_event_loop|asyncio\.run\(|asyncio\.Runner|run_until_complete|uvicorn\.run\(")
    assert [found for source in sources for found in starting.findall(source)] == []
