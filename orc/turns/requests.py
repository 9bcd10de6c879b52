"""A turn as it was asked for, after validation and before anything is stored."""

import hashlib
import json
import uuid

from core.models import Record
from core.names import Owner
from orc.conversations.models import ChatMessage

_TURN_NAMESPACE = uuid.UUID("0b1f2f53-1c5e-4f2d-9a55-2f0c1de7a9b4")


class TurnRequest(Record):
    """What the caller wants answered. `stream` asks for tokens as they are made.

    `history`, unless it is None, stands in for what is stored of the conversation. `creates`: a
    conversation that is not there yet is made. `recalls`: what is remembered of it is told too.
    """

    question: str
    conversation_id: str | None = None
    creates: bool = False
    recalls: bool = True
    history: list[ChatMessage] | None = None
    blob_names: list[str] = []
    contexts: list[dict[str, str]] = []
    tools: dict[str, bool] = {}
    model: str | None = None
    idempotency_key: str | None = None
    stream: bool = False
    trace_id: str

    @property
    def content_hash(self) -> str:
        """Tells a retry from another request under the same key; how it is rendered does not count."""
        content = self.model_dump(exclude={"idempotency_key", "stream", "trace_id", "creates", "recalls"})
        if self.history is None:
            # As before there were histories: a retry may come after an update.
            del content["history"]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    def conversation_for(self, organization_id: str, user_id: str) -> str:
        """The conversation asked for, or a new one; under a key always the same, so that a retry finds it."""
        if self.conversation_id is not None:
            return self.conversation_id
        if self.idempotency_key is None:
            return str(uuid.uuid4())
        return str(uuid.uuid5(_TURN_NAMESPACE, json.dumps([organization_id, user_id, self.idempotency_key])))

    def turn_id(self, owner: Owner) -> str:
        """Derived from the caller's key, else random."""
        if self.idempotency_key is None:
            return str(uuid.uuid4())
        return str(uuid.uuid5(_TURN_NAMESPACE, owner.prefix + self.idempotency_key))
