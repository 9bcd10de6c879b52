"""Which requests are the same under an idempotency key."""

import hashlib
import json

import pytest

from devkit.remembered_turns import answered
from orc.api.turn_schemas import TurnView
from orc.conversations.models import ChatMessage, Turn, TurnChoices, TurnContext
from orc.turns.requests import TurnRequest
from orc_core.errors import Conflict

ASKED = TurnRequest(question="When?", conversation_id="c", tools={"web_search": False}, trace_id="t")
BEFORE_CHATS: dict[str, object] = {
    "question": "When?",
    "conversation_id": "c",
    "blob_names": [],
    "contexts": [],
    "tools": {"web_search": False},
    "model": None,
}


def test_a_retry_finds_an_answer_stored_by_an_earlier_version() -> None:
    stored = hashlib.sha256(json.dumps(BEFORE_CHATS, sort_keys=True).encode()).hexdigest()
    assert ASKED.content_hash == stored


def test_a_different_history_is_a_different_request_and_a_different_rendering_is_not() -> None:
    said = [ChatMessage(role="user", content="Hello.")]
    hashes = [ASKED.model_copy(update={"history": history}).content_hash for history in (None, [], said)]
    assert len(set(hashes)) == 3
    assert ASKED.model_copy(update={"stream": True, "trace_id": "u"}).content_hash == ASKED.content_hash


def stored_by_an_earlier_version(asked: TurnRequest) -> Turn:
    """The turn of a request, without what it chose."""
    fields = {"question": asked.question, "conversation_id": "c", "request_hash": asked.content_hash}
    return answered(1, "When?").model_copy(
        update={**fields, "contexts": asked.contexts, "replaces": asked.replaces}
    )


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"conversation_id": None},
        {"replaces": "t"},
        {"contexts": [TurnContext(type="folder", id="f"), TurnContext(type="folder", id="g", active=False)]},
    ],
)
def test_a_turn_of_an_earlier_version_that_chose_nothing_is_asked_again(changed: dict[str, object]) -> None:
    asked = ASKED.model_copy(update={"tools": {}, **changed})
    again = TurnRequest.again(stored_by_an_earlier_version(asked), stream=False, trace_id="t")
    assert (again.tools, again.model, again.contexts) == ({}, None, asked.contexts)


@pytest.mark.parametrize("chosen", [{"tools": {"web_search": False}}, {"model": "m"}])
def test_a_retry_never_switches_tools_on_that_the_question_may_have_switched_off(
    chosen: dict[str, object],
) -> None:
    turn = stored_by_an_earlier_version(ASKED.model_copy(update={"tools": {}, **chosen}))
    with pytest.raises(Conflict) as refused:
        TurnRequest.again(turn, stream=False, trace_id="t")
    assert refused.value.code == "choices_unknown"
    assert TurnView.shown(turn, full=True).choices == TurnChoices()
    known = turn.model_copy(update={"choices": TurnChoices(tools={"web_search": False})})
    assert TurnRequest.again(known, stream=False, trace_id="t").tools == {"web_search": False}


def test_a_retry_asks_for_the_closest_passages_if_the_question_did() -> None:
    for wanted in (True, False):
        new = ASKED.model_copy(update={"closest_passages": wanted}).opening("t", [])
        assert new.request_hash == ASKED.content_hash
        turn = answered(1, "When?").model_copy(update={"choices": new.choices})
        assert TurnRequest.again(turn, stream=True, trace_id="t").closest_passages is wanted
