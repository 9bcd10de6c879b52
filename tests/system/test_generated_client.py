"""A client that openapi-python-client generates with its defaults keeps every answer that it gets."""

import json
import os
import subprocess
import sys
from pathlib import Path

import httpx

from devkit.system import System

USE = """
import io, json, sys, uuid
from orc_client import Client
from orc_client.api.conversations import get_conversation
from orc_client.api.documents import upload
from orc_client.api.turns import ask, ask_streaming, resume
from orc_client.models import AskRequest, BodyUpload
from orc_client.types import File

client, conversation = Client(base_url=sys.argv[1], timeout=60), uuid.uuid4()
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


def test_a_generated_client_uploads_asks_and_reads_answers(offline_system: System, tmp_path: Path) -> None:
    document = tmp_path / "openapi.json"
    document.write_text(httpx.get(f"{offline_system.api}/openapi.json").text)
    generator = [sys.executable, "-m", "openapi_python_client", "generate", "--path", str(document)]
    made = subprocess.run(
        [*generator, "--output-path", str(tmp_path / "client")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stdout
    used = subprocess.run(
        [sys.executable, "-c", USE, offline_system.api.removesuffix("/api")],
        env={**os.environ, "PYTHONPATH": str(tmp_path / "client")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert used.returncode == 0, used.stderr
    result = json.loads(used.stdout)
    assert result["stored"] == ["a.txt"]
    assert "seven" in result["answer"]
    assert result["kept"][0] == result["answer"]
    assert (result["intent"], result["mode"]) == ("factual_lookup", "rag")
    assert result["whole"].startswith("id: 1\nevent: turn\n")
    assert result["rest"] == result["again"]
    assert result["whole"].endswith(result["rest"])
