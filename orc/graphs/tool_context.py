"""Makes a tool's result fit: the best of its lists stays, then the beginnings of what is long."""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from core.errors import OrcError
from core.grounding.sources import Source, fence
from core.llm.token_budget import longest_fitting
from core.models import RetrievalStep
from orc.graphs.models import Deps, ToolResult
from orc.graphs.sources import QUOTING, Findings, as_material
from orc.tools.schemas import Handles

Content = dict[str, Any]
Size = Callable[[Content], int]
"""How many tokens a result takes in a prompt, the sources that it speaks of included."""

SHORTEST = 80
"""A text is cut in two until it has so many characters."""


class Shrunk(NamedTuple):
    """A result that fits, and how many items of its lists it had to leave out."""

    content: Content
    left_out: int


def shrink_lists(content: Content, tokens: int, size: Size) -> Shrunk:
    """As many of the first items of each list as fit; of one that quotes, at least the first.

    What quotes pages stays longest: lists are shortened from the others on.
    """
    left_out = 0
    for name in sorted((name for name in content if isinstance(content[name], list)), key=_worth):
        if size(content) <= tokens:
            break
        kept = _beginning(content, name, tokens, size)
        left_out += len(content[name]) - len(kept)
        content = {**content, name: kept}
    return Shrunk(content, left_out)


def shrink_texts(content: Content, tokens: int, size: Size) -> Content:
    """The content with its longest texts and lists cut in two, again and again, until it fits or is short."""
    while size(content) > tokens:
        longest = max(_cuttable(content), key=lambda part: part.length, default=None)
        if longest is None:
            break
        content = _cut(content, longest.path)
    return content


class _Part(NamedTuple):
    path: tuple[str | int, ...]
    length: int


def _worth(name: str) -> int:
    return len(QUOTING) - QUOTING.index(name) if name in QUOTING else 0


def _beginning(content: Content, name: str, tokens: int, size: Size) -> list[Any]:
    """The first items of one list that fit."""
    items: list[Any] = content[name]
    count = longest_fitting(
        items,
        lambda first: size({**content, name: list(first)}) <= tokens,
        least=int(name in QUOTING),
    )
    return items[:count]


def _cuttable(part: Any, path: tuple[str | int, ...] = ()) -> Iterator[_Part]:
    if isinstance(part, str) and len(part) > SHORTEST:
        yield _Part(path, len(part))
    elif isinstance(part, dict):
        for name, value in part.items():
            yield from _cuttable(value, (*path, name))
    elif isinstance(part, list):
        if len(part) > 1:
            yield _Part(path, len(str(part)))
        for place, item in enumerate(part):
            yield from _cuttable(item, (*path, place))


