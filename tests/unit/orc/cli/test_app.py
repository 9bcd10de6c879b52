"""The command line: its error messages and its output."""

import socket
import uuid
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from orc.cli.app import app


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


def test_a_forgotten_question_is_explained(data_dir: Path, handbook: Path) -> None:
    result = orc("ask", handbook)
    assert result.exit_code == 2
    assert "then the question in quotes" in result.stderr


@pytest.mark.slow
def test_an_unreadable_file_is_named_with_its_reason_and_the_others_are_used(
    data_dir: Path, tmp_path: Path, handbook: Path
) -> None:
    broken = tmp_path / "broken.pdf"
    broken.write_bytes(b"%PDF-1.7\nnothing")
    result = orc("ask", broken, handbook, "How soon must a lost device be reported?")
    assert result.exit_code == 0, result.stderr
    assert "broken.pdf:" in result.stderr
    assert "within two hours" in result.stdout
    assert "verified  harbour-handbook.pdf, page 9" in result.stdout


@pytest.mark.slow
def test_asking_leaves_no_files(data_dir: Path, handbook: Path) -> None:
    orc("ask", handbook, "How soon must a lost device be reported?")
    assert not (data_dir / "orc.db").exists()
    assert not (data_dir / "blobs").exists()


def test_a_token_needs_a_conversation_with_documents(data_dir: Path) -> None:
    result = orc("token", "--conversation", str(uuid.uuid4()))
    assert result.exit_code == 2
    assert "has no documents. Upload one first." in result.stderr


@pytest.mark.slow
def test_serve_names_the_port_that_is_taken(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        monkeypatch.setenv("ORC_PORT", str(port))
        result = orc("serve")
    assert result.exit_code == 2
    assert f"Port {port} of 127.0.0.1 is in use" in result.stderr


def test_serve_refuses_a_public_address_without_authentication(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ORC_HOST", "0.0.0.0")
    result = orc("serve")
    assert result.exit_code == 2
    assert "ORC_AUTH_MODE" in result.stderr


def test_an_invalid_setting_is_named(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORC_PORT", "many")
    result = orc("doctor")
    assert result.exit_code == 2
    assert "ORC_PORT" in result.stderr


def test_the_doctor_reports_a_missing_tools_server_and_what_to_do(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MCP_SERVER_URL", "http://127.0.0.1:1/mcp")
    result = orc("doctor")
    assert result.exit_code == 1
    assert "orc serve" in result.stdout
    assert "offline extractive model (no OPENAI_API_KEY" in result.stdout
    assert str(data_dir / "orc.db") in result.stdout
    assert str(data_dir / "blobs") in result.stdout
    assert "http://127.0.0.1:1/mcp" in result.stdout


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
    assert lines[at + 1].endswith(" Start it with `orc serve`, or set MCP_SERVER_URL.")


def test_the_doctor_gives_advice_as_advice(data_dir: Path) -> None:
    lines = orc("doctor").stdout.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("ok  search: lexical, "))
    assert lines[at + 1] == "    to do: Set ORC_EMBEDDING_MODEL to search by vectors too."


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


@pytest.mark.slow
def test_a_file_with_an_unsafe_name_is_used(data_dir: Path, tmp_path: Path) -> None:
    report = tmp_path / "100%.txt"
    report.write_text("The mooring fee is 410 euros a day.")
    result = orc("ask", report, "What is the mooring fee?")
    assert result.exit_code == 0, result.stderr
    assert "410 euros" in result.stdout
    assert "verified  100_.txt, page 1" in result.stdout


@pytest.mark.slow
def test_a_file_with_an_unusable_name_is_reported_and_the_others_are_used(
    data_dir: Path, tmp_path: Path, handbook: Path
) -> None:
    (tmp_path / "a\\b.txt").write_text("Text.")
    result = orc("ask", tmp_path / "a\\b.txt", handbook, "How soon must a lost device be reported?")
    assert result.exit_code == 0, result.stderr
    assert "a\\b.txt: The document name contains a slash, a backslash" in result.stderr
    assert "within two hours" in result.stdout
