"""The command line: its error messages and its output."""

import asyncio
import errno
import io
import json
import logging
import os
import platform
import re
import socket
import sqlite3
import subprocess
import sys
import threading
import uuid
from collections.abc import Awaitable, Callable
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from rich.console import Console
from typer.testing import CliRunner, Result

from devkit.doubles.openai_double import Failure, OpenAIDouble, serving
from devkit.issuer import issuing
from devkit.remembered_turns import ask
from orc import __version__
from orc.cli import ports
from orc.cli.app import app
from orc.cli.ports import free_port, port_is_free
from orc.cli.serve import SAMPLE, greet
from orc.contexts.models import ContextType
from orc.contexts.people import People
from orc.contexts.service import Caller, ContextService
from orc.contexts.store import ContextStore
from orc.contexts.withholding import RevokedAnswers
from orc.credentials import CredentialStore
from orc.identity import LOCAL_ORGANIZATION, LOCAL_USER, Principal
from orc.retention import open_session_stores
from orc.settings import Settings, load
from orc.sharing import Sharing
from orc_core.bootstrap import open_documents
from orc_core.documents.scope import ScopeTokens
from orc_core.errors import InvalidInput
from orc_core.infra.data_directory import announced
from orc_core.infra.keys import Keys, load_or_create_key
from orc_core.infra.sqlite import SCHEMA_VERSION
from orc_core.names import Owner

pytestmark = pytest.mark.slow


@pytest.fixture
def data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ORC_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("COLUMNS", "300")
    return tmp_path / "data"


def orc(*words: str | Path) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def test_a_missing_file_is_named(data_dir: Path) -> None:
    result = orc("ask", "nowhere.pdf", "What is it?")
    assert result.exit_code == 2
    assert "There is no file nowhere.pdf" in result.stderr


def test_a_folder_in_place_of_a_file_is_named(data_dir: Path, tmp_path: Path) -> None:
    result = orc("ask", tmp_path, "What is it?")
    assert result.exit_code == 2
    assert f"{tmp_path} is a folder. Name the files: orc ask {tmp_path}/*" in result.stderr.replace("\n", " ")


def test_a_forgotten_question_is_explained(data_dir: Path, handbook: Path) -> None:
    result = orc("ask", handbook)
    assert result.exit_code == 2
    assert "then the question in quotes" in result.stderr


def test_commands_that_start_other_processes_import_little_before() -> None:
    program = "import sys, orc.cli.app, orc.cli.serve, orc.cli.ask; sys.stdout.write(' '.join(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not {"mcp", "mcp_types", "langchain_core", "langgraph", "fastapi"} & set(loaded.stdout.split())


@pytest.mark.slow
def test_vectors_need_an_embedding_model(data_dir: Path) -> None:
    result = orc("reindex")
    assert result.exit_code == 2
    assert "There is no embedding model" in result.stderr


@pytest.mark.slow
def test_files_that_cannot_be_used_are_named_with_a_reason_and_the_others_are_read(
    data_dir: Path, tmp_path: Path, handbook: Path
) -> None:
    broken, unusable, unsafe = tmp_path / "broken.pdf", tmp_path / "a\\b.txt", tmp_path / "100%.txt"
    broken.write_bytes(b"%PDF-1.7\nnothing")
    unusable.write_text("Text.")
    unsafe.write_text("The mooring fee is 410 euros a day.")
    files = (broken, unusable, unsafe, handbook)
    result = orc("ask", *files, "How soon must a lost device be reported, and what is the mooring fee?")
    assert result.exit_code == 0, result.stderr
    assert "broken.pdf:" in result.stderr
    assert "a\\b.txt: The document name contains a slash, a backslash" in result.stderr
    assert "Rename the document." in result.stderr
    assert "within two hours" in result.stdout
    assert "same words  harbour-handbook.pdf, page 9" in result.stdout
    assert "410 euros" in result.stdout
    assert "same words  100_.txt, page 1" in result.stdout
    assert not (data_dir / "orc.db").exists()
    assert not (data_dir / "blobs").exists()


