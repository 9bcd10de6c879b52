"""How the offline model judges an answer: it can only look for its sentences in the sources."""

import re
from collections.abc import Sequence
from typing import Any
from xml.sax.saxutils import unescape

from core.grounding.claims import Claims
from core.grounding.quotes import Located
from core.grounding.sources import FencedSource

_ANSWER = re.compile(r"<answer>\n(.*?)\n</answer>", re.S)
_CITATION = re.compile(r'\[(?:Page \d+ of Document|Web page) "[^"\]]*"[^\]]*\]')


def fill_judgement(asked: str, sources: Sequence[FencedSource]) -> dict[str, Any]:
    """The form `Judgement`. It never asks for a revision: the offline writer would quote the same again."""
    shown = _ANSWER.search(asked)
    claims = Claims()
    for part in _CITATION.split(unescape(shown[1]) if shown else ""):
        claims.add(part)
    pages = [Located(source.text) for source in sources]
    stated = [claim for claim in claims.all if claim.states]
    missing = [claim for claim in stated if not any(page.find_all(claim.text) for page in pages)]
    return {
        "grounded": bool(claims.all) and not missing,
        "coverage": 1 - len(missing) / len(stated) if stated else 1.0,
        "issues": [f"No source has this word for word: {claim.short}" for claim in missing],
        "action": "accept",
        "query": "",
    }
