"""How the structured outputs of a turn are filled without a model. Only the bootstrap imports this module."""

import re

from core.grounding.claims import Claims
from core.grounding.quotes import QuoteFinder
from core.llm.tokens import TokenCounter
from core.offline.model import Conversation, OfflineModel, says_nothing_to_find
from core.offline.remembered import recall
from core.text.wording import names_documents
from orc.graphs.critic_model import CriticVerdict, CritiqueMessage
from orc.graphs.plan_rules import CONVERSATIONAL, FACTUAL
from orc.graphs.query_planner import PlanMessage, TurnPlan

_CITATION = re.compile(r'\[(?:Page \d+ of Document|Web page) "[^"\]]*"[^\]]*\]')


def build_offline_model(counter: TokenCounter) -> OfflineModel:
    """The model that answers if no provider is configured."""
    return OfflineModel(counter=counter, fill={TurnPlan: plan_offline, CriticVerdict: criticize_offline})


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


def criticize_offline(conversation: Conversation) -> CriticVerdict:
    """A verdict that looks for each sentence of the answer in the sources, word for word.

    It never asks for a revision: the offline writer would quote the same sentences again.
    """
    request = conversation.request
    if not isinstance(request, CritiqueMessage):
        raise TypeError("A CriticVerdict is filled from a CritiqueMessage.")
    claims = Claims()
    for part in _CITATION.split(request.answer):
        claims.add(part)
    pages = [QuoteFinder(source.text) for source in conversation.sources]
    stated = [claim for claim in claims.all if claim.needs_source]
    missing = [claim for claim in stated if not any(page.find(claim.text) for page in pages)]
    return CriticVerdict(
        grounded=bool(claims.all) and not missing,
        coverage=1 - len(missing) / len(stated) if stated else 1.0,
        issues=[f"No source has this word for word: {claim.short}" for claim in missing],
        action="accept",
    )
