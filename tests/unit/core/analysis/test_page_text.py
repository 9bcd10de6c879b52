"""The words of a page as its analysis counts them."""

from hypothesis import given
from hypothesis import strategies as st

from core.analysis.page_text import plain_words


@given(st.text(alphabet="aB-_1.\n "))
def test_a_long_text_has_the_words_of_its_parts(part: str) -> None:
    times = 600  # a text of so many characters is split, a short one is searched
    assert plain_words(f"{part} " * times) == plain_words(part) * times


@given(st.text(alphabet="lLaB'’“–-_1 \n"))
def test_a_text_has_the_words_that_it_has_next_to_other_letters(text: str) -> None:
    assert plain_words(text) == plain_words(f"{text} \u044f")[:-1]
