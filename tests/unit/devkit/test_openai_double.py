"""The double itself: what other tests and bench rely on."""

import json
import socket
import subprocess
import sys
import time

import httpx2
import pytest

from devkit.doubles.openai_double import OpenAIDouble, Reply, serving
from orc_core.grounding.citations import marker
from orc_core.grounding.sources import AttachedFile, Source, fence, label
from tests.unit.orc_core.extraction.samples import pdf

ASKED = [{"role": "user", "content": "Hello there"}]
TEXT = "The fee is $5 a month. It is due on Monday."


def post(url: str, **body: object) -> httpx2.Response:
    return httpx2.post(f"{url}/chat/completions", json={"messages": ASKED, **body})


def deltas(response: httpx2.Response) -> list[str]:
    events = [json.loads(line[6:]) for line in response.text.splitlines() if line.startswith("data: {")]
    return [c["delta"]["content"] for e in events for c in e["choices"] if c["delta"].get("content")]


def test_a_prompt_with_sources_is_answered_with_a_cited_quote() -> None:
    source = Source(number=3, document_id="d", blob_name="a.pdf", page=1, start=0, text=TEXT, page_text=TEXT)
    with serving(OpenAIDouble()) as url:
        reply = post(
            url, messages=[{"role": "user", "content": f"{fence([source])}\nQuestion: What?"}]
        ).json()
    assert reply["choices"][0]["message"]["content"] == f"The fee is $5 a month. {marker(3)}"


def test_a_responder_decides_and_may_leave_it_to_the_default() -> None:
    double = OpenAIDouble(lambda asked: Reply(text="no") if "there" in asked.question else None)
    with serving(double) as url:
        assert post(url).json()["choices"][0]["message"]["content"] == "no"
        other = post(url, messages=[{"role": "user", "content": "Hm"}]).json()
    assert other["choices"][0]["message"]["content"] == "You said: Hm"


@pytest.mark.parametrize("text", ["Yes.", "A longer answer that has far more words than deltas."])
def test_the_script_sets_how_many_deltas_a_text_has(text: str) -> None:
    with serving(OpenAIDouble()) as url:
        root = url.removesuffix("/v1")
        httpx2.post(f"{root}/_script", json={"text": text, "tokens": 7}).raise_for_status()
        pieces = deltas(post(url, stream=True))
        [logged] = httpx2.get(f"{root}/_log").json()
    assert len(pieces) == 7
    assert text in "".join(pieces)
    assert (logged["emitted"], logged["finished"]) == (7, True)


def test_a_schema_is_filled() -> None:
    schema = {"type": "object", "properties": {"question": {"type": "string"}, "sure": {"type": "boolean"}}}
    with serving(OpenAIDouble()) as url:
        asked = {"type": "json_schema", "json_schema": {"name": "F", "schema": schema}}
        reply = post(url, response_format=asked).json()
    assert json.loads(reply["choices"][0]["message"]["content"]) == {"question": "Hello there", "sure": False}


def test_queued_failures_and_replies_go_first_and_once() -> None:
    with serving(OpenAIDouble()) as url:
        script = {"failures": [{"status": 429, "code": "busy"}], "replies": [{"text": "one"}]}
        httpx2.post(f"{url.removesuffix('/v1')}/_script", json=script).raise_for_status()
        first, second, third = (post(url) for _ in range(3))
    assert (first.status_code, first.json()["error"]["code"]) == (429, "busy")
    assert second.json()["choices"][0]["message"]["content"] == "one"
    assert third.json()["choices"][0]["message"]["content"] == "You said: Hello there"


def test_a_file_that_is_attached_is_read_page_by_page() -> None:
    double = OpenAIDouble()
    name = AttachedFile(document_id="", blob_name="a.pdf", first=7, pages=2)
    content = pdf("", TEXT)
    with serving(double) as url:
        sent = httpx2.post(
            f"{url}/files", files={"file": ("a.pdf", content)}, data={"purpose": "user_data"}
        ).json()
        parts = [
            {"type": "text", "text": label(name)},
            {"type": "file", "file": {"file_id": sent["id"]}},
            {"type": "text", "text": "Question: What?"},
        ]
        asked = [{"role": "user", "content": parts}]
        reply = post(url, messages=asked).json()
        httpx2.delete(f"{url}/files/{sent['id']}").raise_for_status()
        refused = post(url, messages=asked)
    assert reply["choices"][0]["message"]["content"] == f"The fee is $5 a month. {marker(8)}"
    assert (refused.status_code, double.files.log) == (404, ["upload", "delete"])


def test_files_are_listed_in_pages_until_they_expire() -> None:
    double = OpenAIDouble()
    with serving(double) as url:
        for number in range(3):
            expiry = {"expires_after[anchor]": "created_at", "expires_after[seconds]": "3600"}
            given = {"purpose": "user_data", **expiry}
            httpx2.post(f"{url}/files", files={"file": (f"{number}.pdf", b"")}, data=given)
        first = httpx2.get(f"{url}/files", params={"limit": 2, "order": "asc"}).json()
        last = first["data"][-1]["id"]
        second = httpx2.get(f"{url}/files", params={"limit": 2, "order": "asc", "after": last}).json()
        double.files.clock = lambda: time.time() + 3601
        gone = httpx2.get(f"{url}/files/{last}")
    assert [file["filename"] for file in first["data"] + second["data"]] == ["0.pdf", "1.pdf", "2.pdf"]
    assert (first["has_more"], second["has_more"], gone.status_code) == (True, False, 404)


@pytest.mark.slow
def test_it_runs_by_itself() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "devkit.doubles.openai_double",
        str(port),
        "--tokens",
        "5",
        "--text",
        "Hi there",
    ]
    with subprocess.Popen(command) as process:
        try:
            assert deltas(_when_up(f"http://127.0.0.1:{port}/v1")) == ["H", "i ", "t", "he", "re"]
        finally:
            process.terminate()


def _when_up(url: str) -> httpx2.Response:
    for _ in range(100):
        try:
            return post(url, stream=True)
        except httpx2.ConnectError:
            time.sleep(0.1)
    raise TimeoutError(url)
