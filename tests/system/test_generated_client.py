"""Clients that generators make with their defaults keep every answer: in Python, and in TypeScript."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import httpx
import pytest

from devkit.shared_data import ROOT
from devkit.system import System

MODULES = ROOT / "node_modules"
PROGRAM = Path(__file__).with_name("generated_client.ts")
COMPILE = ["tsc", "--strict", "--target", "es2022", "--module", "es2022", "--moduleResolution", "bundler"]
LIBRARIES = ["--types", "node", "--lib", "es2022,dom,dom.asynciterable", "--skipLibCheck"]

USE = """
import io, json, sys, uuid
from orc_client import Client
from orc_client.api.conversations import get_conversation
from orc_client.api.documents import upload
from orc_client.api.turns import ask, ask_streaming, resume
from orc_client.models import AskRequest, BodyUpload
from orc_client.types import File

client, conversation = Client(base_url=sys.argv[1], timeout=60), str(uuid.uuid4())
file = File(payload=io.BytesIO(b"The quay opens at seven."), file_name="a.txt", mime_type="text/plain")
stored = upload.sync(conversation, client=client, body=BodyUpload(file=[file]))
question = AskRequest(question="When does the quay open?", conversation_id=conversation)
answer = ask.sync(client=client, body=question)
key = str(uuid.uuid4())
whole = ask_streaming.sync(client=client, body=question, idempotency_key=key)
rest = ask_streaming.sync(client=client, body=question, idempotency_key=key, last_event_id=1)
turn = json.loads(whole.split("data: ", 1)[1].split("\\n", 1)[0])["turn_id"]
again = resume.sync(conversation, turn, client=client, last_event_id=1)
kept = get_conversation.sync(conversation, client=client)
print(json.dumps({
    "stored": [document.blob_name for document in stored.documents],
    "answer": answer.answer, "intent": answer.metadata.route.intent,
    "kept": [turn.answer for turn in kept.turns], "mode": kept.turns[0].metadata.retrieval_mode,
    "whole": whole, "rest": rest, "again": again,
}))
"""


def result_of(command: Sequence[str | Path], folder: Path) -> str:
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder / "client")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def document(offline_system: System, tmp_path: Path) -> Path:
    path = tmp_path / "openapi.json"
    path.write_text(httpx.get(f"{offline_system.api}/openapi.json").text)
    return path


def test_a_generated_client_uploads_asks_and_reads_answers(
    offline_system: System, document: Path, tmp_path: Path
) -> None:
    generator = [sys.executable, "-m", "openapi_python_client", "generate", "--path", str(document)]
    result_of([*generator, "--output-path", "client"], tmp_path)
    address = offline_system.api.removesuffix("/api")
    result = json.loads(result_of([sys.executable, "-c", USE, address], tmp_path))
    assert result["stored"] == ["a.txt"]
    assert "seven" in result["answer"]
    assert result["kept"][0] == result["answer"]
    assert (result["intent"], result["mode"]) == ("factual_lookup", "rag")
    assert result["whole"].startswith("id: 1\nevent: turn\n")
    assert result["rest"] == result["again"]
    assert result["whole"].endswith(result["rest"])


@pytest.mark.slow
@pytest.mark.skipif(not (MODULES / "openapi-fetch").exists(), reason="its generator is not installed: npm ci")
def test_a_generated_typescript_client_uploads_asks_and_reads_a_stream(
    offline_system: System, document: Path, tmp_path: Path
) -> None:
    (tmp_path / "node_modules").symlink_to(MODULES.resolve())
    (tmp_path / "package.json").write_text('{"type": "module"}')
    shutil.copy(PROGRAM, tmp_path)
    for name, *options in (
        ["openapi-typescript", document.name, "-o", "schema.d.ts"],
        [*COMPILE, *LIBRARIES, PROGRAM.name],
    ):
        result_of([MODULES / ".bin" / name, *options], tmp_path)
    address = offline_system.api.removesuffix("/api")
    result = json.loads(result_of(["node", "generated_client.js", address], tmp_path))
    assert result["stored"] == ["a.txt"]
    assert result["citations"] == ["The quay opens at seven."]
    assert (result["kinds"][0], result["kinds"][-1]) == ("turn", "done")
    assert result["refused"] == "not_found"
