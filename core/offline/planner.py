"""How the offline model plans a turn: by the wording of the question and by what can be looked into."""

import re
from collections.abc import Sequence
from typing import Any

from core.offline.chat import leans_on_history, rewrite_question
from core.offline.tools import needs_looking_up
from core.text.question_type import asks_for_listing, asks_for_overview, speaks_of_documents

SURE, LIKELY, UNSURE = 0.9, 0.6, 0.4
"""How confident it is: told by the wording, guessed, or not knowing what is meant."""

_REACH = re.compile(r"^Can be looked into: (.*)$", re.M)
_WEB = re.compile(r"\b(?:web|internet|online|google|im netz|en ligne|en línea)\b", re.I)


def fill_plan(question: str, earlier: Sequence[str], instructions: str) -> dict[str, Any]:
    """The form `TurnPlan`. `instructions` say in a line of its own what can be looked into."""
    stated = _REACH.search(instructions)
    reach = stated[1] if stated else ""
    intent = _intent(question, earlier)
    standing = rewrite_question(question, earlier)
    step = None if intent == "conversational" else _step(standing, "documents" in reach, "web" in reach)
    return {
        "intent": intent,
        "question": standing,
        "steps": [step, "answer"] if step else ["answer"],
        "confidence": _confidence(question, standing, intent),
    }


def _intent(question: str, earlier: Sequence[str]) -> str:
    if asks_for_listing(question) or asks_for_overview(question):
        return "research"
    return "factual_lookup" if needs_looking_up(question, earlier) else "conversational"


def _step(question: str, documents: bool, web: bool) -> str | None:
    if web and (not documents or _WEB.search(question)):
        return "both" if documents and speaks_of_documents(question) else "web_search"
    return "retrieve" if documents else None


def _confidence(question: str, standing: str, intent: str) -> float:
    if intent != "factual_lookup":
        return SURE
    return UNSURE if standing == question and leans_on_history(question) else LIKELY
