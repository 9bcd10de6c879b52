"""The history that a prompt has: the newest messages that fit, long ones shortened."""

from hypothesis import given
from hypothesis import strategies as st

from orc.graphs.models import ChatMessage
from orc.graphs.prompting import within_budget
from tests.fakes import WordCounter

COUNTER = WordCounter()


def said(*lengths: int) -> list[ChatMessage]:
    """Questions and answers by turns, of so many words each."""
    return [
        ChatMessage(role="assistant" if at % 2 else "user", content=f"w{at} " * length)
        for at, length in enumerate(lengths)
    ]


@given(st.lists(st.integers(1, 60), max_size=12), st.integers(0, 100))
def test_what_is_kept_fits_ends_with_the_newest_and_begins_with_a_question(
    lengths: list[int], tokens: int
) -> None:
    history = said(*lengths)
    kept = within_budget(history, tokens, COUNTER)
    assert sum(COUNTER.count(message.content) for message in kept) <= tokens
    assert not kept or kept[0].role == "user"
    for short, whole in zip(reversed(kept), reversed(history), strict=False):
        assert (short.role, whole.content.startswith(short.content.removesuffix(" …"))) == (whole.role, True)


def test_a_long_answer_does_not_push_everything_out() -> None:
    kept = within_budget(said(5, 500, 5, 5), 100, COUNTER)
    assert [COUNTER.count(message.content) for message in kept] == [5, 51, 5, 5]
    assert kept[1].content.endswith("…")
