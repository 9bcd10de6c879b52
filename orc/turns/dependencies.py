"""The services that turns use."""

from dataclasses import dataclass, field

from orc.contexts.turn_scope import TurnScopes
from orc.contexts.withholding import RevokedAnswers
from orc.conversations.turn_log import TurnLog
from orc.graphs.models import Resources
from orc.limits.models import RateLimit
from orc.settings import TurnSettings
from orc.traces.models import NoTraces, TraceSink
from orc.turns.stopping import POLL_SECONDS
from orc.turns.suggestions import Suggestions
from orc_core.documents.scope import ScopeTokens

COMMIT_SECONDS = 10.0
"""The time limit for storing an answer."""


@dataclass(frozen=True, kw_only=True)
class TurnDependencies(Resources):
    """The services that turns use; the same for every turn of a process."""

    log: TurnLog
    scope_tokens: ScopeTokens
    settings: TurnSettings
    contexts: TurnScopes | None = None
    messages: RateLimit = field(default_factory=RateLimit)
    traces: TraceSink = field(default_factory=NoTraces)
    suggestions: Suggestions | None = None
    revoked: RevokedAnswers = field(default_factory=RevokedAnswers)
    commit_seconds: float = COMMIT_SECONDS
    stop_poll_seconds: float = POLL_SECONDS
