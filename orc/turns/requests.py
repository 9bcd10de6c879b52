"""The request of a turn, after validation and before anything is stored."""

import hashlib
import json
import uuid

from core.models import Record
from core.names import Owner
from orc.conversations.models import ChatMessage

_TURN_NAMESPACE = uuid.UUID("0b1f2f53-1c5e-4f2d-9a55-2f0c1de7a9b4")


class TurnRequest(Record):
    """The question of a caller. `stream` requests tokens as they are generated.

    `history` replaces the stored history, unless it is None. `creates`: a missing conversation is created.
    `recalls`: the prompts include the memory of the conversation.
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
        """Distinguishes a retry from another request with the same key, regardless of how it is rendered."""
        content = self.model_dump(exclude={"idempotency_key", "stream", "trace_id", "creates", "recalls"})
        if self.history is None:
            # The hash of a request without history is the same as in versions that knew none.
            del content["history"]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    def conversation_for(self, organization_id: str, user_id: str) -> str:
        """The requested conversation, or a new one. A key always gives the same one, for retries."""
        key = self.idempotency_key
        return self.conversation_id or _id_of(key and json.dumps([organization_id, user_id, key]))

    def turn_id(self, owner: Owner) -> str:
        """Derived from the idempotency key; random without one."""
        return _id_of(self.idempotency_key and owner.prefix + self.idempotency_key)


def _id_of(name: str | None) -> str:
    return str(uuid.uuid4() if name is None else uuid.uuid5(_TURN_NAMESPACE, name))
