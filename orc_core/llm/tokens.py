"""Counts tokens as OpenAI's models do: of texts (o200k_base), of messages, and of whole prompts."""

import gzip
import json
import re
import threading
from binascii import a2b_base64
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, Any, TypeVar

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from orc_core.llm.messages import MemoryMessage

if TYPE_CHECKING:
    from tiktoken import Encoding


RANKS_FILE = "o200k_base.tiktoken.gz"
CACHED_COUNTS = 20_000

PER_MESSAGE = 3
PER_ROLE = 1
BEFORE_THE_REPLY = 3
_PER_FUNCTION, _AFTER_FUNCTIONS = 7, 12
_PER_PROPERTY_LIST, _PER_PROPERTY = 3, 3
_PER_ENUM, _PER_ENUM_ITEM = -3, 3
"""Tokens that the chat format adds, as OpenAI published for its models (cookbook, "How to count tokens with
tiktoken")."""

_LETTERS_UPPER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
_LETTERS_LOWER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_CONTRACTION = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
SPLIT_PATTERN = "|".join(
    [
        rf"[^\r\n\p{{L}}\p{{N}}]?{_LETTERS_UPPER}*{_LETTERS_LOWER}+{_CONTRACTION}",
        rf"[^\r\n\p{{L}}\p{{N}}]?{_LETTERS_UPPER}+{_LETTERS_LOWER}*{_CONTRACTION}",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    ]
)
"""How o200k_base splits text before merging. A test compares it with tiktoken's own pattern."""
COUNTED_AT_ONCE, LONGEST_RUN = 16_000, 2_000
"""Characters of a text that are counted at once, and those of a run that is not cut."""
_ALWAYS_SPLIT = re.compile(r"(?<=[^\W\d_])(?=[ .,;:!?\u3001\u3002\uff0c][^\W\d_])|(?<=\n)(?=[^\W\d_])")
"""Before a space or mark between letters, and before a letter that begins a line."""


class TokenCounter:
    """Counts the tokens of texts. `tools_as_json`: the model reads definitions of tools as their JSON.

    Counts are exact, but for runs of thousands of characters without a space or mark, which are cut: the time
    of merging grows faster than they do. All counters of a process share one encoding, which the first count
    loads.

    Every turn counts the messages of its conversation again, so recent counts are cached by the text's hash.
    """

    def __init__(self, *, tools_as_json: bool = False) -> None:
        self.tools_as_json = tools_as_json
        self._cached: dict[tuple[int, int], int] = {}

    def count(self, text: str) -> int:
        """Tokens of `text`; 0 for the empty string."""
        key = (hash(text), len(text))
        if (cached := self._cached.get(key)) is not None:
            return cached
        counted = sum(len(load_encoding().encode_ordinary(part)) for part in counted_parts(text))
        if len(self._cached) >= CACHED_COUNTS:
            self._cached.clear()
        self._cached[key] = counted
        return counted

    def warm(self) -> None:
        """Load what the first count would otherwise wait for (about 0.4 s). Blocking."""
        load_encoding()


def counted_parts(text: str) -> Iterator[str]:
    """The text in parts that have its tokens: each ends where the encoding splits text in any case."""
    start = 0
    while len(text) - start > COUNTED_AT_ONCE:
        end = start + COUNTED_AT_ONCE
        if found := list(_ALWAYS_SPLIT.finditer(text, end - LONGEST_RUN, end)):
            end = found[-1].start()
        yield text[start:end]
        start = end
    yield text[start:]


_loading = threading.Lock()
_encoding: "Encoding | None" = None


def load_encoding() -> "Encoding":
    """The encoding o200k_base, loaded once per process. Never uses the network."""
    global _encoding  # noqa: PLW0603 - one per process: parsing takes 0.3 s and the result some 60 MB
    with _loading:
        if _encoding is None:
            # tiktoken.get_encoding would read the file from its own cache, or download it.
            from tiktoken import Encoding

            fields = read_ranks().split()
            ranks = dict(zip(map(a2b_base64, fields[::2]), map(int, fields[1::2]), strict=True))
            _encoding = Encoding(
                "o200k_base", pat_str=SPLIT_PATTERN, mergeable_ranks=ranks, special_tokens={}
            )
        return _encoding


def read_ranks() -> bytes:
    """The uncompressed file of ranks: a base64 token and its rank in each line."""
    return gzip.decompress(files(__package__).joinpath(RANKS_FILE).read_bytes())


