"""A withdrawn answer as the next attempt is shown it: quoted material, which cannot cite."""

from xml.sax.saxutils import escape

from core.contract import Revision
from core.grounding.sources import without_markers

WITHDRAWN = "<withdrawn_answer>"


def withdrawn(revision: Revision) -> str:
    """The earlier answer, and what was wrong with it, fenced."""
    answer = escape(without_markers(revision.answer))
    issues = "\n".join(f"- {escape(without_markers(' '.join(issue.split())))}" for issue in revision.issues)
    return f"{WITHDRAWN}\n{answer}\n</withdrawn_answer>\n<what_was_wrong>\n{issues}\n</what_was_wrong>"
