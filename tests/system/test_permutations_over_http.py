"""Every kind of turn, through every endpoint, as JSON and as a stream: the content is the same."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from devkit.doubles.openai_double import Failure, OpenAIDouble, Reply
from devkit.in_process import InProcess, Variant
from devkit.stream_to_json import common_view, fold
from orc.tools.ports import ToolGateway, ToolSchema
from orc.turns.running_turn import TurnDependencies
from orc_core.errors import DependencyDown
from orc_core.grounding.closest import NOT_FOUND_ANSWER
from orc_core.infra.model_settings import DEFAULT_CHAT_MODEL
from tests.system.permutations import (
    PAGE,
    QUESTION,
    Endpoints,
    Permutation,
    Talk,
    exchanged_by,
    running_with_doubles,
)

NAMED = {"blob_names": ["quay.txt"]}
NO_WEB = {"tools": {"web_search": False}}
SEARCHED, FAILED_SEARCH = "semantic_search finished", "semantic_search failed"
SEARCHED_PAGES, WEB = "search_pages finished", "web_search finished"
LATE, BROKEN = Reply(text="Too late.", delay_ms=1500), Failure(status=500)
RIGHT, WRONG = "The quay opens at seven. [S1]", "The quay opens at eleven. [S1]"
OTHER, ANOTHER = "Visitors may enter from seven. [S1]", "Guests are let in from seven. [S1]"
"""In other words than the page."""
ELSEWHERE = "Who won the chess cup?"


def plan(*steps: str, **other: Any) -> dict[str, Any]:
    """A plan as the model fills it in."""
    usual = {"intent": "factual_lookup", "question": QUESTION, "confidence": 0.9}
    return {**usual, "steps": [*steps, "answer"], **other}


def verdict(said: str, **other: Any) -> dict[str, Any]:
    """A judge's verdict on one sentence as the model fills it in."""
    quoted = {"quote": "The quay opens at seven.", "reason": "It says so."}
    sentences = [{"sentence": 1, "verdict": said, **quoted}]
    action = "revise" if said == "unsupported" else "accept"
    return {"sentences": sentences, "coverage": 1, "action": action, **other}


class Without:
    """A ToolGateway of whose tools one does not work; None: its server is down."""

    def __init__(self, tools: ToolGateway, broken: str | None) -> None:
        self._tools = tools
        self._broken = broken

    async def list_tools(self, token: str) -> list[ToolSchema]:
        if self._broken is None:
            raise DependencyDown("The tools server does not answer.", dependency="mcp_server")
        return await self._tools.list_tools(token)

    async def call(self, name: str, arguments: dict[str, Any], token: str, **how: Any) -> dict[str, Any]:
        if self._broken in (None, name):
            raise DependencyDown("It does not answer.", dependency=self._broken or "mcp_server")
        return await self._tools.call(name, arguments, token, **how)


def without(broken: str | None, parts: TurnDependencies) -> TurnDependencies:
    return replace(parts, tools=Without(parts.tools, broken))


MEASURED = {"model_catalog": {DEFAULT_CHAT_MODEL: {"judge_accuracy": 0.8}}}
VARIANTS = {
    "plain": Variant(),
    "judge": Variant(MEASURED),
    "forgetful": Variant({"memory": "off"}),
    "lazy": Variant({**MEASURED, "lazy_retrieval": True}),
    "hasty planner": Variant({"planner_seconds": 0.6}),
    "hasty judge": Variant({**MEASURED, "critic_seconds": 0.6}),
    "search down": Variant(override=partial(without, "semantic_search")),
    "web down": Variant(override=partial(without, "web_search")),
    "tools down": Variant(override=partial(without, None)),
}

talk = partial(Permutation, documents=False, tools=[], actions=[], cites=[])
named = partial(Permutation, body=NAMED, tools=["document_chat finished"])
ruled = partial(Permutation, body=NO_WEB)
"""Planned by rules: only the documents can be searched."""
judged = partial(ruled, asked=["text", "CriticVerdict"], variant="judge")
undecided = partial(judged, cites=[], says="The second reading failed")
lazy = partial(ruled, variant="lazy", tools=[SEARCHED_PAGES])
BY_PLAN = ["TurnPlan", "text"]

