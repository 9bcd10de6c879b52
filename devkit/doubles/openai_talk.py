"""What the OpenAI double is asked and what it answers, whichever of the two APIs carries it."""

import base64
import io
import json
import re
from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from typing import Any
from xml.sax.saxutils import unescape

from pydantic import BaseModel
from pypdf import PdfReader

from orc_core.grounding.citations import marker
from orc_core.grounding.sources import LABEL, AttachedFile, FencedSource, read_fenced, without_fenced
from orc_core.grounding.units import page_units

Json = dict[str, Any]


class ToolCall(BaseModel):
    """A call to a tool; `arguments` as text may be broken JSON on purpose."""

    name: str
    arguments: Json | str = {}

    @property
    def arguments_text(self) -> str:
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)


class Reply(BaseModel):
    """One answer. `choices=False` sends none at all, `usage=False` leaves out the token counts.
    `finish_reason=None` sends null, as some servers do; empty: the usual one.

    `refusal` comes in the place of a text.

    `prompt_tokens`: what the request is said to have had, if that was counted. `delay_ms` passes
    before anything of it is sent.
    """

    text: str = ""
    refusal: str = ""
    tool_calls: list[ToolCall] = []
    finish_reason: str | None = ""
    usage: bool = True
    delay_ms: float = 0
    choices: bool = True
    prompt_tokens: int | None = None

    @property
    def finish(self) -> str | None:
        if self.finish_reason is None:
            return None
        return self.finish_reason or ("tool_calls" if self.tool_calls else "stop")


class FilePart(BaseModel):
    """A file in a request: its id, or its bytes as they came."""

    file_id: str = ""
    content: bytes = b""


class ImagePart(BaseModel):
    """A picture in a request, and the text before it."""

    label: str
    content: bytes
    detail: str = ""


def read_labels(prompt: str) -> list[AttachedFile]:
    """The files that `label` wrote into a prompt, in order; their document ids are not in it."""
    return [
        AttachedFile(
            document_id="", blob_name=unescape(name, {"&quot;": '"'}), first=int(first), pages=int(pages)
        )
        for name, pages, first in LABEL.findall(prompt)
    ]


class ChatRequest(BaseModel):
    """What a responder may want to know of a request. `body` is in the form of chat completions.

    `stored` holds the contents of the files that the request names by id.
    """

    body: Json
    stored: dict[str, bytes] = {}

    @property
    def question(self) -> str:
        """The last thing the user said, less any sources, transcript and label."""
        texts = [text_of(message) for message in self.body["messages"] if message["role"] == "user"]
        return re.split(r"(?:^|\n)(?:Last q|Q)uestion:\s*", without_fenced(texts[-1]))[-1] if texts else ""

    @property
    def prompt(self) -> str:
        """All text of the request."""
        return "\n".join(text_of(message) for message in self.body["messages"])

    @property
    def files(self) -> list[FilePart]:
        """The attached files, in order."""
        parts = [part for message in self.body["messages"] for part in parts_of(message)]
        return [_file_part(part["file"]) for part in parts if part["type"] == "file"]

    @property
    def images(self) -> list[ImagePart]:
        """The pictures, in order."""
        parts = [part for message in self.body["messages"] for part in parts_of(message)]
        return [
            _image_part(before.get("text", ""), part["image_url"])
            for before, part in pairwise(parts)
            if part["type"] == "image_url"
        ]

    @cached_property
    def sources(self) -> list[FencedSource]:
        """The fenced sources, after the pages of the attached files, which are read as a model would."""
        labelled = zip(read_labels(self.prompt), self.files, strict=False)
        read = [page for label, file in labelled for page in self._pages(label, file)]
        return read + read_fenced(self.prompt)

    @property
    def forced_tool(self) -> Json | None:
        """The function that the answer must call."""
        choice, tools = self.body.get("tool_choice"), self.body.get("tools") or []
        functions: list[Json] = [tool["function"] for tool in tools]
        if isinstance(choice, dict):
            return next(f for f in functions if f["name"] == choice["function"]["name"])
        return functions[0] if functions and choice in ("required", "any") else None

    @property
    def form(self) -> Json | None:
        """The name and the parameters of the object that is asked for, by a forced call or by a schema."""
        asked: Json = (self.body.get("response_format") or {}).get("json_schema") or {}
        by_schema = {"name": asked.get("name"), "parameters": asked.get("schema")}
        return self.forced_tool or (by_schema if asked else None)

    @property
    def schema_asked(self) -> Json | None:
        """The JSON schema that the answer's text must have."""
        form = self.body.get("response_format") or {}
        if form.get("type") == "json_object":
            in_prompt: Json = json.loads(self.prompt.rpartition("JSON schema:\n")[2])
            return in_prompt
        schema: Json | None = form.get("json_schema", {}).get("schema")
        return schema

    def _pages(self, label: AttachedFile, file: FilePart) -> Iterator[FencedSource]:
        content = file.content or self.stored[file.file_id]
        for at, page in enumerate(PdfReader(io.BytesIO(content)).pages):
            text = page.extract_text()
            yield FencedSource(number=label.first + at, blob_name=label.blob_name, page=at + 1, text=text)


