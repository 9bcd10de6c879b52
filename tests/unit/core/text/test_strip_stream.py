"""Text without the space around it, in whatever pieces it comes."""

from hypothesis import given
from hypothesis import strategies as st

from core.text.strip_stream import StreamStripper


@given(st.lists(st.text(alphabet="ab \n\t", max_size=4)))
def test_what_is_passed_on_is_the_whole_without_the_space_around_it(pieces: list[str]) -> None:
    trimmed = StreamStripper()
    assert "".join([trimmed.feed(piece) for piece in pieces]) == "".join(pieces).strip()
