"""The rules of prompts for answers: how models cite, so that the checks can read it."""

from pathlib import Path
from typing import NamedTuple


class AnswerRules(NamedTuple):
    """The rules of a prompt, and the examples that end it."""

    rules: str
    examples: str


def read_answer_rules() -> AnswerRules:
    """The rules and examples that ship with the code."""
    text = Path(__file__).with_suffix(".md").read_text("utf-8").strip()
    return AnswerRules(*text.split("\n\n", 1))
