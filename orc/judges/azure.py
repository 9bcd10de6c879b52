"""Groundedness detection of Azure AI Content Safety as judge, over its REST API."""

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any

import httpx2
from pydantic import BaseModel, Field, ValidationError

from orc.judges.ports import UNKNOWN, Judgement, Pair, Verdict
from orc_core.errors import DependencyDown, OrcError
from orc_core.infra.azure import RETRYABLE_STATUS, Credentials, DependencyMisconfigured
from orc_core.infra.resilience import CircuitBreaker
from orc_core.llm.chat_model import CallBudget

NAME = "azure-content-safety"
API_VERSION = "2024-09-15-preview"
DEPENDENCY = "judge"
SERVICE = "Azure AI Content Safety"
AT_ONCE = 5
SECONDS = 10.0
LONGEST_TEXT, LONGEST_SOURCE = 7500, 55_000
"""Characters that the service takes of a sentence, and of evidence."""
_TOKEN_SCOPE = "https://cognitiveservices.azure.com/.default"


class Ungrounded(BaseModel):
    """A part of the text that the source does not have."""

    text: str = ""


class Detected(BaseModel):
    """The service's reply."""

    ungrounded: bool = Field(alias="ungroundedDetected", strict=True)
    details: list[Ungrounded] = Field(default=[], alias="ungroundedDetails")


class GroundednessDetection:
    """Sends each sentence with its evidence. `identity` is a key, or the credentials of this process.

    The service gives no quotes: what it finds supported is supported by the evidence as a whole.
    """

    name, version = NAME, API_VERSION

    def __init__(self, http: httpx2.AsyncClient, endpoint: str, identity: str | Credentials) -> None:
        self._http = http
        self._url = f"{endpoint.rstrip('/')}/contentsafety/text:detectGroundedness"
        self._identity = identity
        self._breaker = CircuitBreaker(DEPENDENCY, _translate)
        self._free = asyncio.Semaphore(AT_ONCE)

    async def judge(
        self,
        question: str,  # noqa: ARG002
        pairs: Sequence[Pair],
        *,
        budget: CallBudget,  # noqa: ARG002
    ) -> Judgement:
        """See SupportJudge. It is no model call of the turn."""
        verdicts = await asyncio.gather(*(self._verdict(pair) for pair in pairs))
        refuted = any(each.verdict == "unsupported" for each in verdicts)
        return Judgement(
            verdicts=verdicts,
            action="revise" if refuted else "accept",
        )

    async def _verdict(self, pair: Pair) -> Verdict:
        if len(pair.sentence) > LONGEST_TEXT or len(pair.evidence) > LONGEST_SOURCE:
            return UNKNOWN
        asked: dict[str, Any] = {
            "domain": "Generic",
            "task": "Summarization",
            "text": pair.sentence,
            "groundingSources": [pair.evidence],
            "reasoning": False,
        }
        async with self._free:
            # No retries: the user waits for nothing that only marks an answer.
            reply = await self._breaker.call_once(partial(self._post, asked))
        try:
            found = Detected.model_validate_json(reply)
        except ValidationError as exc:
            raise _down(f"{SERVICE} gave an answer that cannot be read.") from exc
        if not found.ungrounded:
            return Verdict(verdict="supported", quote=pair.evidence)
        parts = "; ".join(each.text for each in found.details if each.text)
        return Verdict(verdict="unsupported", reason=f"not in the source: {parts}" if parts else "")

    async def _post(self, asked: dict[str, Any]) -> bytes:
        reply = await self._http.post(
            self._url, params={"api-version": API_VERSION}, json=asked, headers=await self._headers()
        )
        if reply.status_code != httpx2.codes.OK:
            raise _refusal(reply.status_code)
        return reply.content

    async def _headers(self) -> dict[str, str]:
        if isinstance(self._identity, str):
            return {"Ocp-Apim-Subscription-Key": self._identity}
        token = await self._identity.default.get_token(_TOKEN_SCOPE)
        return {"Authorization": f"Bearer {token.token}"}


def _refusal(status: int) -> DependencyDown:
    if status in RETRYABLE_STATUS:
        return _down(f"{SERVICE} is busy.")
    message = f"{SERVICE} refused a request with status {status}: check its address, key and role."
    return DependencyMisconfigured(message, dependency=DEPENDENCY)


def _translate(exc: Exception) -> OrcError | None:
    if isinstance(exc, TimeoutError | httpx2.HTTPError | httpx2.InvalidURL):
        return _down(f"{SERVICE} does not answer.")
    return None


def _down(message: str) -> DependencyDown:
    return DependencyDown(message, dependency=DEPENDENCY)
