"""Counting tokens exactly, and estimating them where the ranks are missing."""

import subprocess
import sys
from pathlib import Path

import pytest
import tiktoken

from core.llm.tokens import (
    RANKS_FILE,
    SPLIT_PATTERN,
    EstimatedTokenCounter,
    ExactTokenCounter,
    are_ranks,
    beginning,
    load_token_counter,
    read_ranks,
)
from devkit.shared_data import ROOT

CACHE = ROOT / ".orc" / "cache" / "tiktoken"

ENGLISH = "The deductible for Northwind Standard is $2,000 per person, per year."
SAMPLES = {
    "english": (ENGLISH, 17),
    "german": ("Alle Menschen sind frei und gleich an Würde und Rechten geboren.", 14),
    "japanese": ("すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。", 35),
    "numbers": ("1,234.50\t2,000\t99%\n53.40 50.68 50.90 49.86\n", 28),
    "code": ("def add(a: int, b: int) -> int:\n    return a + b\n", 19),
}
"""Texts and how many tokens o200k_base makes of them."""


@pytest.fixture(scope="module")
def exact() -> ExactTokenCounter:
    counter = load_token_counter(CACHE)
    if not isinstance(counter, ExactTokenCounter):
        pytest.skip(f"no token ranks: run `python -m core.llm.tokenizer_files {CACHE.relative_to(ROOT)}`")
    return counter


@pytest.mark.parametrize("name", SAMPLES)
def test_exact_counts_are_those_of_the_models(name: str, exact: ExactTokenCounter) -> None:
    text, tokens = SAMPLES[name]
    assert exact.count(text) == tokens


def test_text_is_cut_as_tiktoken_cuts_it(exact: ExactTokenCounter, monkeypatch: pytest.MonkeyPatch) -> None:
    assert exact.exact
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(CACHE))
    assert tiktoken.get_encoding("o200k_base")._pat_str == SPLIT_PATTERN


def test_special_tokens_and_lone_surrogates_are_ordinary_text(exact: ExactTokenCounter) -> None:
    for counter in (exact, EstimatedTokenCounter()):
        assert counter.count("<|endoftext|>") > 1
        assert counter.count("broken \ud800 text") > 2


@pytest.mark.parametrize("name", SAMPLES)
def test_an_estimate_is_hardly_ever_too_low(name: str) -> None:
    text, tokens = SAMPLES[name]
    assert 0.9 * tokens <= EstimatedTokenCounter().count(text * 10) / 10 <= 1.6 * tokens


def test_nothing_has_no_tokens() -> None:
    assert EstimatedTokenCounter().count("") == 0


@pytest.mark.parametrize("content", [None, b"", b"IQ== 0\n"])
def test_without_the_right_ranks_counts_are_estimates(content: bytes | None, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / RANKS_FILE).write_bytes(content)
    counter = load_token_counter(tmp_path)
    counter.warm()
    assert not counter.exact
    assert counter.count(ENGLISH) > 0
    assert content is None or (tmp_path / RANKS_FILE).read_bytes() == content


def test_a_counter_is_loaded_without_importing_tiktoken(exact: ExactTokenCounter) -> None:
    assert are_ranks(read_ranks(CACHE / RANKS_FILE) or b"")
    program = (
        "import sys; from pathlib import Path; from core.llm.tokens import load_token_counter;"
        "c = load_token_counter(Path(sys.argv[1])); assert c.exact and 'tiktoken' not in sys.modules;"
        "c.warm(); assert 'tiktoken' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program, str(CACHE)], check=True)


@pytest.mark.parametrize("tokens", [-3, 0, 1, 7, 40, 10_000])
def test_a_beginning_is_one_and_fits(exact: ExactTokenCounter, tokens: int) -> None:
    text = "Der Hafenmeister öffnet um sieben; 港 opens at 07:00. " * 40
    kept = beginning(text, tokens, exact)
    assert text.startswith(kept)
    assert exact.count(kept) <= max(tokens, 0)
    assert (kept == text) == (exact.count(text) <= tokens)
    assert tokens < 7 or exact.count(kept) >= min(tokens, exact.count(text)) // 2
