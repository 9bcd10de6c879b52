"""Whether a text says anything. Numbers, clauses and negations: tests of evidence and numbers."""

import time

import pytest

from core.grounding.sentence_facts import BEGINNING, has_content
from core.grounding.tokens import tokenize

pytestmark = pytest.mark.slow

FUNCTION_WORDS = "of the " * BEGINNING
NO_CONTENT = FUNCTION_WORDS + "7"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The quay.", True),
        ("of the 7", False),
        ("quay " + FUNCTION_WORDS, True),
        (FUNCTION_WORDS + "quay", True),
        (NO_CONTENT, False),
        ("界" * BEGINNING * 2, True),
    ],
)
def test_a_content_word_is_found_wherever_it_is(text: str, expected: bool) -> None:
    assert has_content(text) == expected


def test_a_word_that_is_cut_at_the_end_of_the_beginning_does_not_count() -> None:
    """The first three letters of `with` are no function word, and `with` is one."""
    cut = FUNCTION_WORDS[: BEGINNING - 3].rpartition(" ")[0].ljust(BEGINNING - 3) + "with "
    assert has_content(cut[:BEGINNING])
    assert not has_content(cut + NO_CONTENT)


def test_a_long_text_with_a_content_word_at_its_beginning_is_not_read_to_its_end() -> None:
    text = "The quay opens. " * 10_000
    started = time.thread_time()
    tokenize(text, "en")
    whole = time.thread_time() - started
    assert has_content(text)
    assert time.thread_time() - started - whole < whole / 5
