"""The request of a turn, after validation and before anything is stored."""

import hashlib
import json
import uuid

from pydantic import ConfigDict, Field, StrictBool

from orc.conversations.models import ChatMessage, NewTurn, Retry, Turn, TurnChoices, TurnContext
from orc.graphs.plan_rules import searched_by_model
from orc.settings import CriticSetting, TurnSettings
from orc_core.errors import Conflict
from orc_core.models import Record
from orc_core.names import Owner

_TURN_NAMESPACE = uuid.UUID("0b1f2f53-1c5e-4f2d-9a55-2f0c1de7a9b4")


class FeatureFlags(Record):
    """What one turn does differently from the settings. None: as the settings say."""

    model_config = ConfigDict(extra="forbid")

    lazy: StrictBool | None = Field(
        default=None, description="retrieve summaries of pages first; default: lazy_retrieval in ORC_ADVANCED"
    )
    critic: StrictBool | CriticSetting | None = Field(
        default=None,
        description="whether what is wrong in an answer has it revised, and sentences in other words are read"
        " a second time: `on` or true, `off` or false; default: ORC_CRITIC",
    )
    memory: StrictBool | None = Field(
        default=None, description="false: the prompts have nothing of the memory of the conversation"
    )
    model_searches: StrictBool | None = Field(
        default=None, description="true: the model decides whether to search, before any search is made"
    )

    images: StrictBool | None = Field(
        default=None,
        description="whether a model that reads pictures is sent those of a few pages; default: page_images"
        " in ORC_ADVANCED",
    )

    def applied(self, settings: TurnSettings) -> TurnSettings:
        """The settings of this turn."""
        if self.model_searches:
            settings = searched_by_model(settings)
        critic: str | None = self.critic if isinstance(self.critic, str) else None
        if isinstance(self.critic, bool):
            critic = "on" if self.critic else "off"
        changed = {"lazy_retrieval": self.lazy, "critic": critic, "page_images": self.images}
        return settings.model_copy(update={name: v for name, v in changed.items() if v is not None})


class TurnRequest(Record):
    """The question of a caller. `stream` requests tokens as they are generated, `closest_passages`
    what a search finds if no model can be reached.

    `history` replaces the stored history, unless it is None. `recalls`: the prompts include the memory of
    the conversation. `replaces`: the turn of which this is a new version. The first of the `contexts` is the
    focus. `home` is the context that a new conversation is opened in.
    """

    question: str
    conversation_id: str | None = None
    recalls: bool = True
    history: list[ChatMessage] | None = None
    blob_names: list[str] = []
    contexts: list[TurnContext] = []
    home: str | None = None
    tools: dict[str, bool] = {}
    model: str | None = None
    flags: FeatureFlags = FeatureFlags()
    replaces: str | None = None
    idempotency_key: str | None = None
    stream: bool = False
    closest_passages: bool = False
    trace_id: str

    @classmethod
    def again(cls, turn: Turn, *, stream: bool, trace_id: str) -> "TurnRequest":
        """The request of a stored turn.

        Raises Conflict (`choices_unknown`) if it chose something that the earlier version did not store, such
        as tools that are off: they would all be on.
        """
        choices = turn.choices or TurnChoices()
        request = cls(
            question=turn.question,
            conversation_id=turn.conversation_id,
            recalls=turn.recalls,
            history=turn.sent_history,
            blob_names=turn.blob_names,
            contexts=turn.contexts,
            tools=choices.tools,
            model=choices.model,
            flags=FeatureFlags.model_validate(choices.feature_flags),
            closest_passages=choices.closest_passages,
            stream=stream,
            trace_id=trace_id,
        )
        # The first request of a conversation may not have named it.
        sent = request.model_copy(update={"replaces": turn.replaces})
        unnamed = sent.model_copy(update={"conversation_id": None})
        was_sent = turn.request_hash in (sent.content_hash, unnamed.content_hash)
        if turn.choices is None and not was_sent:
            raise Conflict(
                "What this question chose was not stored. Ask it again as a new version.",
                code="choices_unknown",
            )
        return request

    def opening(self, key: str, blob_names: list[str], retry: Retry | None = None) -> NewTurn:
        """The turn that this request begins, or begins again."""
        flags = self.flags.model_dump(mode="json", exclude_none=True)
        choices = TurnChoices(
            tools=self.tools, model=self.model, feature_flags=flags, closest_passages=self.closest_passages
        )
        return NewTurn(
            key=key,
            request_hash=self.content_hash,
            question=self.question,
            blob_names=blob_names,
            contexts=self.contexts,
            home=self.home,
            choices=choices,
            recalls=self.recalls,
            sent_history=self.history,
            replaces=self.replaces,
            retry=retry,
        )

    @property
    def content_hash(self) -> str:
        """Distinguishes a retry from another request with the same key, regardless of how it is rendered."""
        content = self.model_dump(
            exclude={"idempotency_key", "stream", "closest_passages", "trace_id", "recalls"}
        )
        if self.history is None:
            # The hash of a request without history is the same as in versions that knew none.
            del content["history"]
        if self.flags == FeatureFlags():
            # The same for feature flags.
            del content["flags"]
        elif self.flags.images is None:
            del content["flags"]["images"]
        if self.replaces is None:
            del content["replaces"]
        if self.home is None:
            del content["home"]
        # The same for contexts: only what is switched off is marked.
        off = {True: {}, False: {"active": False}}
        content["contexts"] = [{"type": c.type, "id": c.id, **off[c.active]} for c in self.contexts]
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