def section_tokens(
    messages: Sequence[BaseMessage],
    question: str,
    counter: TokenCounter,
    tools: Sequence[dict[str, Any]] = (),
) -> dict[str, int]:
    """The tokens of each part of a prompt, and their `total`. A long one takes milliseconds: use a thread.

    `retrieval` is what follows the question, in its message or in later ones.
    """
    asked = max(at for at, message in enumerate(messages) if isinstance(message, HumanMessage))
    sizes = dict.fromkeys(("system", "memory", "history", "question", "retrieval"), 0)
    for at, message in enumerate(messages):
        tokens = message_tokens(message, counter)
        if isinstance(message, SystemMessage):
            sizes["system"] += tokens
        elif isinstance(message, MemoryMessage):
            sizes["memory"] += tokens
        elif at == asked:
            sizes["question"] += (own := min(tokens, counter.count(question)))
            sizes["retrieval"] += tokens - own
        else:
            sizes["history" if at < asked else "retrieval"] += tokens
    sizes["tools"] = tools_tokens(tools, counter)
    sizes["system"] += BEFORE_THE_REPLY
    return {**sizes, "total": sum(sizes.values())}


def message_tokens(message: BaseMessage, counter: TokenCounter) -> int:
    """Tokens of one message, including its tool calls and what the chat format adds."""
    texts = [str(message.text)]
    if isinstance(message, AIMessage):
        for call in message.tool_calls:
            texts += [call["name"], json.dumps(call["args"], ensure_ascii=False)]
    frame = PER_MESSAGE + PER_ROLE + (PER_MESSAGE if isinstance(message, ToolMessage) else 0)
    return frame + sum(counter.count(text) for text in texts)


def tools_tokens(tools: Sequence[Mapping[str, Any]], counter: TokenCounter) -> int:
    """Tokens of tool definitions: in OpenAI's own format, or as the JSON that templates of others have."""
    if not tools:
        return 0
    if counter.tools_as_json:
        return sum(counter.count(json.dumps(tool)) for tool in tools)
    return _AFTER_FUNCTIONS + sum(_function_tokens(tool["function"], counter) for tool in tools)


def _function_tokens(function: Mapping[str, Any], counter: TokenCounter) -> int:
    description = function.get("description", "").removesuffix(".")
    count = _PER_FUNCTION + counter.count(f"{function['name']}:{description}")
    properties: Mapping[str, Any] = function.get("parameters", {}).get("properties", {})
    count += _PER_PROPERTY_LIST if properties else 0
    for name, schema in properties.items():
        description = schema.get("description", "").removesuffix(".")
        count += _PER_PROPERTY + counter.count(f"{name}:{schema.get('type', '')}:{description}")
        if "enum" in schema:
            count += _PER_ENUM + sum(_PER_ENUM_ITEM + counter.count(str(item)) for item in schema["enum"])
    return count


Item = TypeVar("Item")
ELLIPSIS = " …"


def truncate(text: str, tokens: int, counter: TokenCounter) -> str:
    """The beginning of `text` that has at most `tokens` tokens."""
    while text and (size := counter.count(text)) > tokens:
        text = text[: len(text) * max(tokens, 0) // (size + 1)]
    return text


def truncate_words(text: str, tokens: int, counter: TokenCounter) -> str:
    """As `truncate`, at the end of a word and with an ellipsis; at least the first word."""
    words = text.split(" ")
    while (size := counter.count(text)) > tokens and len(words) > 1:
        words = words[: max(1, min(len(words) - 1, len(words) * tokens // size))]
        text = " ".join(words) + ELLIPSIS
    return text


def take_first_fitting(items: Iterable[Item], tokens: int, size: Callable[[Item], int]) -> list[Item]:
    """The first items that fit together: stops at the first one that does not."""
    taken: list[Item] = []
    for item in items:
        if (tokens := tokens - size(item)) < 0:
            break
        taken.append(item)
    return taken


def take_last_fitting(items: Sequence[Item], tokens: int, size: Callable[[Item], int]) -> list[Item]:
    """The last items that fit together, in their order."""
    return take_first_fitting(reversed(items), tokens, size)[::-1]


def take_each_fitting(items: Iterable[Item], tokens: int, size: Callable[[Item], int]) -> list[Item]:
    """The items that fit together, skipping those too large for what is left."""
    taken: list[Item] = []
    for item in items:
        if (needed := size(item)) <= tokens:
            taken.append(item)
            tokens -= needed
    return taken


def longest_fitting(items: Sequence[Item], fits: Callable[[Sequence[Item]], bool], *, least: int = 0) -> int:
    """How many first items fit, for sizes that do not add up; at least `least` of them."""
    low, high = min(len(items), least), len(items)
    while low < high:
        middle = (low + high + 1) // 2
        if fits(items[:middle]):
            low = middle
        else:
            high = middle - 1
    return low
