"""What made-up requests find in the product: conversations that they are pointed to, and may delete."""

import time
import uuid
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import httpx
from fpdf import FPDF
from schemathesis import Case, GenerationMode

from devkit.system import upload

FILE = "quay.pdf"
QUAY = "The quay opens at seven. The harbour master keeps the key."
_LEFT_TO_CHANCE = 3
"""One in so many requests keeps the ids that it was made up with, which name nothing."""


def _quay() -> bytes:
    pdf = FPDF()
    pdf.add_page()
    pdf.set_font("helvetica", size=12)
    pdf.cell(text=QUAY)
    return bytes(pdf.output())


@dataclass
class SeedData:
    """Points requests to what exists, so that they get past 404. What they delete is made for it."""

    http: httpx.Client
    _ids: dict[str, str] = field(default_factory=dict)
    _context: dict[str, str] = field(default_factory=dict)
    _asked: str = ""
    _pdf: bytes = field(default_factory=_quay)
    _calls: "count[int]" = field(default_factory=count)

    def create(self) -> None:
        """Make a conversation to read, with two turns and a document, and one to go on with."""
        self._ids = {**self._new_conversation(), "model": "orc"}
        question = {"question": "When does the quay open?", "conversation_id": self._ids["conversation_id"]}
        for names in ([FILE], []):
            answer = self.http.post("/orc", json={**question, "blob_names": names}).raise_for_status()
            self._ids["turn_id"] = answer.json()["turn_id"]
            self._ids["trace_id"] = answer.headers["x-trace-id"]
        self._asked = self._new_conversation()["conversation_id"]
        self._context = self._new_context()

    def direct(self, case: "Case[Any]") -> None:
        """Put ids that exist into the places of a request that are meant to be valid, and end chats in a
        question."""
        if _is_positive(case, "path") and case.path_parameters:
            if "context_id" in case.path_parameters:
                self._direct_context(case)
            elif "note_id" in case.path_parameters:
                if next(self._calls) % _LEFT_TO_CHANCE:
                    _set(case.path_parameters, self._new_note())
            elif _deletes_a_conversation(case):
                self._spare_what_is_read(case.path_parameters)
            elif not self._is_left_alone(case):
                _set(case.path_parameters, self._ids)
        if _is_positive(case, "body") and isinstance(case.body, dict):
            if not self._is_left_alone(case):
                self._direct_question(case.body)
            if _is_positive(case, "header"):
                # With it a question is not asked, but its stream taken up.
                case.headers.pop("last-event-id", None)
                if "idempotency-key" in case.headers:
                    # Made-up keys are all the same, and the second question under one is refused.
                    case.headers["idempotency-key"] = str(uuid.uuid4())
        if case.path.endswith("{conversation_id}/events") and _is_positive(case, "query"):
            # The stream would not end.
            case.query["follow"] = "false"
        if case.path_parameters and "trace_id" in case.path_parameters and _is_positive(case, "query"):
            # No page of a trace begins at a made-up place.
            case.query.clear()
        if "/pages" in case.path and _is_positive(case, "query"):
            # No document has a made-up version.
            case.query.pop("v", None)

    def _is_left_alone(self, case: "Case[Any]") -> bool:
        """A sequence of requests follows what it was answered; some others are left to chance."""
        in_sequence = case.meta is not None and case.meta.phase.name == "stateful"
        return in_sequence or next(self._calls) % _LEFT_TO_CHANCE == 0

    def _direct_context(self, case: "Case[Any]") -> None:
        if "session_id" not in case.path_parameters and self._is_left_alone(case):
            return  # few requests for sessions are valid, so none of those is left to chance
        is_deletion = case.method.upper() == "DELETE"
        if isinstance(case.body, dict) and "message" in case.body and _is_positive(case, "body"):
            # A session that was not opened here does not exist here.
            for name in ("session_id", "sessionId", "model", "blob_names", "contexts"):
                case.body.pop(name, None)
        _set(case.path_parameters, self._new_context() if is_deletion else self._context)
        if _is_positive(case, "header"):
            # No made-up version is the present one.
            case.headers.pop("if-match", None)
        if isinstance(case.body, dict) and _is_positive(case, "body"):
            # The names of tools are not part of the document.
            case.body.pop("tools_off", None)

    def _spare_what_is_read(self, parameters: dict[str, Any]) -> None:
        spared = parameters["conversation_id"] in (self._ids["conversation_id"], self._asked)
        if spared or next(self._calls) % _LEFT_TO_CHANCE:
            _set(parameters, self._new_conversation())

    def _direct_question(self, body: dict[str, Any]) -> None:
        if "question" in body:
            body["conversation_id"] = self._asked
        elif "messages" in body:
            body["session_id"] = self._asked
            body["messages"] = [*body["messages"][-10:], {"role": "user", "content": "When?"}]
        else:
            return
        body.pop("model", None)
        body.pop("replaces", None)
        body.pop("contexts", None)
        if body.get("blob_names"):
            body["blob_names"] = [FILE]
            body.pop("tools", None)

    def _new_conversation(self) -> dict[str, str]:
        conversation_id = str(uuid.uuid4())
        stored = upload(self.http, conversation_id, (FILE, self._pdf)).raise_for_status().json()
        document_id = stored["documents"][0]["document_id"]
        return {"conversation_id": conversation_id, "document_id": document_id}

    def _new_note(self) -> dict[str, str]:
        """A conversation with a wish, which is noted a moment after its turn."""
        made = self._new_conversation()
        wish = {"question": "Please answer in German.", "conversation_id": made["conversation_id"]}
        self.http.post("/orc", json=wish).raise_for_status()
        while not (
            notes := self.http.get(f"/conversations/{made['conversation_id']}/memory").json()["notes"]
        ):
            time.sleep(0.05)
        return {**made, "note_id": notes[0]["note_id"]}

    def _new_context(self) -> dict[str, str]:
        made = self.http.post("/contexts", json={"type": "workspace", "name": "Quays"}).raise_for_status()
        path = f"/contexts/{(context_id := made.json()['context_id'])}"
        self.http.put(f"{path}/members/user/ada", json={"role": "viewer"}).raise_for_status()
        stored = (
            self.http.post(f"{path}/documents", files=[("file", (FILE, self._pdf))]).raise_for_status().json()
        )
        asked = self.http.post(f"/workspaces/{context_id}/chat", json={"message": "When?"}).raise_for_status()
        ids = {"context_id": context_id, "document_id": stored["documents"][0]["document_id"]}
        return {**ids, "session_id": asked.json()["session_id"], "kind": "user", "principal": "ada"}


def _deletes_a_conversation(case: "Case[Any]") -> bool:
    """Whether the request deletes a conversation or a document of one; what users say of a turn may go."""
    named = case.path_parameters
    return case.method.upper() == "DELETE" and "conversation_id" in named and "turn_id" not in named


def _set(parameters: dict[str, Any], ids: dict[str, str]) -> None:
    parameters.update({name: ids[name] for name in parameters if name in ids})


def _is_positive(case: "Case[Any]", place: str) -> bool:
    """Whether this part of the request is meant to be valid."""
    components = (
        {location.value: info for location, info in case.meta.components.items()} if case.meta else {}
    )
    return place in components and components[place].mode is GenerationMode.POSITIVE
