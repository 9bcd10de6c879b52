"""Normal forms are those of Unicode for any text that people write, and take time by its length only."""

import random
import sys
import time
import unicodedata

import pytest

from orc_core.text.normal_forms import LONGEST_RUN, SHORT, Form, _long_runs, is_mark, normalized

TEXT = "Größe der Straße: 5 km². ﬁn, Ⅳ, x̣́ und ạ́; Việt Nam, ạ̈, क़, ᾄ, 한국어, がぎ, ｶﾞ, الْعَرَبِيَّة, שָׁלוֹם. "
FORMS: tuple[Form, ...] = ("NFC", "NFD", "NFKC", "NFKD")
TWO_KINDS = "\u0301\u0323"
"""Marks above and below a letter: those below belong before those above."""


@pytest.mark.parametrize("form", FORMS)
def test_written_text_has_the_form_that_unicode_defines(form: Form) -> None:
    long = TEXT * (1 + SHORT // len(TEXT))
    for text in ("", "plain", TEXT, long, unicodedata.normalize("NFD", long)):
        assert normalized(form, text) == unicodedata.normalize(form, text)


@pytest.mark.parametrize("form", FORMS)
def test_a_letter_with_as_many_marks_as_are_ordered_together_has_the_form_too(form: Form) -> None:
    marks = "".join(random.Random(1).choices(TWO_KINDS + "\u0344\u0f73", k=LONGEST_RUN - 1))
    text = f"a{marks} " * SHORT
    assert normalized(form, text) == unicodedata.normalize(form, text)


@pytest.mark.parametrize("unit", [TWO_KINDS, "\u0f73", "\u0344\u0323", "\uff9e\u0323"])
def test_four_times_the_marks_take_about_four_times_as_long(unit: str) -> None:
    def seconds(length: int) -> float:
        text = "a" + unit * (length // len(unit))
        begin = time.thread_time()
        normalized("NFKC", text)
        return time.thread_time() - begin

    normalized("NFKC", TWO_KINDS * SHORT)  # builds the pattern
    # Without the limit the longer one takes 0.8 seconds.
    assert min(seconds(32_000) for _ in range(3)) < 0.2


def test_every_mark_is_known() -> None:
    marks = [character for character in map(chr, range(sys.maxunicode + 1)) if is_mark(character)]
    assert len(marks) > 900
    assert [mark for mark in marks if not _long_runs().fullmatch(mark * LONGEST_RUN)] == []
