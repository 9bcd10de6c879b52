"""Results of tools in the prompt: sources numbered and fenced, no identifiers, within a token budget."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from orc.graphs.models import ConversationState, Run, ToolResult
from orc.graphs.sources import QUOTING, SourceRegistry
from orc.lookups import LookupStep
from orc.tools.schemas import Handles
from orc_core.errors import OrcError
from orc_core.grounding.sources import Source, fence, inert_json
from orc_core.llm.tokens import longest_fitting
from orc_core.models import RetrievalStep

FRAME_TOKENS = 16
"""Upper bound for what surrounds a result in the prompt: the name of its tool and the message frame."""
EVICTED = {"note": "dropped to make space for later results"}
TOO_LONG = {"note": "What this call gave is too long to be shown."}
FENCED = frozenset(
    {"source", "document", "page", "page_number", "url", "context_name", "context_type", "focus"}
)
"""What the fence of a source says, or its number in the handles."""
MAX_ERROR_CHARACTERS = 500
MIN_SOURCE_CHARACTERS = 200
"""A source is not shortened below this."""
MIN_TEXT_CHARACTERS = 80
"""A text is halved until it is this short."""

Content = dict[str, Any]
Path = tuple[str | int, ...]
Size = Callable[[Content], int]
"""The tokens that a result takes in a prompt, including the sources that it refers to."""


class ToolContext:
    """The results of a turn's tools, in order, as the model reads them.

    `results`, `sources`, `handles` and the `last` number of a source reopen a context. `previous` are sources
    of an earlier attempt that results may show again. A source is shown once, with the first result that
    refers to it; only shown and previous sources can be cited, and pages that are shown as pictures.
    """

    def __init__(
        self,
        run: Run,
        *,
        results: Sequence[ToolResult] = (),
        sources: Sequence[Source] = (),
        handles: Sequence[str] = (),
        previous: Sequence[Source] = (),
        last: int = 0,
    ) -> None:
        self.handles = Handles(handles)
        self.results = list(results)
        self.steps: list[RetrievalStep] = []
        self.left_out = 0
        self.unread = 0  # documents that no search could reach, of very many
        self._registry = SourceRegistry(run.resources.library.page_of, [*sources, *previous], last)
        self._previous = [source for source in previous if not source.pictured]
        self.pictured = [source for source in [*sources, *previous] if source.pictured]
        self._counter = run.resources.counter
        self._budget = run.context.settings.retrieval_tokens
        self._counts: dict[tuple[int, int], int] = {}

    @property
    def sources(self) -> list[Source]:
        """The sources that an answer can cite."""
        return self._registry.sources

    @property
    def last(self) -> int:
        """The highest number of a source so far."""
        return self._registry.last

    @property
    def shown(self) -> list[Source]:
        """The sources that the results refer to, each once."""
        shown = [source for result in self.results for source in self._registry.of(result.content)]
        return list({source.number: source for source in shown}.values())

    @property
    def previous_tokens(self) -> int:
        """Tokens of the sources of the earlier attempt."""
        return sum(map(self._fence_tokens, self._previous))

    @property
    def tokens(self) -> int:
        """Tokens of all results in a prompt."""
        return sum(map(self._cost, self.results))

    async def add(self, results: Sequence[ToolResult], tokens: int) -> None:
        """Add results, best parts first, as much as fits into the tokens for all of them together."""
        for place, result in enumerate(results):
            numbered = await self._number(result, max(tokens, 0) // (len(results) - place))
            tokens -= self._cost(numbered)
            self.results.append(numbered)
        self._forget_unshown()

    def shorten_first(self, count: int, tokens: int) -> None:
        """Keep of so many first results what fits into the tokens, best parts first."""
        for place in range(count):
            result = self.results[place]
            if not result.error:
                share = tokens // (count - place)
                self.results[place] = result.model_copy(
                    update={"content": self._shrink(result.content, share)}
                )
            tokens -= self._cost(self.results[place])
        self._forget_unshown()

    def evict_oldest(self, tokens: int, *, shown: int = 0, dropped: int = 0) -> None:
        """Replace the oldest results by a note while all results take more than the tokens.

        The first `shown` results stay. After them, `dropped` ones are no longer in the prompt and are always
        replaced.
        """
        gone = range(shown, shown + dropped)
        note = self._cost(ToolResult(name="", content=EVICTED))
        left = tokens - note * (len(self.results) - dropped)
        for place in reversed(range(len(self.results))):
            result = self.results[place]
            left -= max(self._cost(result) - note, 0)
            if (left < 0 or place in gone) and place >= shown and not result.error:
                self.results[place] = result.model_copy(update={"content": EVICTED})
        self._forget_unshown()

    def keep_previous(self, tokens: int) -> None:
        """Keep the first previous sources that fit and that no longer source contains; forget the others."""
        shown, kept = self.shown, list[Source]()
        for source in self._previous:
            if source in shown or any(_contains(other, source) for other in shown):
                continue
            tokens -= self._fence_tokens(source)
            if tokens < 0:
                break
            kept.append(source)
        self._previous = kept
        self._forget_unshown()

    def rendered(self) -> list[ToolResult]:
        """The results with the text that a model reads, each with the sources not shown before it."""
        seen: set[int] = set()
        rendered: list[ToolResult] = []
        for result in self.results:
            new = [source for source in self._registry.of(result.content) if source.number not in seen]
            seen.update(source.number for source in new)
            rendered.append(result.model_copy(update={"rendered": with_sources(notes_of(result), new)}))
        return rendered

    def state_update(self, state: ConversationState) -> dict[str, Any]:
        """The fields of the state that come from the results."""
        left_out = LookupStep(tool="", reason_code="left_out", hits=self.left_out, tokens=self._budget)
        return {
            "tool_results": self.rendered(),
            "handles": self.handles.documents,
            "not_searched": state.not_searched.and_more(max(0, self.unread - state.not_searched.total)),
            "attempt": state.attempt.model_copy(update={"sources": self.sources}),
            "retrieval_mode": "none"
            if not self.sources
            else "web"
            if all(source.url for source in self.sources)
            else "rag",
            "retrieval_steps": [*state.retrieval_steps, *self.steps],
            "lookup_steps": [*state.lookup_steps, left_out] if self.left_out else state.lookup_steps,
        }

    async def _number(self, result: ToolResult, tokens: int) -> ToolResult:
        """The result with numbered sources and handles, within the tokens."""
        if result.error:
            return result.model_copy(update={"error": result.error[:MAX_ERROR_CHARACTERS]})
        content, documents = result.content, result.content.get("documents")
        if isinstance(counts := content.get("counts"), dict):
            self.unread = max(self.unread, counts.get("unread", 0))
        if isinstance(documents, list) and "steps" in content:
            # Of the documents that a search went through only those are worth a note that it left out.
            others = [document for document in documents if not document.get("searched")]
            content = {name: value for name, value in content.items() if name != "documents"}
            content |= {"documents": others} if others else {}
        try:
            numbered = await self._registry.add(content)
        except OrcError as exc:
            return ToolResult(name=result.name, error=exc.message)
        self.steps += [RetrievalStep.model_validate(step) for step in result.content.get("steps", [])]
        return result.model_copy(update={"content": self._shrink(self.handles.hide(numbered), tokens)})

    def _shrink(self, content: Content, tokens: int) -> Content:
        content, left_out = shrink_lists(content, tokens, self._size)
        self.left_out += left_out
        if self._size(content) > tokens:
            # Quotes are worth more than the text about them.
            content = shrink_texts(content, tokens // 2, self._own_size)
        for quoted in self._registry.of(content):
            source, left = quoted, tokens - self._size(content)
            while left < 0 and len(source.text) > MIN_SOURCE_CHARACTERS:
                # Its end is cut by what is in excess.
                before = self._fence_tokens(source)
                share = max(0.0, 0.95 * (before + left) / before)
                length = max(int(len(source.text) * share), MIN_SOURCE_CHARACTERS)
                source = self._registry.shorten(source.number, length)
                left += before - self._fence_tokens(source)
        content = shrink_texts(content, tokens, self._size)
        return content if self._size(content) <= tokens else TOO_LONG

    def _cost(self, result: ToolResult) -> int:
        if result.error:
            return self._counter.count(notes_of(result)) + FRAME_TOKENS
        return self._size(result.content)

    def _size(self, content: Content) -> int:
        return self._own_size(content) + sum(map(self._fence_tokens, self._registry.of(content)))

    def _own_size(self, content: Content) -> int:
        return self._counter.count(notes_of(ToolResult(name="", content=content))) + FRAME_TOKENS

    def _fence_tokens(self, source: Source) -> int:
        """Tokens of a fenced source and the line end before it, counted once."""
        key = (source.number, len(source.text))
        if key not in self._counts:
            self._counts[key] = self._counter.count(f"\n{fence([source])}")
        return self._counts[key]

    def _forget_unshown(self) -> None:
        kept = [*self.shown, *self._previous, *self.pictured]
        self._registry.keep({source.number for source in kept})


def with_sources(notes: str, sources: Sequence[Source]) -> str:
    """What a tool's result says, followed by the sources that it refers to."""
    return "\n".join(filter(None, [notes, fence(sources)]))


