"""The rules of prompts for answers: how models cite, so that the checks can read it."""

from pathlib import Path
from typing import NamedTuple

LAST_LINE = "Answer, each sentence with its source:"
"""Behind a question with sources: small models forget rules that they have read long before they answer."""


class AnswerRules(NamedTuple):
    """The rules of a prompt, and the examples that end it."""

    rules: str
    examples: str


def asked_of_sources(question: str) -> str:
    """The end of a prompt with sources."""
    return f"Question: {question}\n{LAST_LINE}"


def read_answer_rules() -> AnswerRules:
    """The rules and examples that ship with the code."""
    text = Path(__file__).with_suffix(".md").read_text("utf-8").strip()
    return AnswerRules(*text.split("\n\n", 1))
