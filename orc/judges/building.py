"""Builds the judge that the settings name, and the one that is a model."""

import logging
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack
from hashlib import sha256
from html import unescape
from itertools import groupby
from pathlib import Path
from typing import Literal
from xml.sax.saxutils import escape

from langchain_core.messages import HumanMessage, SystemMessage
from pydantic import BaseModel, Field

from orc.judges.measuring import read_measured, why_not
from orc.judges.ports import UNKNOWN, JudgedAction, Judgement, Pair, SupportJudge, Verdict
from orc.settings import Settings
from orc_core.errors import InvalidInput
from orc_core.grounding.sources import without_markers
from orc_core.infra.azure import Credentials, require_sdk
from orc_core.llm.chat_model import CallBudget, ChatModel
from orc_core.llm.factory import build_chat_model
from orc_core.llm.model_catalog import ModelCatalogue
from orc_core.llm.provider import open_provider
from orc_core.llm.tokens import TokenCounter

log = logging.getLogger(__name__)

_PROMPT = Path(__file__).parent.parent / "prompts" / "critic.md"
MAX_QUERY_CHARACTERS = 500


def build_judge(
    settings: Settings, model: ChatModel | None, credentials: Credentials, stack: AsyncExitStack
) -> SupportJudge | None:
    """The judge of the settings, measured or not; None if there is none. `model` is None without a provider.

    Raises InvalidInput for a service without an address. Connects to nothing; `stack` closes it.
    """
    if settings.judge == "model" and model is not None:
        return ModelJudge(model, _PROMPT.read_text())
    if settings.judge != "azure":
        return None
    if not settings.azure_content_safety_endpoint:
        raise InvalidInput("ORC_JUDGE=azure needs AZURE_CONTENT_SAFETY_ENDPOINT.")
    if (key := settings.azure_content_safety_key) is None:
        require_sdk()
    # Not at the top: few installations need it.
    import httpx2

    from orc.judges.azure import SECONDS, GroundednessDetection

    http = httpx2.AsyncClient(timeout=SECONDS)
    stack.push_async_callback(http.aclose)
    identity = key.get_secret_value() if key else credentials
    return GroundednessDetection(http, settings.azure_content_safety_endpoint, identity)


def open_judge(settings: Settings, stack: AsyncExitStack, *, model: str | None = None) -> SupportJudge:
    """The judge of the settings by itself, to measure it; `model` replaces the critic model.

    Raises InvalidInput if there is none. `stack` closes it.
    """
    credentials, critic = Credentials(), None
    stack.push_async_callback(credentials.close)
    if (provider := open_provider(settings, credentials)) is not None:
        stack.push_async_callback(provider.aclose)
        critic = build_chat_model(settings, "critic", TokenCounter(), provider, name=model)
    if (judge := build_judge(settings, critic, credentials, stack)) is None:
        raise InvalidInput("There is no judge: configure a model, or Azure AI Content Safety.")
    return judge


def trusted(judge: SupportJudge | None, settings: Settings, catalogue: ModelCatalogue) -> SupportJudge | None:
    """The judge if its verdicts count, else None: it is not asked for what would not be shown."""
    if judge is None:
        return None
    if why := why_not(judge, read_measured(settings.data_dir), catalogue):
        log.info("%s reads no answers a second time: %s", judge.name, why)
        return None
    return judge


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
