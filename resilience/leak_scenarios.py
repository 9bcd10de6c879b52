"""The turns, uploads and failures that resilience.leak_scan searches for canary texts."""

import json
import os
import signal
import subprocess
import sys
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from secrets import token_hex
from typing import Any

import httpx
import psutil

from devkit.system import System, upload
from resilience.checks import Tally
from resilience.deployment import conversation_with
from resilience.verbose_logging import EARLY, LATE

Json = dict[str, Any]

FILE = "quay.txt"
SECONDS = 300
MORE_THAN_RETRIES = 40
ACTS = "acts that did not take place as planned"


@dataclass(frozen=True)
class Canaries:
    """What is looked for. The texts stand in the questions and documents, the secrets in the settings."""

    settings: dict[str, str]
    bearer: str = field(default_factory=lambda: f"canary-bearer-{token_hex(16)}")
    question: str = field(default_factory=lambda: f"quokka{token_hex(6)}")
    document: str = field(default_factory=lambda: f"wombat{token_hex(6)}")

    @property
    def secrets(self) -> list[str]:
        keys = [value for name, value in self.settings.items() if name.endswith(("_KEY", "_TOKEN"))]
        return [*keys, self.bearer]

    @property
    def texts(self) -> list[str]:
        return [self.question, self.document]


SECRET_SETTINGS = (
    "OPENAI_API_KEY",
    "ORC_SCOPE_SIGNING_KEY",
    "AZURE_OPENAI_API_KEY",
    "AZURE_COSMOS_KEY",
    "AZURE_STORAGE_KEY",
    "AZURE_SEARCH_KEY",
    "AZURE_DOCUMENT_INTELLIGENCE_KEY",
    "UPSTASH_VECTOR_REST_TOKEN",
)


def new_canaries(given: Mapping[str, str]) -> Canaries:
    """Secrets and texts that exist nowhere else; secrets that are given take the place of made-up ones."""
    # Base64, as the keys of Azure are.
    return Canaries({name: f"canary{token_hex(25)}" for name in SECRET_SETTINGS} | dict(given))


