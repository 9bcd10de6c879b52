"""Fixed sentences of answers, which models are told to use word for word, and what is said of cut ones."""

from core.contract import Grounding

NOT_FOUND_ANSWER = "I could not find this in the attached documents."
"""The whole answer where the sources do not hold it: prompts demand it and the checks look for it."""


def cut_at(grounding: Grounding, tokens: int) -> Grounding:
    """The verdict on an answer that reached its limit: its end is missing, so it cannot count as grounded."""
    issue = f"The answer was cut at its limit of {tokens} tokens."
    return grounding.model_copy(update={"grounded": False, "issues": [*grounding.issues, issue]})