def notes_of(result: ToolResult, *, with_handles: bool = True) -> str:
    """What a result says in addition to its sources, as JSON, and the handles of their documents.

    Empty if all that it has are sources.
    """
    if result.error:
        return inert_json({"error": result.error})
    quoting = {name: result.content[name] for name in QUOTING if isinstance(result.content.get(name), list)}
    items = [
        item for each in quoting.values() for item in each if isinstance(item, dict) and "source" in item
    ]
    besides = {name: [rest for item in each if (rest := _rest_of(item))] for name, each in quoting.items()}
    said = {name: value for name, value in {**result.content, **besides}.items() if value not in ([], None)}
    handles: dict[str, str] = {}
    for item in items:
        if handle := item.get("document"):
            handles[handle] = f"{handles.get(handle, '')} {item['source']}".strip()
    if handles and with_handles:
        said["handles"] = handles
    return inert_json(said if items else said or result.content) if said or not items else ""


def _rest_of(item: Any) -> Any:
    """What an item says that its fenced source does not."""
    if not (isinstance(item, dict) and "source" in item):
        return item
    rest = {name: value for name, value in item.items() if name not in FENCED}
    return {"source": item["source"], **rest} if rest else None


def _contains(longer: Source, shorter: Source) -> bool:
    """Whether a source includes all text of another source of the same page."""
    return (
        longer.number != shorter.number
        and (longer.document_id, longer.page) == (shorter.document_id, shorter.page)
        and longer.start <= shorter.start
        and longer.start + len(longer.text) >= shorter.start + len(shorter.text)
        and shorter.text in longer.text
    )