PERMUTATIONS = {
    "answer only": talk(["text"], question="Hello!"),
    "answer, planned": talk(["TurnPlan", "text"], Talk([plan()]), question="Who built the first lighthouse?"),
    "named documents": named(["text"]),
    "named documents, with a history": named(["text"], variant="forgetful", earlier="Who has the key?"),
    "retrieve": ruled(["text"]),
    "retrieve, planned": Permutation(BY_PLAN, Talk([plan("retrieve")])),
    "retrieve, before it is indexed": Permutation(
        BY_PLAN, Talk([plan("retrieve")]), indexed=False, says="semantic_search found 2 results."
    ),
    "web search": Permutation(BY_PLAN, Talk([plan("web_search")]), tools=[WEB], cites=[PAGE.url]),
    "both": Permutation(BY_PLAN, Talk([plan("both")]), tools=[SEARCHED, WEB]),
    "tools that the model chooses": Permutation(
        ["TurnPlan", "tools", "tools", "tools"],
        Talk(
            [plan("retrieve", intent="research")],
            calls=[("documents_list", {}), ("semantic_search", {"query": QUESTION})],
        ),
        tools=["documents_list finished", SEARCHED],
    ),
    "summaries": lazy(["text"], says="given as summaries"),
    "summaries, then whole pages": lazy(
        ["text", "CriticVerdict", "text"],
        Talk(texts=[OTHER], verdicts=[verdict("supported", action="retrieve")]),
        tools=["get_page finished", "get_page finished", SEARCHED_PAGES],
        actions=["retrieve", "accept"],
        says="read in full with get_page",
    ),
    "the planner fails": Permutation(BY_PLAN, Talk([BROKEN]), says="could not be planned"),
    "the planner is late": Permutation(
        BY_PLAN, Talk([LATE]), variant="hasty planner", says="could not be planned"
    ),
    "the planner talks": Permutation(
        ["TurnPlan", *BY_PLAN], Talk(["I would search."] * 2), says="could not be planned"
    ),
    "the planner makes up a step": Permutation(BY_PLAN, Talk([plan("guess")]), says="could not be planned"),
    "the planner makes up a kind": Permutation(
        BY_PLAN, Talk([plan("retrieve", intent="gossip")]), says="could not be planned"
    ),
    "the planner is not sure": Permutation(
        BY_PLAN, Talk([plan("web_search", confidence=0.2)]), tools=[SEARCHED, WEB], says="confidence is 20%"
    ),
    "the search is down": ruled(
        ["text"],
        variant="search down",
        tools=[SEARCHED_PAGES, FAILED_SEARCH],
        says="semantic_search failed: It does not answer.",
    ),
    "nothing is found": ruled(
        ["tools"],
        Talk(texts=[NOT_FOUND_ANSWER]),
        question=ELSEWHERE,
        cites=[],
        says="semantic_search found nothing.",
    ),
    "nothing is found but in the web": Permutation(
        BY_PLAN,
        Talk([plan("both", question=ELSEWHERE)]),
        question=ELSEWHERE,
        tools=[SEARCHED, WEB],
        cites=[PAGE.url],
        says="web_search found 1 result.",
    ),
    "the web is down": Permutation(
        BY_PLAN,
        Talk([plan("web_search")]),
        variant="web down",
        tools=[SEARCHED, "web_search failed"],
        says="web_search failed",
    ),
    "the tools server is down": Permutation(
        ["text"],
        Talk(texts=["The quay opens at nine."]),
        variant="tools down",
        tools=["tools failed"],
        actions=["label_unverified"],
        cites=[],
        says="Nothing could be looked up",
    ),
    "the tools server is down for named documents": named(
        [],
        variant="tools down",
        tools=["document_chat failed"],
        actions=[],
        cites=[],
        says="mcp_server",
        status=503,
    ),
    "a wrong number": ruled(
        ["text", "text"], Talk(texts=[WRONG, f"1. {RIGHT}"]), actions=["revise", "accept"]
    ),
    "a correction that is no better": ruled(
        ["text", "text"],
        Talk(texts=[f"{RIGHT} {WRONG}", f"1. {WRONG}"]),
        actions=["revise", "label_unverified"],
        says="no correction was supported",
    ),
    "judge: nothing to judge": ruled(["text"], variant="judge"),
    "judge: supported": judged(talk=Talk(texts=[OTHER], verdicts=[verdict("supported")])),
    "judge: unsupported": judged(
        talk=Talk(texts=[OTHER, f"1. {RIGHT}"], verdicts=[verdict("unsupported")]),
        asked=["text", "CriticVerdict", "text"],
        actions=["revise", "accept"],
    ),
    "judge: unsupported, said by document_chat": named(
        ["text", "CriticVerdict", "text"],
        Talk(texts=[OTHER, f"1. {RIGHT}"], verdicts=[verdict("unsupported")]),
        variant="judge",
        actions=["revise", "accept"],
    ),
    "judge: a correction in other words": judged(
        talk=Talk(texts=[OTHER, f"1. {ANOTHER}"], verdicts=[verdict("unsupported"), verdict("supported")]),
        asked=["text", "CriticVerdict", "text", "CriticVerdict"],
        actions=["revise", "accept"],
    ),
    "judge: retrieve": judged(
        talk=Talk(
            texts=[OTHER, RIGHT],
            verdicts=[verdict("unsupported", action="retrieve", query="quay hours")],
        ),
        asked=["text", "CriticVerdict", "text"],
        tools=[SEARCHED] * 2,
        actions=["retrieve", "accept"],
        says="The critic asked for more.",
    ),
    "judge: a second answer that is worse": judged(
        talk=Talk(
            texts=[f"{RIGHT} {OTHER}", WRONG],
            verdicts=[verdict("unsupported", action="retrieve", query="quay hours")],
        ),
        asked=["text", "CriticVerdict", "text"],
        tools=[SEARCHED] * 2,
        actions=["retrieve", "label_unverified"],
        says="the earlier one is given",
    ),
    "judge: retries used up": judged(
        talk=Talk(texts=[OTHER, f"1. {ANOTHER}"], verdicts=[verdict("unsupported")] * 2),
        asked=["text", "CriticVerdict", "text", "CriticVerdict"],
        actions=["revise", "label_unverified"],
        cites=[],
        says="CRITIC_MAX_RETRIES is 1",
    ),
    "the judge fails": undecided(talk=Talk(texts=[OTHER], verdicts=[BROKEN])),
    "the judge is late": undecided(talk=Talk(texts=[OTHER], verdicts=[LATE]), variant="hasty judge"),
    "the judge talks": undecided(
        asked=["text", "CriticVerdict", "CriticVerdict"],
        talk=Talk(texts=[OTHER], verdicts=["I like it."] * 2),
    ),
}


@pytest.fixture(scope="module")
def model() -> OpenAIDouble:
    return OpenAIDouble()


@pytest.fixture(scope="module")
def here(model: OpenAIDouble, tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcess]:
    with running_with_doubles(tmp_path_factory.mktemp("here"), VARIANTS, model) as running:
        yield running


@pytest.mark.parametrize("permutation", PERMUTATIONS.values(), ids=list(PERMUTATIONS))
def test_every_endpoint_returns_the_same_turn(
    permutation: Permutation, here: InProcess, model: OpenAIDouble
) -> None:
    with here.client(permutation.variant, "acme") as client:
        runs = Endpoints(client, model, here.index).run(permutation)
    for run in runs:
        assert run.status == permutation.status
        assert run.asked == permutation.asked
        assert run.tools == sorted(permutation.tools)
        assert [each["action"] for each in run.of("critique")] == permutation.actions
        assert run.cites == permutation.cites
        assert permutation.says in run.said
        assert run.ended == run.events[-1][2]
        if run.status == 200:
            said, folded = common_view(run.ended, fold(run.events))
            assert folded == said
    for other in runs[1:]:
        assert exchanged_by(other) == exchanged_by(runs[0])
