"""Groundedness detection as judge, against a double of the service."""

from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import cast

import httpx2
import pytest
from starlette.responses import JSONResponse, Response

from devkit.doubles.content_safety import KEY, TOKEN, ContentSafetyDouble
from orc.judges.azure import LONGEST_SOURCE, LONGEST_TEXT, GroundednessDetection
from orc.judges.ports import Pair, confirmed
from orc_core.errors import DependencyDown
from orc_core.infra.azure import Credentials, DependencyMisconfigured
from orc_core.llm.chat_model import CallBudget

RIGHT = Pair(sentence="The fee is 10.", evidence="The fee is 10. Families pay 15.")
WRONG = Pair(sentence="The fee is 12.", evidence="The fee is 10. Families pay 15.")


class FakeCredential:
    async def get_token(self, scope: str) -> SimpleNamespace:
        assert scope == "https://cognitiveservices.azure.com/.default"
        return SimpleNamespace(token=TOKEN)


IDENTITIES = {"a key": KEY, "the process": cast(Credentials, SimpleNamespace(default=FakeCredential()))}


@pytest.fixture
def double() -> ContentSafetyDouble:
    return ContentSafetyDouble()


@pytest.fixture
async def http(double: ContentSafetyDouble) -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(double.app)) as client:
        yield client


def judge_at(http: httpx2.AsyncClient, identity: str | Credentials = KEY) -> GroundednessDetection:
    return GroundednessDetection(http, "https://safety.example/", identity)


@pytest.mark.parametrize("identity", IDENTITIES.values(), ids=list(IDENTITIES))
@pytest.mark.parametrize("question", ["And the fee?", ""])
async def test_each_sentence_gets_the_verdict_of_the_service(
    http: httpx2.AsyncClient, double: ContentSafetyDouble, identity: str | Credentials, question: str
) -> None:
    budget = CallBudget(0)
    judgement = await judge_at(http, identity).judge(question, [RIGHT, WRONG], budget=budget)
    found = [confirmed(*each) for each in zip([RIGHT, WRONG], judgement.verdicts, strict=True)]
    assert [each.verdict for each in found] == ["supported", "unsupported"]
    assert found[1].reason == "not in the source: The fee is 12."
    assert judgement.action == "revise"
    assert {asked.task for asked in double.asked} == {"Summarization"}, "as it was measured"
    assert double.asked[0].sources == [RIGHT.evidence]


@pytest.mark.parametrize(
    "pair",
    [
        Pair(sentence="x" * (LONGEST_TEXT + 1), evidence="y"),
        Pair(sentence="x", evidence="x" * (LONGEST_SOURCE + 1)),
    ],
)
async def test_what_is_too_long_for_the_service_is_unknown(
    http: httpx2.AsyncClient, double: ContentSafetyDouble, pair: Pair
) -> None:
    judgement = await judge_at(http).judge("", [pair], budget=CallBudget(0))
    assert [each.verdict for each in judgement.verdicts] == ["unknown"]
    assert double.asked == []


@pytest.mark.parametrize(
    "body", [{}, [], None, {"ungroundedDetected": None}, {"ungroundedDetected": "false"}]
)
async def test_a_reply_of_another_form_is_no_verdict(
    http: httpx2.AsyncClient, double: ContentSafetyDouble, body: object
) -> None:
    double.reply = JSONResponse(body)
    with pytest.raises(DependencyDown, match="cannot be read"):
        await judge_at(http).judge("", [RIGHT], budget=CallBudget(0))


async def test_a_busy_service_is_down(http: httpx2.AsyncClient, double: ContentSafetyDouble) -> None:
    double.reply = Response(status_code=429)
    with pytest.raises(DependencyDown, match="is busy"):
        await judge_at(http).judge("", [RIGHT], budget=CallBudget(0))


async def test_a_wrong_key_is_a_matter_of_settings(http: httpx2.AsyncClient) -> None:
    with pytest.raises(DependencyMisconfigured, match="status 401"):
        await judge_at(http, "another").judge("", [RIGHT], budget=CallBudget(0))


async def test_a_service_that_cannot_be_reached_is_down() -> None:
    def refuse(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("refused")

    async with httpx2.AsyncClient(transport=httpx2.MockTransport(refuse)) as http:
        with pytest.raises(DependencyDown, match="does not answer"):
            await judge_at(http).judge("", [RIGHT], budget=CallBudget(0))