def shrink_lists(content: Content, tokens: int, size: Size) -> tuple[Content, int]:
    """Keep as many of the first items of each list as fit; returns also how many items were omitted.

    Lists that quote pages are shortened last, and keep at least their first item.
    """
    left_out, lists = 0, [name for name in content if isinstance(content[name], list)]
    for name in [*(name for name in lists if name not in QUOTING), *(q for q in QUOTING[::-1] if q in lists)]:
        if size(content) <= tokens:
            break
        items, rest = content[name], content

        def fits(first: Sequence[Any], name: str = name, rest: Content = rest) -> bool:
            return size({**rest, name: list(first)}) <= tokens

        kept = items[: longest_fitting(items, fits, least=int(name in QUOTING))]
        left_out += len(items) - len(kept)
        content = {**content, name: kept}
    return content, left_out


def shrink_texts(content: Content, tokens: int, size: Size) -> Content:
    """Halve the longest text or list of the content until it fits or nothing long is left."""
    while size(content) > tokens:
        longest = max(_cuttable(content), key=lambda part: part[0], default=None)
        if longest is None:
            break
        content = _cut(content, longest[1])
    return content


def _cuttable(part: Any, path: Path = ()) -> Iterator[tuple[int, Path]]:
    """The length and the path of each part that can be cut."""
    if isinstance(part, str) and len(part) > MIN_TEXT_CHARACTERS:
        yield len(part), path
    elif isinstance(part, dict):
        for name, value in part.items():
            yield from _cuttable(value, (*path, name))
    elif isinstance(part, list):
        if len(part) > 1:
            yield len(str(part)), path
        for place, item in enumerate(part):
            yield from _cuttable(item, (*path, place))


def _cut(part: Any, path: Path) -> Any:
    if not path:
        return part[: len(part) // 2] + ("…" if isinstance(part, str) else [])
    step, *rest = path
    if isinstance(part, dict):
        return {**part, step: _cut(part[step], tuple(rest))}
    return [_cut(item, tuple(rest)) if place == step else item for place, item in enumerate(part)]
