"""Counting tokens: exactly where the ranks of o200k_base are on disk, else by an estimate that says so."""

import base64
import hashlib
import re
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from tiktoken import Encoding

RANKS_URL = "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken"
RANKS_SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
RANKS_FILE = hashlib.sha1(RANKS_URL.encode(), usedforsecurity=False).hexdigest()
"""The name that tiktoken itself gives the file in its cache."""

COUNTS_KEPT = 20_000

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
"""How o200k_base cuts text before merging. A test holds it against tiktoken's own."""

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_DIGITS = re.compile(r"[0-9]+")
_SPACED_DIGIT = re.compile(r"[ \t](?=[0-9])")
_SIGNS = re.compile(r"[!-/:-@\[-`{-~]+")
_GAPS = re.compile(r"[ \t]*[\r\n]+|[ \t]{2,}")
_COMMON_SCRIPTS = re.compile(
    r"[\x80-\u06ff\u0900-\u11ff\u1780-\u17ff\u1c80-\u2bff\u2e00-\ua3ff\uac00-\uffff]+"
)
_RARE_SCRIPTS = re.compile(
    r"[\u0700-\u08ff\u1200-\u177f\u1800-\u1c7f\u2c00-\u2dff\ua400-\uabff\U00010000-\U0010ffff]+"
)
_BYTES_PER_COMMON_TOKEN = 3
"""Held against translations of one text into 480 languages; rarer scripts may cost a token per byte."""


class TokenCounter(Protocol):
    """Counts tokens as the models do. `exact` is False where the count is an estimate."""

    @property
    def exact(self) -> bool: ...

    def count(self, text: str) -> int:
        """Tokens of `text`; 0 for the empty string."""

    def warm(self) -> None:
        """Do now what the first count would otherwise wait for (about 0.4 s); blocking."""


def beginning(text: str, tokens: int, counter: TokenCounter) -> str:
    """As much of a text from its start as has so many tokens at most."""
    while text and (size := counter.count(text)) > tokens:
        text = text[: len(text) * max(tokens, 0) // (size + 1)]
    return text


class ExactTokenCounter:
    """o200k_base from ranks whose hash was checked. Parses them on first use, in whichever thread that is.

    What a conversation says is counted in every turn of it: the latest counts are kept, by the texts' hashes.
    """

    exact = True

    def __init__(self, ranks: bytes) -> None:
        self._ranks = ranks
        self._encoding: Encoding | None = None
        self._loading = threading.Lock()
        self._known: dict[tuple[int, int], int] = {}

    def count(self, text: str) -> int:
        key = (hash(text), len(text))
        if (known := self._known.get(key)) is not None:
            return known
        counted = len(self._loaded().encode_ordinary(text))
        if len(self._known) >= COUNTS_KEPT:
            self._known.clear()
        self._known[key] = counted
        return counted

    def warm(self) -> None:
        self._loaded()

    def _loaded(self) -> "Encoding":
        with self._loading:
            if self._encoding is None:
                self._encoding = _encoding(self._ranks)
                self._ranks = b""
            return self._encoding


class EstimatedTokenCounter:
    """Guesses by classes of characters, rather too high than too low in any language or table."""

    exact = False

    def count(self, text: str) -> int:
        words = sum((len(word) + 5) // 6 for word in _WORD.findall(text))
        numbers = sum((len(run) + 2) // 3 for run in _DIGITS.findall(text)) + len(_SPACED_DIGIT.findall(text))
        signs = sum((len(run) + 3) // 4 for run in _SIGNS.findall(text))
        return words + numbers + signs + len(_GAPS.findall(text)) + _beyond_ascii(text)

    def warm(self) -> None:
        """Nothing to do."""


def load_token_counter(cache_dir: Path) -> TokenCounter:
    """The exact counter where `cache_dir` holds the right ranks, else the estimate. Never uses a network."""
    ranks = read_ranks(cache_dir / RANKS_FILE)
    return EstimatedTokenCounter() if ranks is None else ExactTokenCounter(ranks)


def read_ranks(path: Path) -> bytes | None:
    """The bytes of the ranks file, or None unless it is there and has the right hash."""
    try:
        ranks = path.read_bytes()
    except OSError:
        return None
    return ranks if are_ranks(ranks) else None


def are_ranks(data: bytes) -> bool:
    """Whether `data` is the o200k_base ranks file, by its hash."""
    return hashlib.sha256(data).hexdigest() == RANKS_SHA256


def _encoding(ranks: bytes) -> "Encoding":
    # Built here and not by tiktoken.get_encoding, which would delete a file that it takes for a wrong
    # one and go to the network.
    from tiktoken import Encoding

    pairs = (line.split() for line in ranks.splitlines() if line)
    mergeable = {base64.b64decode(token): int(rank) for token, rank in pairs}
    return Encoding("o200k_base", pat_str=SPLIT_PATTERN, mergeable_ranks=mergeable, special_tokens={})


def _beyond_ascii(text: str) -> int:
    if text.isascii():
        return 0
    common = sum(_bytes(run) // _BYTES_PER_COMMON_TOKEN + 1 for run in _COMMON_SCRIPTS.findall(text))
    return common + sum(_bytes(run) for run in _RARE_SCRIPTS.findall(text))


def _bytes(run: str) -> int:
    return len(run.encode("utf-8", "surrogatepass"))
