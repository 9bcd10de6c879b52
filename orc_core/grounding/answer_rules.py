"""The rules of prompts for answers: how models cite, so that the checks can read it."""

from pathlib import Path


def read_answer_rules() -> dict[str, str]:
    """The `rules` of a prompt, and the `examples` that end it, which ship with the code."""
    text = Path(__file__).with_suffix(".md").read_text("utf-8").strip()
    return dict(zip(("rules", "examples"), text.split("\n\n", 1), strict=True))
