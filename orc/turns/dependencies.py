"""The services that turns use."""

from dataclasses import dataclass, field

from orc.contexts.turn_scope import TurnScopes
from orc.contexts.withholding import RevokedAnswers
from orc.conversations.turn_log import TurnLog
from orc.graphs.graph import TurnGraph
from orc.graphs.models import Prompts
from orc.judges.ports import SupportJudge
from orc.limits.models import RateLimit
from orc.memory.models import ConversationMemory
from orc.settings import TurnSettings
from orc.tools.ports import ToolGateway
from orc.traces.models import NoTraces, TraceSink
from orc.turns.stopping import POLL_SECONDS
from orc.turns.suggestions import Suggestions
from orc_core.documents.pictures import PagePictures
from orc_core.documents.scope import ScopeTokens
from orc_core.documents.service import DocumentService
from orc_core.llm.factory import ChatModels
from orc_core.llm.model_catalog import ModelCatalogue
from orc_core.llm.tokens import TokenCounter

COMMIT_SECONDS = 10.0
"""The time limit for storing an answer."""


@dataclass(frozen=True)
class TurnDependencies:
    """The services that turns use; the same for every turn of a process.

    `judge` is one whose verdicts count.
    """

    log: TurnLog
    library: DocumentService
    memory: ConversationMemory
    tools: ToolGateway
    scope_tokens: ScopeTokens
    graph: TurnGraph
    models: ChatModels
    catalogue: ModelCatalogue
    counter: TokenCounter
    prompts: Prompts
    settings: TurnSettings
    contexts: TurnScopes | None = None
    messages: RateLimit = field(default_factory=RateLimit)
    traces: TraceSink = field(default_factory=NoTraces)
    suggestions: Suggestions | None = None
    pictures: PagePictures | None = None
    judge: SupportJudge | None = None
    revoked: RevokedAnswers = field(default_factory=RevokedAnswers)
    commit_seconds: float = COMMIT_SECONDS
    stop_poll_seconds: float = POLL_SECONDS
