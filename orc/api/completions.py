"""Chat completions in OpenAI's form: the bodies of requests, and answers with numbered sources."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from orc.events import TurnResult
from orc.problems import Problem
from orc.words import check_words
from orc_core.errors import InvalidInput
from orc_core.grounding.models import REFUTED, Citation, written_marks
from orc_core.markdown.brackets import visible_name, without_numbers
from orc_core.markdown.code_blocks import CodeBlocks
from orc_core.models import Usage

MODEL = "orc"
WITH_SOURCES = "orc-markdown"
"""The model whose answers end in a list of their sources, for clients that show no annotations."""
ANSWERING = ("/chat/completions", "/responses")
"""Where answers in this form are asked for; whether one is a stream is said in the body only."""
MAX_MESSAGES = 500
MAX_PARTS = 50
MAX_CHARACTERS = 1024 * 1024
UPLOAD = "Upload files to /api/conversations/ID/documents, and send that ID as x-session-id."
TASK = "### Task:"
"""How the prompts of Open WebUI for titles, tags and suggestions begin."""
PIECE_CHARACTERS = 120
"""Text in one chunk of a stream."""

Json = dict[str, Any]
_PIECE = re.compile(rf".{{1,{PIECE_CHARACTERS}}}", re.DOTALL)
_SOURCES = "\n\n**Sources**\n\n"
_NUMBERED = re.compile(r" ?\[[0-9]{1,4}\]")
_TEXTS = ("text", "input_text", "output_text")
_Target = tuple[str, int, str | None]


class Lenient(BaseModel):
    """Part of a request; fields that have no meaning here, such as `temperature`, are ignored."""

    model_config = ConfigDict(extra="ignore", strict=True)


class Part(Lenient):
    type: str
    text: str = ""


class Message(Lenient):
    role: Literal["user", "assistant", "system", "developer", "tool", "function"]
    content: str | Annotated[list[Part], Field(max_length=MAX_PARTS)] | None = None

    @property
    def text(self) -> str:
        """The text of all parts. Raises InvalidInput for other parts."""
        if isinstance(self.content, str):
            return self.content
        parts = self.content or []
        if other := [part.type for part in parts if part.type not in (*_TEXTS, "refusal")]:
            how = f" {UPLOAD}" if other[0] in ("file", "input_file") else ""
            raise InvalidInput(f"Parts of type {other[0]!r} cannot be used.{how}", field="messages")
        return "\n".join(part.text for part in parts if part.type in _TEXTS)


class StreamOptions(Lenient):
    include_usage: bool = False


class CompletionRequest(Lenient):
    """A chat completion. The last message is the question; sampling options have no effect."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"model": MODEL, "messages": [{"role": "user", "content": "What is the hotel limit?"}]}
            ]
        }
    )

    model: Annotated[str, StringConstraints(max_length=200)] = MODEL
    messages: list[Message] = Field(min_length=1, max_length=MAX_MESSAGES)
    stream: bool = False
    stream_options: StreamOptions | None = None
    metadata: dict[str, str] | None = Field(
        default=None, description="`session_id` names the conversation, as the header `x-session-id` does"
    )
    n: int | None = None
    tool_choice: str | dict[str, Any] | None = None
    response_format: dict[str, Any] | None = None
    max_tokens: int | None = Field(default=None, ge=1, description="counts for tasks only")

    def check(self) -> None:
        """Raises InvalidInput if the request asks for what cannot be done, or has too much text."""
        asked = {
            "n": self.n not in (None, 1),
            # Open WebUI offers tools with each question; a model that calls none answers as usual.
            "tool_choice": self.tool_choice not in (None, "auto", "none"),
            "response_format": (self.response_format or {}).get("type", "text") != "text",
        }
        for name, is_asked in asked.items():
            if is_asked:
                raise InvalidInput(f"{name} is not supported.", field=name)
        if sum(len(message.text) for message in self.messages) > MAX_CHARACTERS:
            raise InvalidInput(
                f"The messages may have {MAX_CHARACTERS:,} characters together.", field="messages"
            )

    @property
    def writer(self) -> str | None:
        """The configured model that the request names after `orc/` or `orc-markdown/`; None: the default.

        Raises InvalidInput for the name of any other model.
        """
        family, _, name = self.model.partition("/")
        if family not in (MODEL, WITH_SOURCES):
            raise InvalidInput(f"The models are listed at /v1/models; {MODEL} is one.", field="model")
        return name or None

    @property
    def lists_sources(self) -> bool:
        """Whether the answer ends in a list of its sources."""
        return self.model.partition("/")[0] == WITH_SOURCES

    @property
    def task(self) -> str | None:
        """The prompt of a task of the client, such as a title for the chat, which is not a question."""
        if len(self.messages) > 1 or self.messages[0].role != "user" or self.stream:
            return None
        text = self.messages[0].text
        return text if text.lstrip().startswith(TASK) else None


@dataclass
class NumberedSource:
    """A cited page: its number in the text, its citations, and where its markers are (start, end)."""

    number: int
    title: str
    url: str
    citations: list[Citation]
    places: list[tuple[int, int]] = field(default_factory=list)

    @property
    def quotes(self) -> list[str]:
        """The quoted passages, each once, with what is to be said of the claims that cite it."""
        notes = [(_said_of(each), each.quote) for each in self.citations]
        shown = (": ".join(filter(None, [note[:1].upper() + note[1:], quote])) for note, quote in notes)
        return list(dict.fromkeys(shown))


