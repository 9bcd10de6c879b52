"""How the structured outputs of a turn are filled without a model. Only the bootstrap imports this module."""

from orc.graphs.plan_rules import CONVERSATIONAL, FACTUAL
from orc.graphs.query_planner import PlanMessage, TurnPlan
from orc_core.llm.tokens import TokenCounter
from orc_core.offline.model import Conversation, OfflineModel, recall, says_nothing_to_find
from orc_core.text.wording import names_documents


def build_offline_model(counter: TokenCounter) -> OfflineModel:
    """The model that answers if no provider is configured."""
    return OfflineModel(counter=counter, fill={TurnPlan: plan_offline})


def plan_offline(conversation: Conversation) -> TurnPlan:
    """A plan that searches documents, or the web, unless it is talk or the user has said it before."""
    request = conversation.request
    if not isinstance(request, PlanMessage):
        raise TypeError("A TurnPlan is filled from a PlanMessage.")
    step = "retrieve" if request.documents else "web_search" if request.web else None
    asked = conversation.question
    is_known = not names_documents(asked) and recall(asked, conversation.earlier) is not None
    if step is None or is_known or says_nothing_to_find(asked):
        return TurnPlan(intent=CONVERSATIONAL, question=conversation.question, steps=["answer"], confidence=1)
    return TurnPlan(intent=FACTUAL, question=conversation.query, steps=[step, "answer"], confidence=1)