def default_reply(asked: ChatRequest, text: str | None = None) -> Reply:
    """What an obliging model would say: the forced form, else `text`, else a cited quote, else an echo."""
    if forced := asked.forced_tool:
        arguments = example(forced["parameters"], asked.question)
        return Reply(tool_calls=[ToolCall(name=forced["name"], arguments=arguments)])
    if schema := asked.schema_asked:
        return Reply(text=json.dumps(example(schema, asked.question)))
    if text is not None:
        return Reply(text=text)
    if sources := [source for source in asked.sources if source.text.strip()]:
        text = sources[0].text
        units = page_units(text)
        quoted = next((unit for unit in units if unit.kind == "sentence"), units[0])
        quote = " ".join(text[quoted.start : quoted.end].split())
        return Reply(text=f"{quote} {marker(sources[0].number)}")
    return Reply(text=f"You said: {asked.question}")


def example(schema: Json, text: str) -> Any:
    """A small instance of an inlined JSON schema, with `text` for every string."""
    if "enum" in schema:
        return schema["enum"][0]
    match schema.get("type"):
        case "object":
            return {name: example(part, text) for name, part in schema.get("properties", {}).items()}
        case "array":
            return []
        case "integer" | "number":
            return schema.get("minimum", 0)
        case "boolean":
            return False
        case "null":
            return None
        case _:
            return text


def parts_of(message: Json) -> list[Json]:
    """The content parts of a message; none if it is plain text."""
    content = message.get("content") or ""
    return [] if isinstance(content, str) else content


def text_of(message: Json) -> str:
    """The text of a message."""
    content = message.get("content") or ""
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


def tokens_of(body: Json, reply: Reply) -> tuple[int, int]:
    """Prompt and completion tokens: counted as words unless given, and letters of tool names."""
    given = reply.prompt_tokens or sum(len(text_of(message).split()) for message in body["messages"])
    return given, len(reply.text.split()) + sum(len(call.name) for call in reply.tool_calls)


def pieces_of(text: str, tokens: int | None) -> list[str]:
    """The text as deltas: so many, or one for each word."""
    if not text:
        return []
    if tokens is None:
        return re.findall(r"\s*\S+\s*?", text)
    while len(text) < tokens:
        text += " " + text
    cuts = [len(text) * i // tokens for i in range(tokens + 1)]
    return [text[start:end] for start, end in pairwise(cuts)]


def _image_part(label: str, image: Json) -> ImagePart:
    kind, _, packed = image["url"].partition(";base64,")
    assert kind == "data:image/webp", kind
    content = base64.b64decode(packed, validate=True)
    return ImagePart(label=label, content=content, detail=image.get("detail", ""))


def _file_part(file: Json) -> FilePart:
    if "file_id" in file:
        return FilePart(file_id=file["file_id"])
    kind, _, packed = file["file_data"].partition(";base64,")
    assert kind == "data:application/pdf", kind
    assert file["filename"].endswith(".pdf"), file["filename"]
    return FilePart(content=base64.b64decode(packed))
