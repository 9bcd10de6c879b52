"""The wheel of `make package`, installed without its extras: it serves the page and answers by itself."""

import os
import subprocess
import sys
import uuid
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from devkit.shared_data import HANDBOOK, ROOT
from devkit.system import System, upload

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
OWN_CODE = {"PYTHONPATH": ""}
"""The tests' own processes find the checkout by this variable; these must not."""


@dataclass(frozen=True)
class Installed:
    wheel: Path
    programs: Path
    """The folder of the environment's programs."""


def uv(*arguments: str | Path) -> None:
    run(sys.executable, "-m", "uv", *arguments)


def run(*command: str | Path) -> None:
    # As the Makefile does, and with all authorities: the tests' own processes know one.
    environment = {name: value for name, value in os.environ.items() if name != "SSL_CERT_FILE"}
    environment |= {"UV_SYSTEM_CERTS": "1", "UV_NATIVE_TLS": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    folder = tmp_path_factory.mktemp("package")
    with_this = (f"UV={Path(sys.executable).parent / 'uv'}", f"PYTHON={sys.executable}")
    run("make", "package", f"DIST={folder / 'dist'}", *with_this)
    [wheel] = (folder / "dist").glob("orc_documents-*.whl")
    assert list((folder / "dist").glob("orc_documents-*.tar.gz"))
    uv("venv", "--quiet", "--python", sys.executable, folder / "venv")
    python = folder / "venv" / "bin" / "python"
    # What `make run` installs: the versions of the lock, without Azure's libraries.
    pins = folder / "pins.txt"
    uv("export", "--quiet", "--frozen", "--project", ROOT, "--no-dev", "--no-emit-project", "-o", pins)
    uv("pip", "install", "--quiet", "--python", python, "-r", pins, wheel)
    return Installed(wheel, python.parent)


@pytest.fixture(scope="module")
def system(installed: Installed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    python = str(installed.programs / "python")
    system = System(tmp_path_factory.mktemp("data"), environment=OWN_CODE, python=python)
    try:
        system.start()
        yield system
    finally:
        system.stop()


def test_the_wheel_takes_no_name_that_others_use(installed: Installed) -> None:
    names = {name.split("/")[0] for name in zipfile.ZipFile(installed.wheel).namelist()}
    assert {name for name in names if not name.endswith(".dist-info")} == {"orc", "orc_core", "mcp_server"}


def test_nothing_of_azure_is_installed(installed: Installed) -> None:
    [packages] = (installed.programs.parent / "lib").glob("python*/site-packages")
    assert [
        each.name for each in packages.iterdir() if each.name.startswith(("azure", "msal", "msrest"))
    ] == []


@pytest.mark.parametrize(
    "names",
    [
        {"AZURE_COSMOS_ENDPOINT": "https://orc.documents.azure.com"},
        {"AZURE_STORAGE_ACCOUNT_URL": "https://orc.blob.core.windows.net"},
        {"AZURE_SEARCH_ENDPOINT": "https://orc.search.windows.net"},
        {"AZURE_DOCUMENT_INTELLIGENCE_ENDPOINT": "https://orc.cognitiveservices.azure.com"},
        {"AZURE_OPENAI_ENDPOINT": "https://orc.openai.azure.com", "ORC_MODEL": "gpt-5.1"},
        {"ORC_JUDGE": "azure", "AZURE_CONTENT_SAFETY_ENDPOINT": "https://orc.cognitiveservices.azure.com"},
        {"ORC_TELEMETRY_EXPORTERS": "azure", "APPLICATIONINSIGHTS_CONNECTION_STRING": "InstrumentationKey=0"},
    ],
    ids=lambda names: next(iter(names)),
)
def test_a_service_of_azure_says_what_to_install(
    installed: Installed, names: dict[str, str], tmp_path: Path
) -> None:
    environment = names | {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "COLUMNS": "300"}
    # The diagnosis exports nothing.
    arguments = ["ask", HANDBOOK, "Why?"] if "ORC_TELEMETRY_EXPORTERS" in names else ["doctor"]
    said = subprocess.run(
        [installed.programs / "orc", *arguments],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (said.returncode, said.stdout) == (2, "")
    assert len(said.stderr.splitlines()) == 1
    assert "pip install 'orc-documents[azure]'" in said.stderr


def test_the_installed_command_answers_with_a_citation(installed: Installed, tmp_path: Path) -> None:
    question = "How many days of annual leave does a new employee get?"
    asked = subprocess.run(
        [installed.programs / "orc", "ask", HANDBOOK, question],
        cwd=tmp_path, env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    assert "28 working days" in asked.stdout
    assert "harbour-handbook.pdf, page 5" in asked.stdout


def test_the_installed_server_has_the_page_and_answers(system: System) -> None:
    page = httpx.get(system.api.removesuffix("api"))
    assert page.status_code == 200
    assert "<title>Orc</title>" in page.text
    conversation = str(uuid.uuid4())
    with system.client() as client:
        assert upload(client, conversation, HANDBOOK).status_code == 201
        asked = {"question": "How many days of annual leave are there?", "conversation_id": conversation}
        answer = client.post("/orc", json=asked).json()
    assert "28 working days" in answer["answer"]
    assert "verified" in str(answer["citations"])
