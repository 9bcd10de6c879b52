"""A language model as judge: its prompt and its structured output. It is the critic of the turn."""

from collections import Counter
from collections.abc import Sequence
from hashlib import sha256
from html import unescape
from itertools import groupby
from typing import Literal
from xml.sax.saxutils import escape

from langchain_core.messages import HumanMessage, SystemMessage
from pydantic import BaseModel, Field

from orc.judges.ports import UNKNOWN, JudgedAction, Judgement, Pair, Verdict
from orc_core.grounding.sources import without_markers
from orc_core.llm.chat_model import CallBudget, ChatModel

MAX_QUERY_CHARACTERS = 500


class SentenceVerdict(BaseModel):
    """The verdict on one sentence."""

    sentence: int = Field(description="number of the sentence")
    quote: str = Field(description="words of its evidence that settle it, copied; empty if there are none")
    reason: str = Field(description="why, in one short line")
    verdict: Literal["supported", "unsupported", "unknown"]


class CriticVerdict(BaseModel):
    """A critic's verdicts on the sentences of an answer."""

    sentences: list[SentenceVerdict] = Field(description="one for each sentence")
    action: JudgedAction = Field(description="what happens to the answer")
    query: str = Field(default="", description="what to look for, if the action is retrieve")


class ModelJudge:
    """Asks a model for all verdicts in one call; `version` is that of its prompt and its form."""

    def __init__(self, model: ChatModel, prompt: str) -> None:
        self._model = model
        self._prompt = prompt
        self.name = model.name
        asked = f"{prompt}{CriticVerdict.model_json_schema()}"
        self.version = sha256(asked.encode()).hexdigest()[:12]

    async def judge(self, question: str, pairs: Sequence[Pair], *, budget: CallBudget) -> Judgement:
        """See SupportJudge. What the model repeats, leaves out or invents a number for is unknown."""
        messages = [SystemMessage(self._prompt), HumanMessage(_shown(question, pairs))]
        said = await self._model.structured(messages, CriticVerdict, budget=budget)
        times = Counter(each.sentence for each in said.sentences)
        by_number = {each.sentence: each for each in said.sentences if times[each.sentence] == 1}
        return Judgement(
            verdicts=[_verdict(by_number.get(number)) for number in range(1, len(pairs) + 1)],
            action=said.action,
            query=said.query.strip()[:MAX_QUERY_CHARACTERS],
        )


def _verdict(said: SentenceVerdict | None) -> Verdict:
    if said is None:
        return UNKNOWN
    # The model was shown escaped text, and may copy it.
    return Verdict(verdict=said.verdict, quote=unescape(said.quote), reason=said.reason)


def _shown(question: str, pairs: Sequence[Pair]) -> str:
    """Evidence with the sentences about it; no text in them can open or close a tag."""
    parts = [f"<question>{_inert(question)}</question>"] if question else []
    for evidence, about in groupby(enumerate(pairs, 1), key=lambda each: each[1].evidence):
        parts.append(f"<evidence>\n{_inert(evidence)}\n</evidence>")
        parts += [f'<sentence id="{number}">{_inert(pair.sentence)}</sentence>' for number, pair in about]
    return "\n".join(parts)


def _inert(text: str) -> str:
    return escape(without_markers(text))