def _cut(part: Any, path: tuple[str | int, ...]) -> Any:
    if not path:
        return part[: len(part) // 2] + ("…" if isinstance(part, str) else [])
    step, *rest = path
    if isinstance(part, dict):
        return {**part, step: _cut(part[step], tuple(rest))}
    return [_cut(item, tuple(rest)) if place == step else item for place, item in enumerate(part)]


AROUND_A_RESULT = 16
"""Tokens, amply, of what stands around a result: its tool's name, brackets, the frame of its message."""
SQUEEZED_OUT = {"note": "made room for later results"}
TOO_LONG = {"note": "What this call gave is too long to be shown."}
LONGEST_ERROR = 500
SHORTEST_SOURCE = 200
"""Characters: less of a source tells nothing."""


class Material:
    """Every result of a turn's tools, in order. `known` are sources of an earlier attempt at the answer.

    A source is told once, with the first result that speaks of it; only what is told can be cited.
    """

    def __init__(self, deps: Deps, known: Sequence[Source] = ()) -> None:
        self.handles = Handles()
        self.results: list[ToolResult] = []
        self.steps: list[RetrievalStep] = []
        self.left_out = 0
        self._findings = Findings(deps.page_text, known)
        self._known = list(known)
        self._counter = deps.counter
        self._counts: dict[tuple[int, int], int] = {}

    @property
    def sources(self) -> list[Source]:
        """What an answer can cite."""
        return self._findings.sources

    @property
    def told(self) -> list[Source]:
        """Those of them that the results speak of."""
        told = [source for result in self.results for source in self._findings.of(result.content)]
        return list({source.number: source for source in told}.values())

    @property
    def carried_tokens(self) -> int:
        """What the sources of the earlier attempt take in a prompt."""
        return sum(map(self._fenced, self._known))

    @property
    def tokens(self) -> int:
        """What all results take in a prompt."""
        return sum(map(self._cost, self.results))

    async def add(self, results: Sequence[ToolResult], tokens: int) -> None:
        """Take results in, best parts first, as much as fits into so many tokens for all of them together."""
        for place, result in enumerate(results):
            shown = await self._shown(result, max(tokens, 0) // (len(results) - place))
            tokens -= self._cost(shown)
            self.results.append(shown)
        self._forget_what_is_not_told()

    def squeeze(self, tokens: int, *, gone: int = 0) -> None:
        """Let the oldest results go, as far as all of them take more than so many tokens.

        The first `gone` ones are no longer in the prompt, and let go in any case.
        """
        note = self._cost(ToolResult(name="", content=SQUEEZED_OUT))
        left = tokens - note * (len(self.results) - gone)
        for place in reversed(range(len(self.results))):
            result = self.results[place]
            left -= max(self._cost(result) - note, 0)
            if (left < 0 or place < gone) and not result.error:
                self.results[place] = result.model_copy(update={"content": SQUEEZED_OUT})
        self._forget_what_is_not_told()

    def carry_over(self, tokens: int) -> None:
        """Of the earlier attempt's sources, keep the first ones that fit and that no longer one holds."""
        told, kept = self.told, list[Source]()
        for source in self._known:
            if source in told or any(_holds(other, source) for other in told):
                continue
            tokens -= self._fenced(source)
            if tokens < 0:
                break
            kept.append(source)
        self._known = kept
        self._forget_what_is_not_told()

    def as_read(self) -> list[ToolResult]:
        """The results with what a model reads of them, each with the sources that none before it told."""
        told: set[int] = set()
        read: list[ToolResult] = []
        for result in self.results:
            fresh = [source for source in self._findings.of(result.content) if source.number not in told]
            told.update(source.number for source in fresh)
            read.append(result.model_copy(update={"material": as_material(_as_json(result), fresh)}))
        return read

    async def _shown(self, result: ToolResult, tokens: int) -> ToolResult:
        """A result as the model sees it, no longer than so many tokens."""
        if result.error:
            return result.model_copy(update={"error": result.error[:LONGEST_ERROR]})
        try:
            numbered = await self._findings.take(_without_searched(result.content))
        except OrcError as exc:
            return ToolResult(name=result.name, error=exc.message)
        self.steps += [RetrievalStep.model_validate(step) for step in result.content.get("steps", [])]
        return result.model_copy(update={"content": self._fitted(self.handles.hide(numbered), tokens)})

    def _fitted(self, content: dict[str, Any], tokens: int) -> dict[str, Any]:
        content, left_out = shrink_lists(content, tokens, self._size)
        self.left_out += left_out
        if self._size(content) > tokens:
            # What is quoted says more than what is told about it.
            content = shrink_texts(content, tokens // 2, self._told_size)
        for source in self._findings.of(content):
            self._shorten(source, tokens - self._size(content))
        content = shrink_texts(content, tokens, self._size)
        return content if self._size(content) <= tokens else TOO_LONG

    def _shorten(self, source: Source, room: int) -> None:
        """Keep what fits of a source, where `room` is below zero by what it has too much."""
        while room < 0 and len(source.text) > SHORTEST_SOURCE:
            had = self._fenced(source)
            share = max(0.0, 0.95 * (had + room) / had)
            kept = max(int(len(source.text) * share), SHORTEST_SOURCE)
            source = self._findings.shorten(source.number, kept)
            room += had - self._fenced(source)

    def _cost(self, result: ToolResult) -> int:
        if result.error:
            return self._counter.count(_as_json(result)) + AROUND_A_RESULT
        return self._size(result.content)

    def _size(self, content: dict[str, Any]) -> int:
        return self._told_size(content) + sum(map(self._fenced, self._findings.of(content)))

    def _told_size(self, content: dict[str, Any]) -> int:
        return self._counter.count(json.dumps(content, ensure_ascii=False)) + AROUND_A_RESULT

    def _fenced(self, source: Source) -> int:
        """Tokens of a source and the line end before it, counted once: counting takes its time."""
        key = (source.number, len(source.text))
        if key not in self._counts:
            self._counts[key] = self._counter.count(f"\n{fence([source])}")
        return self._counts[key]

    def _forget_what_is_not_told(self) -> None:
        self._findings.keep({source.number for source in [*self.told, *self._known]})


def _as_json(result: ToolResult) -> str:
    return json.dumps({"error": result.error} if result.error else result.content, ensure_ascii=False)


def _without_searched(content: dict[str, Any]) -> dict[str, Any]:
    """A search's result without the documents that it looked into: the others are what a reader must know."""
    documents = content.get("documents")
    if not isinstance(documents, list) or "steps" not in content:
        return content
    others = [document for document in documents if not document.get("searched")]
    rest = {name: value for name, value in content.items() if name != "documents"}
    return {**rest, "documents": others} if others else rest


def _holds(longer: Source, shorter: Source) -> bool:
    """Whether a source has all that another one of the same page has."""
    return (
        longer.number != shorter.number
        and (longer.document_id, longer.page) == (shorter.document_id, shorter.page)
        and longer.start <= shorter.start
        and longer.start + len(longer.text) >= shorter.start + len(shorter.text)
        and shorter.text in longer.text
    )
