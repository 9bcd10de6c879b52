"""Counting tokens as the models do."""

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest
import tiktoken

from orc_core.llm import tokens
from orc_core.llm.tokens import (
    COUNTED_AT_ONCE,
    SPLIT_PATTERN,
    TokenCounter,
    counted_parts,
    load_encoding,
    read_ranks,
)

pytestmark = pytest.mark.slow

RANKS_URL = "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken"
RANKS_SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
"""As published in `tiktoken_ext/openai_public.py`."""

ENGLISH = "The deductible for Northwind Standard is $2,000 per person, per year."
SAMPLES = {
    "english": (ENGLISH, 17),
    "german": ("Alle Menschen sind frei und gleich an Würde und Rechten geboren.", 14),
    "japanese": ("すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。", 35),
    "numbers": ("1,234.50\t2,000\t99%\n53.40 50.68 50.90 49.86\n", 28),
    "code": ("def add(a: int, b: int) -> int:\n    return a + b\n", 19),
    "nothing": ("", 0),
}
"""Texts and how many tokens o200k_base makes of them."""


@pytest.mark.parametrize("name", SAMPLES)
def test_counts_are_those_of_the_models(name: str) -> None:
    text, count = SAMPLES[name]
    counter = TokenCounter()
    assert counter.count(text) == count
    assert counter.count(text) == count


def test_the_package_has_the_published_ranks() -> None:
    assert hashlib.sha256(read_ranks()).hexdigest() == RANKS_SHA256


def test_the_encoding_equals_tiktokens_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cached = tmp_path / hashlib.sha1(RANKS_URL.encode(), usedforsecurity=False).hexdigest()
    cached.write_bytes(read_ranks())
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    own = tiktoken.get_encoding("o200k_base")
    assert own._pat_str == SPLIT_PATTERN
    assert own._mergeable_ranks == load_encoding()._mergeable_ranks


def test_special_tokens_and_lone_surrogates_are_ordinary_text() -> None:
    counter = TokenCounter()
    assert counter.count("<|endoftext|>") > 1
    assert counter.count("broken \ud800 text") > 2


@pytest.mark.slow
def test_counts_are_exact_in_any_directory_without_a_cache(tmp_path: Path) -> None:
    program = f"from orc_core.llm.tokens import TokenCounter; print(TokenCounter().count({ENGLISH!r}))"
    environment = {"PYTHONPATH": str(Path(tokens.__file__).parents[2]), "ORC_DATA_DIR": str(tmp_path)}
    ran = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, cwd=tmp_path, env=environment
    )
    assert int(ran.stdout) == SAMPLES["english"][1]


@pytest.mark.parametrize("name", SAMPLES)
def test_a_long_text_has_the_tokens_that_it_has_as_a_whole(name: str) -> None:
    text = f"{SAMPLES[name][0]}\n'It’s the quay,' 界と言う。" * (COUNTED_AT_ONCE // 10)
    assert len(list(counted_parts(text))) > 1
    assert TokenCounter().count(text) == len(load_encoding().encode_ordinary(text))


def test_a_run_without_end_is_cut_because_merging_it_takes_ever_longer() -> None:
    text = "界" * (10 * COUNTED_AT_ONCE)
    assert max(map(len, counted_parts(text))) == COUNTED_AT_ONCE
    assert "".join(counted_parts(text)) == text
    assert TokenCounter().count(text) == len(text)
