"""A session always finds the same conversation of its caller and never one of another user."""

import uuid

from hypothesis import given
from hypothesis import strategies as st

from orc.identity import Principal, SessionIds
from orc_core.infra.keys import Keys

SESSIONS = SessionIds(Keys("k" * 48).derived("sessions"))
ELSEWHERE = SessionIds(Keys("l" * 48).derived("sessions"))
# Few letters, so that different parts often have the same concatenation.
WORDS = st.text(st.sampled_from('ab",\\ é'), min_size=1, max_size=4)
CALLERS = st.builds(Principal, WORDS, WORDS)
KNOWN = st.tuples(CALLERS, WORDS, WORDS)
ANN = Principal("acme", "ann")


def conversations(known: tuple[Principal, str, str], sessions: SessionIds = SESSIONS) -> list[str]:
    """The conversations for these values: by words and client, and by a name."""
    caller, words, client = known
    return [sessions.begun_with(caller, words, client), sessions.named(caller, words)]


@given(KNOWN, KNOWN)
def test_the_same_caller_and_session_have_the_same_conversation_and_others_do_not(
    one: tuple[Principal, str, str], other: tuple[Principal, str, str]
) -> None:
    begun, named = conversations(one)
    assert conversations(one) == [begun, named]
    assert begun != named
    for conversation in (begun, named):
        assert str(uuid.UUID(conversation)) == conversation
    if one != other:
        assert begun not in conversations(other)
    if one[:2] != other[:2]:
        assert named not in conversations(other)


@given(KNOWN)
def test_a_conversation_id_cannot_be_computed_without_the_key(
    known: tuple[Principal, str, str],
) -> None:
    assert not {*conversations(known)} & {*conversations(known, ELSEWHERE)}


def test_a_conversation_can_be_named_by_its_id() -> None:
    conversation = str(uuid.uuid4())
    assert SESSIONS.named(ANN, conversation) == conversation
    assert SESSIONS.named(ANN, conversation.upper()) == conversation
    for name in (conversation.replace("-", ""), f"{{{conversation}}}", f"{conversation}\n"):
        assert SESSIONS.named(ANN, name) != conversation
