"""Counts tokens as OpenAI's models do (o200k_base), from a file that ships with the package."""

import base64
import gzip
import threading
from importlib.resources import files
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from tiktoken import Encoding

RANKS_FILE = "o200k_base.tiktoken.gz"
CACHED_COUNTS = 20_000

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


class TokenCounter(Protocol):
    """Counts the tokens of a text."""

    def count(self, text: str) -> int:
        """Tokens of `text`; 0 for the empty string."""

    def warm(self) -> None:
        """Loads what the first count would otherwise wait for (about 0.4 s). Blocking."""


class TiktokenCounter:
    """Exact counts. All counters of a process share one encoding, which the first count loads.

    Every turn counts the messages of its conversation again, so recent counts are cached by the text's hash.
    """

    def __init__(self) -> None:
        self._cached: dict[tuple[int, int], int] = {}

    def count(self, text: str) -> int:
        key = (hash(text), len(text))
        if (cached := self._cached.get(key)) is not None:
            return cached
        counted = len(load_encoding().encode_ordinary(text))
        if len(self._cached) >= CACHED_COUNTS:
            self._cached.clear()
        self._cached[key] = counted
        return counted

    def warm(self) -> None:
        load_encoding()


_loading = threading.Lock()
_encoding: "Encoding | None" = None


def load_encoding() -> "Encoding":
    """The encoding o200k_base, loaded once per process. Never uses the network."""
    global _encoding  # noqa: PLW0603 - one per process: parsing takes 0.3 s and the result some 60 MB
    with _loading:
        if _encoding is None:
            _encoding = _parse_encoding(read_ranks())
        return _encoding


def read_ranks() -> bytes:
    """The uncompressed file of ranks: a base64 token and its rank in each line."""
    return gzip.decompress(files(__package__).joinpath(RANKS_FILE).read_bytes())


def _parse_encoding(ranks: bytes) -> "Encoding":
    # tiktoken.get_encoding would read the file from its own cache, or download it.
    from tiktoken import Encoding

    pairs = (line.split() for line in ranks.splitlines() if line)
    mergeable = {base64.b64decode(token): int(rank) for token, rank in pairs}
    return Encoding("o200k_base", pat_str=SPLIT_PATTERN, mergeable_ranks=mergeable, special_tokens={})
