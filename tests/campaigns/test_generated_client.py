"""A client that openapi-python-client generates from the running server uploads, asks and reads streams."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from devkit.system import running

GENERATOR = "openapi-python-client==0.29.1"
UV = shutil.which("uv") or str(Path(".venv-uv/bin/uv").resolve())
USE = """
import io, json, sys, uuid
from orc_client import Client
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
print(json.dumps({
    "stored": [document.blob_name for document in stored.documents],
    "turn": str(answer.turn_id), "answer": answer.answer, "whole": whole, "rest": rest, "again": again,
}))
"""


@pytest.mark.campaign
@pytest.mark.skipif(not Path(UV).exists(), reason="uv, which runs the generator, is not installed")
def test_a_generated_client_uploads_asks_and_reads_streams(tmp_path: Path) -> None:
    with running(tmp_path / "data") as system:
        document = tmp_path / "openapi.json"
        document.write_text(httpx.get(f"{system.api}/openapi.json").text)
        generate = ["generate", "--path", str(document), "--output-path", str(tmp_path / "client")]
        subprocess.run(
            [UV, "tool", "run", "--from", GENERATOR, "openapi-python-client", *generate], check=True
        )
        address = system.api.removesuffix("/api")
        used = subprocess.run(
            [sys.executable, "-c", USE, address],
            env={**os.environ, "PYTHONPATH": str(tmp_path / "client")},
            check=True,
            capture_output=True,
            text=True,
        )
    result = json.loads(used.stdout)
    assert result["stored"] == ["a.txt"]
    assert result["answer"]
    assert result["whole"].startswith("id: 1\nevent: turn\n")
    assert result["rest"] == result["again"]
    assert result["whole"].endswith(result["rest"])
