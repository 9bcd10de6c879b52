"""Which requests are the same under an idempotency key."""

import hashlib
import json

from orc.conversations.models import ChatMessage
from orc.turns.requests import TurnRequest

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