class Play:
    """All scenarios; what clients receive is kept."""

    def __init__(self, system: System, model_url: str, canaries: Canaries, tally: Tally) -> None:
        self._system = system
        self._model = model_url.removesuffix("/v1")
        self._canaries = canaries
        self._tally = tally
        self._http = httpx.Client(
            base_url=system.api,
            timeout=SECONDS,
            headers={
                "authorization": f"Bearer {canaries.bearer}",
                "x-functions-key": canaries.bearer,
                "connection": "close",  # the server ends a connection that a bug went through
            },
            params={"code": canaries.bearer},
        )
        text = f"The {canaries.document} opens at seven. The harbour master keeps the key of it."
        self._conversation_id = conversation_with(system, (FILE, text.encode()))
        self.outputs: list[str] = []
        self.signatures: list[str] = []

    def acts(self) -> list[Callable[[], None]]:
        return [
            self._ask_in_every_way,
            self._ask_by_openais_interface,
            self._meet_a_failing_provider,
            self._upload_what_cannot_be_read,
            self._upload_past_the_api,
            self._send_what_cannot_be_used,
            self._kill_the_tools_server,
            self._explode,
            self._look_around,
        ]

    def _ask_in_every_way(self) -> None:
        for names in ([], [FILE]):
            for streaming in (False, True):
                self._expect(200, self._ask(names, streaming=streaming))

    def _ask_by_openais_interface(self) -> None:
        question = f"When does the {self._canaries.question} open?"
        for streaming in (False, True):
            self._expect(200, self._complete(question, stream=streaming))
            self._expect(200, self._complete(f"### Task:\nName a title for: {question}", stream=streaming))
            self._expect(400, self._complete(self._with_file(f"The {self._canaries.document} is blue.")))
        self._expect(400, self._complete(question, model=self._canaries.question))
        self._expect(400, self._complete(question, n=2, user=self._canaries.question))
        self._expect(400, self._complete([{"type": "text", "text": [self._canaries.question]}]))
        damaged = {"filename": f"{self._canaries.document}.pdf", "file_data": self._canaries.document}
        self._expect_failure(self._complete([{"type": "file", "file": damaged}]))
        self._script({"failures": [{"status": 401, "message": self._echo}] * MORE_THAN_RETRIES})
        self._expect_failure(self._complete(question))
        streamed = self._complete(question, stream=True)
        self._tally.expect(ACTS, '"error"' in streamed.text, streamed.text[-600:])
        self._script({})
        for word in (EARLY, LATE):
            self._expect(500, self._complete(f"{question} {word}"))

    def _complete(self, content: str | Sequence[Json], **options: Any) -> httpx.Response:
        """Ask as a client of OpenAI's interface, in the conversation with the document."""
        body = {"model": "orc", "messages": [{"role": "user", "content": content}], **options}
        headers = {"x-session-id": self._conversation_id}
        response = self._http.post("/v1/chat/completions", json=body, headers=headers)
        self.outputs.append(f"{response.headers}\n{response.text}")
        return response

    def _with_file(self, text: str) -> list[Json]:
        data = f"data:text/plain;base64,{b64encode(text.encode()).decode()}"
        file = {"type": "file", "file": {"filename": "sent.txt", "file_data": data}}
        return [{"type": "text", "text": f"What is the {self._canaries.question}?"}, file]

    @property
    def _echo(self) -> str:
        """What a provider may say about a request that it refuses."""
        secret = self._canaries.settings["OPENAI_API_KEY"]
        return f"Incorrect API key provided: {secret}. The request was: {self._canaries.question}"

    def _meet_a_failing_provider(self) -> None:
        for status in (401, 403, 400, 429, 500):
            for names in ([], [FILE]):
                failures = [{"status": status, "message": self._echo, "code": "scripted"}] * MORE_THAN_RETRIES
                self._script({"failures": failures})
                self._expect_failure(self._ask(names))
        self._script({"failures": [{"message": self._echo, "after_tokens": 1}] * MORE_THAN_RETRIES})
        self._expect_failure(self._ask([FILE], streaming=True))
        self._script({})

    def _upload_what_cannot_be_read(self) -> None:
        text = self._canaries.document.encode()
        for name in ("damaged.pdf", "damaged.docx", "damaged.xlsx", "unknown.xyz"):
            magic = b"%PDF-1.7\n" if name.endswith("pdf") else b"PK\x03\x04"
            response = upload(self._http, self._conversation_id, (name, magic + text * 20))
            self.outputs.append(response.text)
            self._tally.expect(ACTS, response.status_code in (201, 415, 422), response.text)

    def _upload_past_the_api(self) -> None:
        """With a signed address, which may be returned to its caller and written nowhere."""
        content = f"The {self._canaries.document} rests.".encode()
        body = {"file_name": "direct.txt", "size": len(content)}
        ticket = self._http.post(f"/conversations/{self._conversation_id}/uploads", json=body)
        self._tally.expect(ACTS, ticket.status_code in (201, 409), ticket.text)
        if ticket.status_code == 201:
            url = httpx.URL(ticket.json()["url"])
            self.signatures.append(url.params["sig"])
            httpx.put(url, content=content, headers=ticket.json()["headers"]).raise_for_status()
            self._expect(200, self._ask(["direct.txt"]))

    def _send_what_cannot_be_used(self) -> None:
        question = self._canaries.question
        for body in ({"question": question, "unknown": 1}, {"question": [question]}, {"question": ""}):
            self._expect(422, self._post("/orc", body))
        self._expect(404, self._post("/orc", {"question": question, "blob_names": ["absent.pdf"]}))
        self._expect(404, self._get(f"/nothing?sig={self._canaries.bearer}"))

    def _kill_the_tools_server(self) -> None:
        self._script({"tokens": 8, "delay_ms": 50})
        with self._http.stream("POST", "/orc/stream", json=self._body([FILE])) as response:
            lines = []
            for line in response.iter_lines():
                lines.append(line)
                if line == "event: token" and "event: token" not in lines[:-1]:
                    self._tools().send_signal(signal.SIGKILL)
        self.outputs.append("\n".join(lines))
        ended = any(line in ("event: done", "event: error") for line in lines)
        self._tally.expect(ACTS, ended, "the stream of a killed call has no end")
        self._script({})
        self._system.wait_until_ready()

    def _explode(self) -> None:
        for word in (EARLY, LATE):
            for names in ([], [FILE]):
                for streaming in (False, True):
                    self._expect(500, self._ask(names, extra=f" {word}", streaming=streaming))

    def _look_around(self) -> None:
        for path in ("/ready", "/health", "/openapi.json", "/docs", "/conversations"):
            self._expect(200, self._get(path))
        self._run("doctor")
        self._run("serve", ORC_PORT="none", ORC_SCOPE_SIGNING_KEY=f"short-{self._canaries.bearer[:20]}")
        self._run("serve", ORC_AUTH_MODE="jwt", ORC_JWT_ISSUER="https://issuer.invalid")

    def _ask(self, names: Sequence[str], *, extra: str = "", streaming: bool = False) -> httpx.Response:
        path = "/orc/stream" if streaming else "/orc"
        return self._post(path, self._body(names, extra))

    def _body(self, names: Sequence[str], extra: str = "") -> Json:
        question = f"When does the {self._canaries.question} open?{extra}"
        return {"question": question, "conversation_id": self._conversation_id, "blob_names": list(names)}

    def _post(self, path: str, body: Json) -> httpx.Response:
        response = self._http.post(path, json=body)
        self.outputs.append(f"{response.headers}\n{response.text}")
        return response

    def _get(self, path: str) -> httpx.Response:
        response = self._http.get(path)
        self.outputs.append(f"{response.headers}\n{response.text}")
        return response

    def _script(self, script: Json) -> None:
        httpx.post(f"{self._model}/_script", json=script).raise_for_status()

    def _run(self, command: str, **settings: str) -> None:
        environment = {**os.environ, **self._system.settings, **settings, "COLUMNS": "200"}
        ran = subprocess.run(
            [sys.executable, "-m", "orc", command],
            env=environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        self.outputs += (ran.stdout, ran.stderr)
        self._tally.expect(ACTS, bool(ran.stdout or ran.stderr), f"orc {command} says nothing")

    def _expect(self, status: int, response: httpx.Response) -> None:
        met = _status_in(response)
        self._tally.expect(ACTS, met == status, f"{met} instead of {status}: {response.text[:200]}")

    def _expect_failure(self, response: httpx.Response) -> None:
        met = _status_in(response)
        self._tally.expect(ACTS, met >= 400, f"{met} from a failing provider: {response.text[-600:]}")

    def _tools(self) -> psutil.Process:
        assert self._system.process is not None
        children = psutil.Process(self._system.process.pid).children()
        return next(child for child in children if "mcp_server" in child.cmdline())


def _status_in(response: httpx.Response) -> int:
    """The status of a response, or of the problem that its stream ended in."""
    lines = response.text.replace("\r\n", "\n").split("\n")
    if "event: error" not in lines:
        return response.status_code
    data = next(line for line in lines[lines.index("event: error") :] if line.startswith("data: "))
    return int(json.loads(data.removeprefix("data: "))["status"])
