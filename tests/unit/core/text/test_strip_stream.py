"""Stripping a text that arrives in pieces."""

from hypothesis import given
from hypothesis import strategies as st

from core.text.strip_stream import StreamStripper


@given(st.lists(st.text(alphabet="ab \n\t", max_size=4)))
def test_the_stripped_text_is_passed_on_completely(pieces: list[str]) -> None:
    trimmed = StreamStripper()
    assert "".join([trimmed.feed(piece) for piece in pieces]) == "".join(pieces).strip()
