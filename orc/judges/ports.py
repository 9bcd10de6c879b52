"""The port of the second reading: whether the evidence of a sentence of an answer supports it."""

from collections.abc import Sequence
from typing import Literal, Protocol

from orc_core.llm.chat_model import CallBudget
from orc_core.models import Record

JudgedAction = Literal["accept", "revise", "retrieve"]
LONGEST_REASON = 200


class Pair(Record):
    """The sentences before a marker of an answer, and what it cites, with the text around that."""

    sentence: str
    evidence: str


class Verdict(Record):
    """What a judge says of a pair. `unknown` is also what it has not said.

    `quote` are words of the evidence that settle it; `reason` is one line.
    """

    verdict: Literal["supported", "unsupported", "unknown"] = "unknown"
    quote: str = ""
    reason: str = ""


UNKNOWN = Verdict()


class Judgement(Record):
    """The verdicts in the order of the pairs, and what a judge says of the answer as a whole.

    `action`: what is to happen to the answer; `query` is what to look for if that is `retrieve`.
    """

    verdicts: list[Verdict]
    action: JudgedAction = "accept"
    query: str = ""


class SupportJudge(Protocol):
    """Reads answers a second time. How often it is right is kept under its `name` and `version`."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str:
        """Of what decides its verdicts besides the name, such as a prompt: another one is to be measured."""
        ...

    async def judge(self, question: str, pairs: Sequence[Pair], *, budget: CallBudget) -> Judgement:
        """Read all pairs of an answer in one go. Raises OrcError if there are no verdicts."""
        ...


def confirmed(pair: Pair, said: Verdict) -> Verdict:
    """The verdict as far as code confirms it: `supported` needs a quote that the evidence has.

    White space may differ.
    """
    quote, evidence = _folded(said.quote), _folded(pair.evidence)
    if said.verdict == "supported" and not (any(map(str.isalnum, quote)) and quote in evidence):
        return UNKNOWN
    return said.model_copy(update={"reason": _folded(said.reason)[:LONGEST_REASON]})


def _folded(text: str) -> str:
    return " ".join(text.split())