@dataclass
class Completion:
    """An answer whose citations are numbered by page, in the order of the text."""

    result: TurnResult
    text: str
    sources: list[NumberedSource]
    marks: dict[int, list[tuple[int, int]]]
    """Where the numbers of a citation are in the text, by the citation's place in the list."""

    @property
    def annotations(self) -> list[Json]:
        """One `url_citation` for each marker in the text."""
        found = [(place, source) for source in self.sources for place in source.places]
        return [
            {
                "type": "url_citation",
                "url_citation": {
                    "start_index": start,
                    "end_index": end,
                    "title": source.title,
                    "url": source.url,
                },
            }
            for (start, end), source in sorted(found, key=lambda pair: pair[0])
        ]

    @property
    def details(self) -> Json:
        """What OpenAI's form has no place for."""
        citations = [
            citation.model_dump(mode="json")
            | {"marks": [{"start": start, "end": end} for start, end in self.marks.get(index, ())]}
            for index, citation in enumerate(self.result.citations)
        ]
        return {
            "conversation_id": self.result.conversation_id,
            "turn_id": self.result.turn_id,
            "answer_kind": self.result.answer_kind,
            "citations": citations,
        }

    @property
    def pieces(self) -> Iterator[str]:
        """The text in the pieces of a stream."""
        return (found[0] for found in _PIECE.finditer(self.text))


def numbered(result: TurnResult, base_url: str, *, lists_sources: bool) -> Completion:
    """The answer with `[1]` for each marker. One whose page does not say so, or is a picture, says that.

    `base_url` is the address of the API, without a slash at the end.
    """
    answer = _with_numbers_of_markers_only(result.answer)
    by_target: defaultdict[_Target, list[Citation]] = defaultdict(list)
    for citation in result.citations:
        by_target[_target(citation)].append(citation)
    sources: dict[_Target, NumberedSource] = {}
    marks = defaultdict[int, list[tuple[int, int]]](list)
    text, end = "", 0
    for written in written_marks(result.citations):
        citations = by_target[target := _target(written.citation)]
        first = citations[0]
        place = f"{base_url}/conversations/{result.conversation_id}/documents/{first.document_id}/content"
        title = first.blob_name if first.url else f"{first.blob_name}, page {first.page}"
        title, url = title + _in_brackets(_note(citations)), first.url or f"{place}#page={first.page}"
        source = sources.setdefault(target, NumberedSource(len(sources) + 1, title, url, citations))
        text += answer[end : written.mark.start]
        end = written.mark.end
        at = (len(text), len(text) + len(shown := f"[{source.number}]"))
        source.places.append(at)
        marks[written.index].append(at)
        # An answer in other words is no reason to doubt it.
        is_doubted = written.citation.check in (*REFUTED, "picture")
        text += shown + _in_brackets(_words(written.citation) if is_doubted else "")
    text += answer[end:]
    listed = list(sources.values())
    return Completion(result, text + (_source_list(listed) if lists_sources else ""), listed, marks)


def _with_numbers_of_markers_only(answer: str) -> str:
    """The answer without `[1]` of the model's own, except in blocks of code, where nothing cites."""
    blocks = CodeBlocks()
    runs = groupby(re.split(r"(?<=\n)", answer), lambda line: blocks.is_code(line.rstrip("\r\n")))
    joined = ((is_code, "".join(lines)) for is_code, lines in runs)
    return "".join(text if is_code else without_numbers(text) for is_code, text in joined)


def _source_list(sources: Sequence[NumberedSource]) -> str:
    """A Markdown list of the sources with their quotes; empty without sources."""
    listed = [(each, dict.fromkeys(map(_passage, each.citations))) for each in sources]
    lines = (f"{each.number}. {visible_name(each.title)}: {'; '.join(said)}" for each, said in listed)
    return _SOURCES + "\n".join(lines) if sources else ""


def _target(citation: Citation) -> _Target:
    return citation.document_id, citation.page, citation.url


def without_sources(text: str) -> str:
    """An answer as a client sends it back, without the numbers, which mean nothing in the next answer."""
    return _NUMBERED.sub("", text.partition(_SOURCES)[0])


_GRAVEST = ("differs", "unsupported", "picture", "reworded")


def _note(citations: Sequence[Citation]) -> str:
    """The gravest of what is to be said of citations; empty if all are in the same words or supported."""
    noted = [each for each in citations if each.check in _GRAVEST]
    return _words(min(noted, key=lambda each: _GRAVEST.index(each.check))) if noted else ""


def _words(citation: Citation) -> str:
    # Words of a model must not act in Markdown.
    return visible_name(check_words(citation))


def _said_of(citation: Citation) -> str:
    """What is to be said of what cites it; without a quote always something."""
    return _note([citation]) or ("" if citation.quote else _words(citation))


def _in_brackets(doubt: str) -> str:
    return f" ({doubt})" if doubt else ""


def _passage(citation: Citation) -> str:
    # Text of a document must not act in Markdown.
    text = visible_name(" ".join(citation.quote.split()))
    return ": ".join(filter(None, [_said_of(citation), f'"{text}"' if text else ""]))


def usage_of(usage: Usage) -> Json:
    """The tokens of a turn, in OpenAI's names."""
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
    }


_ERROR_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    409: "invalid_request_error",
    429: "rate_limit_error",
}


def error_of(problem: Problem) -> Json:
    """A problem document in OpenAI's form."""
    fallback = "server_error" if problem.status >= 500 else "invalid_request_error"
    param = problem.errors[0].field if problem.errors else None
    kind = _ERROR_TYPES.get(problem.status, fallback)
    return {"error": {"message": problem.detail, "type": kind, "param": param, "code": problem.code}}