@pytest.mark.slow
def test_closest_passages_are_shown_as_such(data_dir: Path, handbook: Path) -> None:
    result = orc("ask", handbook, "Calculate the cost of three nights at the hotel limit in Lisbon.")
    assert result.exit_code == 0, result.stderr
    assert "passages closest to the question, not an answer:" in " ".join(result.stdout.split())
    assert "closest, same words  harbour-handbook.pdf, page" in result.stdout


def test_a_token_needs_a_conversation_with_documents(data_dir: Path) -> None:
    data_dir.mkdir()
    asyncio.run(upload_notes(data_dir, str(uuid.uuid4())))
    result = orc("token", "--conversation", str(uuid.uuid4()))
    assert result.exit_code == 2
    assert "has no documents. Upload one first." in result.stderr


@pytest.mark.slow
@pytest.mark.parametrize("command", [("token",), ("mcp",), ("mcp", "--print-config")])
def test_a_folder_without_data_is_named_and_left_as_it_is(
    command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.delenv("ORC_DATA_DIR", raising=False)
    result = orc(*command, "--conversation", str(uuid.uuid4()))
    assert result.exit_code == 2
    assert f"There is no data in {tmp_path / '.orc'}. Set ORC_DATA_DIR" in result.stderr
    assert list(tmp_path.iterdir()) == []


async def upload_notes(folder: Path, conversation: str) -> None:
    async with open_documents(Settings(data_dir=folder)) as documents:
        source = folder / "source.txt"
        source.write_text("The quay opens at seven.")
        owner = Owner(LOCAL_ORGANIZATION, LOCAL_USER, conversation)
        await documents.library.upload(owner, "notes.txt", source)


def test_the_printed_entry_works_in_any_folder(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation = str(uuid.uuid4())
    data_dir.mkdir()
    asyncio.run(upload_notes(data_dir, conversation))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ORC_DATA_DIR", "data")
    result = orc("mcp", "-c", conversation, "-d", "notes.txt", "--print-config")
    assert result.exit_code == 0, result.stderr
    entry = json.loads(result.stdout)["mcpServers"]["orc"]
    assert entry["env"] == {"ORC_DATA_DIR": str(data_dir)}
    assert Path(entry["command"]).is_absolute()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    monkeypatch.setenv("ORC_DATA_DIR", entry["env"]["ORC_DATA_DIR"])
    again = orc(*entry["args"][2:], "--print-config")
    assert json.loads(again.stdout)["mcpServers"]["orc"] == entry


@pytest.mark.slow
def test_a_token_covers_a_context_and_switches_on_what_it_names(data_dir: Path) -> None:
    data_dir.mkdir()
    conversation = str(uuid.uuid4())
    asyncio.run(upload_notes(data_dir, conversation))
    context = asyncio.run(shared_context(data_dir))
    tool = "documents_add_to_context"
    alone = orc("token", "--context", context)
    both = orc("token", "--context", context, "-c", conversation, "--tool", tool)
    assert (alone.exit_code, both.exit_code) == (0, 0), alone.stderr + both.stderr
    tokens = ScopeTokens(Keys(load_or_create_key(data_dir / "scope.key")))
    shared, whole = (tokens.verify(each.stdout.strip())[0] for each in (alone, both))
    assert [place.id for place in shared.places[1:]] == [context]
    assert not shared.allows(tool, only_reads=False)
    assert whole.conversation_id == conversation
    assert whole.allows(tool, only_reads=False)
    for why, *refused in (
        ("no such context", "--context", "k3v9x2mq7hd4tz1w"),
        ("no such context", "--context", "typo", "-c", conversation),
        ("Name a conversation",),
        ("no tool", "--context", context, "--tool", "no_tool"),
        ("are of a conversation", "--context", context, "--document", "notes.txt"),
    ):
        result = orc("token", *refused)
        assert (result.exit_code, why in " ".join(result.stderr.split())) == (2, True), result.stderr


async def shared_context(folder: Path) -> str:
    caller = Caller(Principal(LOCAL_ORGANIZATION, LOCAL_USER), is_admin=True)
    async with open_documents(Settings(data_dir=folder)) as documents:
        items = await documents.clients.items("contexts")
        contexts = ContextService(ContextStore(items), People(items), everyone_creates=True)
        return (await contexts.create(caller, ContextType.WORKSPACE, "Crew")).context.context_id


def test_the_version_is_printed() -> None:
    result = orc("--version")
    assert (result.exit_code, result.stdout.strip()) == (0, f"orc {__version__}")


def test_a_data_directory_that_cannot_be_made_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.setenv("ORC_DATA_DIR", str(tmp_path / "file" / "data"))
    result = orc("doctor")
    assert result.exit_code == 2
    assert f"The data directory {tmp_path / 'file' / 'data'} cannot be written" in result.stderr


@pytest.mark.parametrize(
    "words",
    [["serve"], ["doctor"], ["backup", "a.zip"], ["token", "--context", "c"]],
    ids=lambda words: words[0],
)
def test_data_of_another_user_is_named(
    words: list[str], data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of a server that runs as a service, whose folder is closed to others. Tests may run as root."""
    closed, look = data_dir / "orc.db", os.stat

    def stat(path: Any, *options: Any, **more: Any) -> os.stat_result:
        if str(path) == str(closed):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return look(path, *options, **more)

    monkeypatch.setattr(os, "stat", stat)
    result = orc(*words)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"orc: This user has no permission for {closed}. ")


@pytest.mark.parametrize("is_checkout", [True, False])
def test_the_example_after_the_start_names_a_file_that_is_there(
    is_checkout: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if is_checkout:
        (tmp_path / SAMPLE).parent.mkdir()
        (tmp_path / SAMPLE).touch()
    monkeypatch.chdir(tmp_path)
    printed = io.StringIO()
    greet(Settings(data_dir=tmp_path), Console(file=printed, width=300))
    assert (str(SAMPLE) in printed.getvalue()) is is_checkout
    assert " ask " in printed.getvalue()


@pytest.mark.parametrize(
    ("settings", "page"),
    [
        ({}, "http://127.0.0.1:7071/"),
        ({"host": "0.0.0.0"}, "http://127.0.0.1:7071/"),
        ({"host": "0.0.0.0", "public_url": "https://orc.example.com"}, "https://orc.example.com/"),
    ],
)
def test_the_address_after_the_start_is_one_that_a_browser_opens(
    settings: dict[str, Any], page: str, tmp_path: Path
) -> None:
    printed = io.StringIO()
    greet(Settings(data_dir=tmp_path, port=7071, **settings), Console(file=printed, width=300))
    assert f"Open {page} in a browser" in printed.getvalue()


@pytest.mark.parametrize("is_active", [True, False])
def test_the_example_after_the_start_is_a_command_that_a_shell_finds(
    is_active: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = Path(sys.executable).with_name("orc")
    monkeypatch.setenv("PATH", str(program.parent) if is_active else str(tmp_path))
    monkeypatch.chdir(program.parent.parent.parent)
    printed = io.StringIO()
    greet(Settings(data_dir=tmp_path), Console(file=printed, width=300))
    command = "orc" if is_active else str(program.relative_to(Path.cwd()))
    assert f"\n  {command} ask " in printed.getvalue()


@pytest.mark.slow
def test_serve_names_the_ports_that_it_chose(tmp_path: Path) -> None:
    settings = {"ORC_PORT": "0", "ORC_MCP_PORT": "0"}
    with subprocess.Popen(
        [sys.executable, "-m", "orc", "serve"],
        env={**os.environ, "ORC_DATA_DIR": str(tmp_path), **settings},
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdout is not None
        try:
            served = r"serves (http\S+) .* tools: http://127\.0\.0\.1:(\d+)/mcp"
            base, port = next(found.groups() for line in server.stdout if (found := re.search(served, line)))
            ready = httpx.get(f"{base}/ready", timeout=30)
        finally:
            server.terminate()
    assert ready.status_code == 200
    assert int(port) > 0


def refusal_of_serve(monkeypatch: pytest.MonkeyPatch, **settings: str) -> str:
    """What `orc serve` prints on one line as it ends with code 2, without waiting for ports."""
    monkeypatch.setattr(ports, "PORT_CHECK_SECONDS", 0.001)
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    result = orc("serve")
    assert result.exit_code == 2
    return " ".join(result.stderr.split())


@pytest.mark.slow
def test_serve_says_how_to_move_from_a_taken_port(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        free = f"http://127.0.0.1:{free_port()}/mcp"
        refused = refusal_of_serve(monkeypatch, ORC_PORT=str(port), MCP_SERVER_URL=free)
        assert f"The API cannot listen on port {port} of 127.0.0.1: it is in use" in refused
        assert re.search(r"for example ORC_PORT=\d+$", refused)
        url = f"http://127.0.0.1:{port}/mcp"
        refused = refusal_of_serve(monkeypatch, ORC_PORT=str(free_port()), MCP_SERVER_URL=url)
    assert f"The tools server cannot listen on port {port} of 127.0.0.1: it is in use" in refused
    advised = re.search(r"for example MCP_SERVER_URL=http://127\.0\.0\.1:(\d+)/mcp$", refused)
    assert advised and int(advised[1]) != port and port_is_free("127.0.0.1", int(advised[1]))


@pytest.mark.slow
def test_serve_names_both_ports_that_are_taken(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        url = f"http://127.0.0.1:{port}/mcp"
        refused = refusal_of_serve(monkeypatch, ORC_PORT=str(port), MCP_SERVER_URL=url)
    assert refused.count(f"cannot listen on port {port} of 127.0.0.1") == 2
    assert re.search(r"ORC_PORT=\d+ The tools server .* MCP_SERVER_URL=http", refused)


@pytest.mark.slow
def test_serve_moves_the_tools_server_by_its_port_setting(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused = refusal_of_serve(monkeypatch, ORC_PORT=str(free_port()), ORC_MCP_PORT=str(port))
        assert f"The tools server cannot listen on port {port} of 127.0.0.1: it is in use" in refused
        assert re.search(r"for example ORC_MCP_PORT=\d+$", refused)
        # MCP_SERVER_URL counts if both are set.
        url = f"http://127.0.0.1:{port}/mcp"
        refused = refusal_of_serve(monkeypatch, ORC_MCP_PORT=str(free_port()), MCP_SERVER_URL=url)
        assert f"The tools server cannot listen on port {port}" in refused and "MCP_SERVER_URL=" in refused


def test_serve_refuses_one_port_for_both_servers(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}/mcp"
    refused = refusal_of_serve(monkeypatch, ORC_PORT=str(port), MCP_SERVER_URL=url)
    assert f"cannot both listen on port {port}" in refused and "MCP_SERVER_URL=http://127.0.0.1:" in refused


@pytest.mark.slow
def test_serve_refuses_the_address_of_another_machine(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = "http://[2001:db8::1]:7072/mcp"
    refused = refusal_of_serve(monkeypatch, ORC_PORT=str(free_port()), MCP_SERVER_URL=url)
    assert "not an address of this machine. Set MCP_SERVER_URL." in refused


@pytest.mark.parametrize("command", ["serve", "doctor"])
def test_identities_that_anyone_could_claim_are_refused(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("ORC_AUTH_MODE", "easyauth")
    monkeypatch.setenv("ORC_HOST", "0.0.0.0")
    result = orc(command)
    assert result.exit_code == (2 if command == "serve" else 1)
    assert "trust_principal_header" in result.output


def test_serve_refuses_a_public_address_without_authentication(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ORC_HOST", "0.0.0.0")
    result = orc("serve")
    assert result.exit_code == 2
    assert "ORC_AUTH_MODE" in result.stderr


def test_an_invalid_setting_is_named_and_no_other(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORC_PORT", "many")
    result = orc("doctor")
    assert result.exit_code == 2
    assert re.findall(r"[A-Z]+_[A-Z_]+", result.stderr) == ["ORC_PORT"]


def test_the_doctor_reports_a_missing_tools_server_and_what_to_do(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MCP_SERVER_URL", "http://127.0.0.1:1/mcp")
    result = orc("doctor")
    assert result.exit_code == 1
    assert "orc serve" in result.stdout
    assert "offline extractive model (no ORC_MODEL" in result.stdout
    assert str(data_dir / "orc.db") in result.stdout
    assert str(data_dir / "blobs") in result.stdout
    assert "http://127.0.0.1:1/mcp" in result.stdout


def test_the_doctor_finds_the_tools_of_the_server_that_runs_on_its_data(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MCP_SERVER_URL", raising=False)
    with announced(data_dir, "http://127.0.0.1:1/mcp"):
        assert "    where: http://127.0.0.1:1/mcp" in orc("doctor").stdout.splitlines()
        monkeypatch.setenv("MCP_SERVER_URL", "http://127.0.0.1:2/mcp")
        assert "    where: http://127.0.0.1:2/mcp" in orc("doctor").stdout.splitlines()
    monkeypatch.delenv("MCP_SERVER_URL")
    assert "http://127.0.0.1:1/mcp" not in orc("doctor").stdout
    with announced(data_dir, "http://127.0.0.1:1/mcp"):
        monkeypatch.setenv("ORC_MCP_PORT", "3")
        assert "    where: http://127.0.0.1:3/mcp" in orc("doctor").stdout.splitlines()
        monkeypatch.setenv("ORC_MCP_PORT", "0")
        assert "    where: http://127.0.0.1:1/mcp" in orc("doctor").stdout.splitlines()


def test_the_doctor_names_a_server_of_another_version(data_dir: Path) -> None:
    with announced(data_dir, "http://127.0.0.1:1/mcp"):
        assert " server: " not in orc("doctor").stdout
        (data_dir / "server").write_text("http://127.0.0.1:1/mcp 0.1.0")
        assert "--  server: Orc 0.1.0 runs here. Start it again to use " in orc("doctor").stdout
        # One from before versions were left there.
        (data_dir / "server").write_text("http://127.0.0.1:1/mcp")
        assert " server: " not in orc("doctor").stdout


def test_the_doctor_cuts_nothing_on_a_narrow_terminal(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = f"http://127.0.0.1:1/{'long/' * 20}mcp"
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("MCP_SERVER_URL", tools)
    lines = orc("doctor").stdout.splitlines()
    assert f"    where: {data_dir}/orc.db" in lines
    at = lines.index(f"    where: {tools}")
    assert lines[at - 1].startswith("no  mcp_server: MCP over HTTP, ")
    assert lines[at + 1].endswith(
        " If it runs, set MCP_SERVER_URL, ORC_DATA_DIR and ORC_SCOPE_SIGNING_KEY here as for that server."
    )


def test_the_doctor_asks_the_issuer_of_tokens_and_says_what_is_wrong_with_it(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ORC_AUTH_MODE", "jwt")
    monkeypatch.setenv("ORC_JWT_AUDIENCE", "api://orc")
    with issuing() as issuer:
        issuer.name = issuer.url.removesuffix("/keys")
        monkeypatch.setenv("ORC_JWT_ISSUER", issuer.name)
        assert "ok  callers: jwt authentication, " in orc("doctor").stdout
        monkeypatch.setenv("ORC_JWT_ISSUER", f"{issuer.name}/")
        shown = orc("doctor").stdout
    assert "no  callers: jwt authentication, " in shown
    assert f"ORC_JWT_ISSUER is not how the issuer names itself: '{issuer.name}'" in shown
    # Now it is gone.
    lines = orc("doctor").stdout.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("no  callers: "))
    assert lines[at + 1] == f"    where: {issuer.name}/"


def test_the_doctor_names_a_directory_that_cannot_be_searched(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "Microsoft Graph" not in orc("doctor").stdout
    monkeypatch.setenv("ORC_ADVANCED", '{"directory_tenant": "tenant-of-the-port"}')
    monkeypatch.setenv("AZURE_TOKEN_CREDENTIALS", "dev")
    monkeypatch.setenv("PATH", "")
    lines = orc("doctor").stdout.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("no  people: Microsoft Graph, "))
    assert lines[at + 1] == "    where: tenant-of-the-port"
    assert "GroupMember.Read.All" in lines[at + 2]


def test_the_doctor_says_once_for_each_service_that_there_is_no_identity(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, logger="azure.identity")
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://orc.openai.azure.com")
    monkeypatch.setenv("AZURE_TOKEN_CREDENTIALS", "dev")
    monkeypatch.setenv("PATH", "")
    result = orc("doctor")
    assert result.stdout.count("or run `az login`") == 1
    assert [each.name for each in caplog.records if each.name.startswith("azure.identity")] == []


def test_the_doctor_gives_advice_as_advice(data_dir: Path) -> None:
    lines = orc("doctor").stdout.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("ok  search: words only, "))
    assert lines[at + 1] == "    to do: Set ORC_EMBEDDING_MODEL to search by vectors too."


def test_the_doctor_says_that_a_model_cannot_be_sent_pictures(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ORC_ADVANCED", '{"page_images": true}')
    shown = " ".join(orc("doctor").stdout.split())
    why = "the model extractive does not read pictures"
    assert f"to do: page_images in ORC_ADVANCED has no effect: {why}." in shown


def test_the_doctor_names_its_version_and_a_disk_that_is_full(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert orc("doctor").stdout.startswith(f"Orc {__version__} on Python ")
    assert "disk:" not in orc("doctor").stdout
    monkeypatch.setenv("ORC_MAX_UPLOAD_BYTES", str(10**15))
    lines = [line for line in orc("doctor").stdout.splitlines() if line.startswith("--  disk: ")]
    assert ["documents" in line for line in lines] == [True, False]
    assert "TMPDIR" in lines[1]


@pytest.mark.parametrize("name", ["AZURE_COSMOS_KEY", "AZURE_STORAGE_KEY"])
def test_a_key_of_azure_that_was_not_copied_whole_is_named(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.setenv(name, "bm90IHRoZSB3aG9sZSBrZXk")
    result = orc("doctor")
    assert result.exit_code == 2
    assert f"{name}: Value error, this is no key" in result.stderr
    assert "bm90" not in result.stderr
    with pytest.raises(InvalidInput) as refused:
        load()
    assert "bm90" not in str(refused.value.__cause__)
    monkeypatch.setenv(name, "a2V5IHdpdGggYSBsaW5lIGVuZA==\n")
    assert load()


def test_the_doctor_says_which_settings_lead_to_a_model_that_is_away(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    assert "The model cannot be reached. Try again shortly. Check ORC_MODEL" in orc("doctor").stdout


class WebPage(BaseHTTPRequestHandler):
    """A web server that answers everything with a page."""

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", 0)))
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(b"<html>Welcome</html>")

    def do_POST(self) -> None:
        self.do_GET()

    def log_message(self, *_: object) -> None:
        """It is quiet."""


@pytest.mark.parametrize(
    ("path", "failure", "says"),
    [
        ("/v1", Failure(status=404, code="DeploymentNotFound"), "no such model"),
        ("", None, "which often ends in /v1"),
        ("web page", None, "cannot be read"),
        ("/v1", Failure(status=429), "too many requests"),
    ],
    ids=["wrong name", "no /v1", "web page", "busy"],
)
def test_the_doctor_calls_no_model_ok_that_cannot_answer(
    path: str, failure: Failure | None, says: str, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    double = OpenAIDouble()
    if failure:
        double.responder = lambda _: failure
    web = ThreadingHTTPServer(("127.0.0.1", 0), WebPage)
    threading.Thread(target=web.serve_forever, daemon=True).start()
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    monkeypatch.setenv("ORC_ADVANCED", '{"model_retries": 0}')
    with serving(double) as url:
        api = (
            f"http://127.0.0.1:{web.server_port}/v1" if path == "web page" else url.removesuffix("/v1") + path
        )
        monkeypatch.setenv("OPENAI_BASE_URL", api)
        result = orc("doctor")
    web.shutdown()
    web.server_close()
    lines = result.stdout.splitlines()
    [at] = [number for number, line in enumerate(lines) if line[4:].startswith("model: ")]
    assert lines[at].startswith("no ")
    assert says in lines[at + 2]
    assert " Check ORC_MODEL or ORC_CHAT_MODEL, OPENAI_BASE_URL" in lines[at + 2]
    assert result.exit_code == 1


def test_the_doctor_lists_deprecated_settings(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCP_SERVER_URL", "http://127.0.0.1:1/mcp")
    monkeypatch.setenv("ORC_TRACES", "true")
    monkeypatch.setenv("ORC_OCR_SECONDS", "9")
    shown = " ".join(orc("doctor").stdout.split())
    assert "ORC_TRACES is deprecated: set ORC_STORE_TURN_TRACES instead." in shown
    assert "ORC_OCR_SECONDS no longer has an effect" in shown


def test_two_files_of_the_same_name_are_refused_by_name(data_dir: Path, tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "r.txt").write_text(f"The fee of {folder} is 7 euros.")
    result = orc("ask", tmp_path / "a" / "r.txt", tmp_path / "b" / "r.txt", "What is the fee?")
    assert result.exit_code == 2
    assert f"{tmp_path}/a/r.txt and {tmp_path}/b/r.txt would both be stored as r.txt" in result.stderr
    assert result.stdout == ""


def test_what_is_made_is_for_its_user_only(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCP_SERVER_URL", "http://127.0.0.1:1/mcp")
    before = os.umask(0o022)
    try:
        orc("doctor")
        assert os.umask(0o022) == 0o022
    finally:
        os.umask(before)
    made = [data_dir, *data_dir.rglob("*")]
    assert data_dir / "orc.db" in made
    assert [path for path in made if path.stat().st_mode & 0o077] == []


@pytest.mark.parametrize("command", ["serve", "worker", "doctor"])
def test_windows_is_refused_with_one_line(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setattr(platform, "system", lambda: "Windows")
    result = orc(command)
    assert result.exit_code == 2
    assert result.stderr == "orc: Orc runs on Linux and macOS, not on Windows. On Windows, use WSL 2.\n"
    assert not data_dir.exists()


def test_a_database_of_a_newer_version_is_refused_before_anything_is_started(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data_dir.mkdir()
    with closing(sqlite3.connect(data_dir / "orc.db")) as database:
        database.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    monkeypatch.setenv("ORC_PORT", str(free_port()))
    monkeypatch.setenv("MCP_SERVER_URL", f"http://127.0.0.1:{free_port()}/mcp")
    for command in ("serve", "worker"):
        result = orc(command)
        assert result.exit_code == 2
        assert result.stderr.startswith("orc: The database orc.db was written by a newer version of Orc")
        assert result.stderr.count("\n") == 1
    assert [path.name for path in data_dir.iterdir()] == ["orc.db"]


def test_the_doctor_reports_damage_and_what_to_do(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCP_SERVER_URL", "http://127.0.0.1:1/mcp")
    assert "ok  data: no damage found" in orc("doctor").stdout.splitlines()
    folder = data_dir / "blobs" / "local" / "me" / str(uuid.uuid4())
    folder.mkdir(parents=True)
    (folder / "new.txt").write_text("put there by a program")
    lines = orc("doctor").stdout.splitlines()
    assert (
        f"--  data: 1 document (local/me/{folder.name}/new.txt) in the files but not in the records." in lines
    )
    (data_dir / "orc.db").write_text("no database " * 1000)
    result = orc("doctor")
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        "no  data: The database cannot be read: file is not a database.",
        "    to do: Stop Orc and restore a backup: orc restore FILE --force.",
    ]


def test_the_doctor_says_that_a_former_key_is_still_accepted(data_dir: Path) -> None:
    assert "second" not in orc("doctor").stdout
    (data_dir / "derivation.key").write_text((data_dir / "scope.key").read_text())
    (data_dir / "scope.key").rename(data_dir / "second.key")
    assert "--  keys: A second signing key is accepted. Remove it" in orc("doctor").stdout


def test_a_backup_is_written_and_restored_by_command(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MCP_SERVER_URL", "http://127.0.0.1:1/mcp")
    orc("doctor")
    file = tmp_path / "orc.zip"
    made = orc("backup", file)
    assert made.exit_code == 0, made.stderr
    assert made.stdout.startswith(f"{file}: the database and 0 documents. Keep it secret")
    refused = orc("restore", file)
    assert refused.exit_code == 2
    assert f"{data_dir} is not empty" in refused.stderr
    restored = orc("restore", file, "--force")
    assert restored.exit_code == 0, restored.stderr
    assert f"The former data is in {data_dir}.before-" in restored.stdout
    assert sorted(path.name for path in data_dir.iterdir()) == ["orc.db", "scope.key"]


def test_sessions_and_keys_end_by_command_and_with_a_restore(data_dir: Path, tmp_path: Path) -> None:
    ada, bob = (Principal("acme", name, name=name) for name in ("ada", "bob"))

    async def with_store(work: Callable[[CredentialStore], Awaitable[list[bool]]]) -> list[bool]:
        async with open_documents(settings := load()) as documents:
            items = await documents.clients.items("credentials")
            return await work(CredentialStore(items, documents.keys, settings))

    secrets: list[str] = []

    async def people(*noted: Principal) -> list[str]:
        async with open_documents(load()) as documents:
            people = People(await documents.clients.items("contexts"))
            for each in noted:
                await people.note(each)
            found, _ = await people.find("acme", "")
            return [each.id for each in found]

    async def begin(store: CredentialStore) -> list[bool]:
        for user in (ada, bob):
            secrets.append(await store.begin_session(user, seconds=600))
            secrets.append((await store.create_key(user, "laptop"))[1])
        return await valid(store)

    async def valid(store: CredentialStore) -> list[bool]:
        return [bool(await store.session(each) or await store.key_owner(each)) for each in secrets]

    assert asyncio.run(with_store(begin)) == [True] * 4
    assert asyncio.run(people(ada, bob)) == ["ada", "bob"]
    for words in ([], ["ada", "--everyone"]):
        assert orc("sign-out", *words).exit_code == 2
    ended = orc("sign-out", "ada")
    assert (ended.exit_code, ended.stdout) == (0, "Sessions and keys that have ended: 2.\n")
    assert asyncio.run(with_store(valid)) == [False, False, True, True]
    assert asyncio.run(people()) == ["bob"]
    assert orc("backup", tmp_path / "orc.zip").exit_code == 0
    assert orc("sign-out", "--everyone").stdout.endswith(" 2.\n")
    assert orc("restore", tmp_path / "orc.zip", "--force").exit_code == 0
    assert asyncio.run(with_store(valid)) == [False] * 4


def test_links_to_conversations_end_with_a_restore(data_dir: Path, tmp_path: Path) -> None:
    """They may have been withdrawn since the backup."""
    owner = Owner("acme", "ada", "c1")

    async def links(is_new: bool) -> int:
        async with open_documents(settings := load()) as documents:
            stored = await open_session_stores(settings, documents)
            sharing = Sharing(stored.shared, stored.log, RevokedAnswers(), 90)
            if is_new:
                await ask(stored.log, "How long is it?", owner=owner)
                await sharing.share(Caller(Principal("acme", "ada")), owner, 7)
            return len(await sharing.links(owner))

    assert asyncio.run(links(True)) == 1
    assert orc("backup", tmp_path / "orc.zip").exit_code == 0
    assert orc("restore", tmp_path / "orc.zip", "--force").exit_code == 0
    assert asyncio.run(links(False)) == 0


def test_a_backup_refuses_data_that_services_keep(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_URL", "https://example.blob.core.windows.net")
    result = orc("backup", tmp_path / "orc.zip")
    assert result.exit_code == 2
    assert "Blob Storage keeps a part of the data: use the backups of Azure." in result.stderr
