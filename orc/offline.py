"""How the structured outputs of a turn are filled without a model. Only the bootstrap imports this module."""

import re

from core.grounding.claims import Claims
from core.grounding.quotes import QuoteFinder
from core.llm.tokens import TokenCounter
from core.offline.chat import needs_history, needs_search, rewrite_question
from core.offline.model import Conversation, OfflineModel
from core.text.question_type import (
    asks_about_whole,
    asks_for_listing,
    concerns_no_document,
    mentions_documents,
)
from orc.graphs.critic_model import CriticVerdict, CritiqueMessage
from orc.graphs.query_planner import PlanMessage, TurnPlan

SURE, LIKELY, UNSURE = 0.9, 0.6, 0.4
"""Confidence of a plan: the wording decides, a guess, or the question cannot be understood."""

_WEB = re.compile(r"\b(?:web|internet|online|google|im netz|en ligne|en línea)\b", re.I)
_CITATION = re.compile(r'\[(?:Page \d+ of Document|Web page) "[^"\]]*"[^\]]*\]')


def build_offline_model(counter: TokenCounter) -> OfflineModel:
    """The model that answers if no provider is configured."""
    return OfflineModel(counter=counter, fill={TurnPlan: plan_offline, CriticVerdict: criticize_offline})


def plan_offline(conversation: Conversation) -> TurnPlan:
    """A plan from the wording of the question and from the sources that there are."""
    request = conversation.request
    if not isinstance(request, PlanMessage):
        raise TypeError("A TurnPlan is filled from a PlanMessage.")
    asked = conversation.question
    question, confidence = rewrite_question(asked, conversation.earlier), SURE
    if asks_for_listing(asked) or asks_about_whole(asked):
        intent = "research"
    elif concerns_no_document(asked) and request.web:
        steps = ["web_search", "answer"]
        return TurnPlan(intent="factual_lookup", question=question, steps=steps, confidence=LIKELY)
    elif needs_search(asked, conversation.earlier):
        intent = "factual_lookup"
        confidence = UNSURE if question == asked and needs_history(asked) else LIKELY
    else:
        intent = "conversational"
    step = None if intent == "conversational" else _step(question, request)
    steps = [step, "answer"] if step else ["answer"]
    return TurnPlan(intent=intent, question=question, steps=steps, confidence=confidence)


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


def _step(question: str, available: PlanMessage) -> str | None:
    if available.web and (not available.documents or _WEB.search(question)):
        return "both" if available.documents and mentions_documents(question) else "web_search"
    return "retrieve" if available.documents else None
