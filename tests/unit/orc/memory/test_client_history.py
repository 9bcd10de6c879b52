"""Which of a caller's messages become the history of a turn."""

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orc.conversations.models import ChatMessage
from orc.memory.client_history import cleaned, first_words, latest_turns, question_and_history
from orc_core.mcp_contract import MAX_QUESTION_CHARACTERS

TEXTS = st.one_of(st.sampled_from(["Yes.", "yes. ", "", " \x07 ", "e\u0301\r\n"]), st.text(max_size=20))
CHATS = st.lists(
    st.builds(ChatMessage, role=st.sampled_from(["user", "assistant"]), content=TEXTS), max_size=9
)


def chat(*said: str) -> list[ChatMessage]:
    """Messages in the notation `u: What?` and `a: That.`"""
    roles = {"u": "user", "a": "assistant"}
    return [ChatMessage.model_validate({"role": roles[line[0]], "content": line[3:]}) for line in said]


def written(messages: list[ChatMessage]) -> list[str]:
    return [f"{message.role[0]}: {message.content}" for message in messages]


@pytest.mark.parametrize(
    ("said", "history"),
    [
        (["u: The fee?", "a: 10."], ["u: The fee?", "a: 10."]),
        (["u: \x1b[31mThe\tfee\x00?\r\nNow\r", "a: e\u0301"], ["u: [31mThe\tfee?\nNow", "a: é"]),
        (["u: The fee?", "a: ", "u: \x07", "a: 10."], ["u: The fee?", "a: 10."]),
        (["u: The fee?", "a: the  FEE?", "a: 10.", "a: 10."], ["u: The fee?", "a: 10."]),
        (["u: The fee?", "u: The fee?", "a: 10."], ["u: The fee?", "a: 10."]),
        (["u: It is about a.pdf.", "u: The fee?", "a: 10."], ["u: It is about a.pdf.\n\nThe fee?", "a: 10."]),
        (["u: The fee?", "a: 10.", "u: 10."], ["u: The fee?", "a: 10.", "u: 10."]),
        (["u: Why?", "a: No.", "u: Really?", "a: No."], ["u: Why?", "a: No.", "u: Really?", "a: No."]),
        (["a: Hello."], ["a: Hello."]),
    ],
    ids=["as it is", "control", "empty", "echo", "again", "in two", "quote", "two answers", "greeting"],
)
def test_a_history_alternates_between_both_speakers(said: list[str], history: list[str]) -> None:
    question, earlier = question_and_history(chat(*said, "u:  And then? "))
    assert (question, written(earlier)) == ("And then?", history)


def test_a_repeated_question_is_not_in_its_own_history() -> None:
    question, earlier = question_and_history(chat("u: Hello.", "a: Yes?", "u: The fee?", "u: The  fee?"))
    assert (question, written(earlier)) == ("The  fee?", ["u: Hello.", "a: Yes?"])


def test_a_long_message_is_cut_with_an_ellipsis() -> None:
    _, [kept] = question_and_history(chat("a: " + "x" * (MAX_QUESTION_CHARACTERS + 1), "u: And?"))
    assert len(kept.content) == MAX_QUESTION_CHARACTERS
    assert kept.content.endswith("x …")


def test_consecutive_messages_together_have_the_limit_of_one() -> None:
    said = [f"u: {number} {'x' * (MAX_QUESTION_CHARACTERS // 2)}" for number in range(198)]
    _, [kept, _answer] = question_and_history(chat(*said, "a: Noted.", "u: And?"))
    assert len(kept.content) == MAX_QUESTION_CHARACTERS
    assert kept.content.startswith("… x")
    assert kept.content.endswith(said[-1].removeprefix("u: "))


@given(CHATS)
def test_every_history_is_clean(said: list[ChatMessage]) -> None:
    question, earlier = question_and_history([*said, *chat("u: The last of it?")])
    assert question == "The last of it?"
    assert all(one.role != other.role for one, other in pairwise(earlier))
    for message in earlier:
        assert message.content == message.content.strip() != ""
        assert unicodedata.is_normalized("NFC", message.content)
        assert {c for c in message.content if unicodedata.category(c) == "Cc"} <= {"\n", "\t"}


@given(CHATS, CHATS)
def test_the_first_message_of_a_chat_does_not_change_as_it_grows(
    said: list[ChatMessage], more: list[ChatMessage]
) -> None:
    first = first_words(said)
    assert not first or first_words([*said, *more]) == first


@pytest.mark.parametrize(
    ("turns", "left"),
    [
        (0, []),
        (1, ["u: 2", "a: b"]),
        (2, ["a: Hi", "u: 1", "a: a", "u: 2", "a: b"]),
    ],
)
def test_a_history_has_a_maximum_number_of_turns(turns: int, left: list[str]) -> None:
    assert written(latest_turns(chat("a: Hi", "u: 1", "a: a", "u: 2", "a: b"), turns)) == left


def test_a_lone_surrogate_is_removed() -> None:
    assert cleaned("The\ud800 fee \U0001f600\udfff") == "The fee \U0001f600"
