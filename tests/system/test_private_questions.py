"""Questions about private documents ask no search engine, unless a plan or the user wants the web.

A model that is sure of its plans, one that never is and one whose plans are nonsense, with documents that are
indexed and that are not yet.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import httpx
import pytest

from devkit.doubles import web_search_double
from devkit.doubles.openai_double import ChatRequest, Failure, OpenAIDouble, Reply, ToolCall, serving
from devkit.doubles.web_search_double import WebSearchDouble
from devkit.in_process import InProcess, Variant, running_here
from devkit.system import ask_streaming, principal_headers, upload
from mcp_server.web.ports import WebPage
from orc.tools.ports import WEB_SEARCH
from orc_core.mcp_contract import ADD_TO_CONTEXT
from tests.system.steps import Json, answered, new_id
from tests.unit.orc.memory.test_injected import FORMS

FILES = [
    ("lease.txt", b"The rent is 900 crowns a month.\n\nThe notice period is ninety days."),
    ("offer.txt", b"The rent is 700 crowns a month.\n\nThe notice period is thirty days."),
]
QUESTIONS = {
    "en": "Compare both documents|What is this about?|Which of the two is better for us?"
    "|Is there anything unusual in here?|What is the rent?|Who is the minister of tides?"
    "|What do both cost together in a year?|What has changed lately?|rent notice period|Write them a reply."
    "|What's in lease.txt?|And the other one?",
    "de": "Vergleiche beide Dokumente.|Worum geht es?|Welches Angebot ist besser für uns?"
    "|Fällt dir etwas auf?|Wie hoch ist die Miete?|Wer ist der Minister für Gezeiten?"
    "|Was kosten beide im Jahr zusammen?|Was hat sich zuletzt geändert?|Miete Frist|Schreib eine Antwort."
    "|Was steht in offer.txt?|Und im anderen?",
    "fr": "Compare les deux documents.|De quoi s'agit-il ?|Lequel est le meilleur pour nous ?"
    "|Y a-t-il quelque chose d'inhabituel ?|Quel est le loyer ?|Qui est le ministre des marées ?"
    "|Combien coûtent les deux par an ?|Qu'est-ce qui a changé récemment ?|loyer préavis|Écris une réponse."
    "|Que contient lease.txt ?|Et l'autre ?",
    "es": "Compara los dos documentos.|¿De qué trata?|¿Cuál es mejor para nosotros?|¿Hay algo raro?"
    "|¿Cuánto cuestan ambos al año?|¿Qué ha cambiado últimamente?|alquiler preaviso|Escribe una respuesta."
    "|¿Cuánto es el alquiler?|¿Quién es el ministro de las mareas?|¿Qué dice offer.txt?|¿Y el otro?",
    "it": "Confronta i due documenti.|Di cosa si tratta?|Quale è meglio per noi?|C'è qualcosa di insolito?"
    "|Quanto costano i due all'anno?|Cosa è cambiato di recente?|affitto preavviso|Scrivi una risposta."
    "|Quanto costa l'affitto?|Chi è il ministro delle maree?|Cosa c'è in lease.txt?|E l'altro?",
}
"""Comparisons, sums, news, bare words, letters, facts that are there and not, and questions about one of the
files, in five languages: sixty."""
WISHES = ["Search the web for quays.", "Suche im Web nach Kais."]


class Planner(NamedTuple):
    """What a model says if it is asked for a plan; None: something that is no plan."""

    confidence: float | None
    steps: tuple[str, ...] = ("retrieve", "answer")
    intent: str = "factual_lookup"


TIDINGS = {"tidings": {"keywords": ["tidings"], "retriever": "web"}}
"""An intent whose questions are for the web, unless they name documents."""
PLANNERS = {
    "sure": Planner(0.9),
    "unsure": Planner(0.0),
    "empty": Planner(0.1, ()),
    "nonsense": Planner(None),
}


class Private(NamedTuple):
    """What is running."""

    here: InProcess
    model: OpenAIDouble
    web: WebSearchDouble

    def ask(self, planner: Planner, questions: list[str], *, indexed: bool) -> list[Json]:
        """The answers to questions in a conversation with the two files."""
        self.model.responder = responder(planner)
        self.web.start_over(WebPage(title="Q", url="https://quays.example/", text="Quays open at six."))
        conversation = new_id()
        headers = principal_headers("acme", new_id())
        with httpx.Client(base_url=self.here.addresses[""], headers=headers, timeout=60) as client:
            upload(client, conversation, *FILES).raise_for_status()
            if indexed:
                self.here.index()
            asked = ({"question": each, "conversation_id": conversation} for each in questions)
            return [answered(client.post("/orc", json=each)) for each in asked]


def responder(planner: Planner) -> Callable[[ChatRequest], Reply | None]:
    def respond(request: ChatRequest) -> Reply | None:
        if not (form := request.form) or form["name"] != "TurnPlan":
            # A model that would search the web, and change a context, if it could.
            offered = [each["function"]["name"] for each in request.body.get("tools") or []]
            for name in {WEB_SEARCH, ADD_TO_CONTEXT}.intersection(offered):
                return Reply(tool_calls=[ToolCall(name=name, arguments={"query": "rent"})])
            return None
        if planner.confidence is None:
            return Reply(text="no plan")
        said = {
            "intent": planner.intent,
            "question": request.question,
            "steps": list(planner.steps),
            "confidence": planner.confidence,
        }
        return Reply(tool_calls=[ToolCall(name=form["name"], arguments=said)])

    return respond


@pytest.fixture(scope="module")
def private(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Private]:
    model, web = OpenAIDouble(), WebSearchDouble()
    with serving(model) as base_url, web_search_double.serving(web) as target:
        common = {"model": "openai:gpt-5.1", "openai_base_url": base_url, "model_retries": 0}
        tools = {name.lower().removeprefix("orc_"): value for name, value in target.settings().items()}
        folder = tmp_path_factory.mktemp("private")
        variant = Variant({"critic": "on", "intents": TIDINGS})
        with running_here(folder, {"": variant}, common=common, tools=tools) as here:
            yield Private(here, model, web)


@pytest.mark.parametrize("planner", PLANNERS)
def test_no_question_about_private_documents_asks_a_search_engine(planner: str, private: Private) -> None:
    """Every other language meets documents that are not indexed yet."""
    for number, questions in enumerate(each.split("|") for each in QUESTIONS.values()):
        answers = private.ask(PLANNERS[planner], questions, indexed=number % 2 == 0)
        assert len(answers) == len(questions) == 12
        assert private.web.asked == [], questions


@pytest.mark.parametrize("planner", ["sure", "unsure"])
def test_text_of_others_in_a_message_starts_no_search_of_the_web_and_no_change(
    planner: str, private: Private
) -> None:
    """Each message brings an order in one of many forms; the earlier ones are its history."""
    for number, words in enumerate(FORMS["languages"].values()):
        said = {**words, "wish": words["order"]}
        messages = [form.format(**said) for form in FORMS["forms"].values()]
        answers = private.ask(PLANNERS[planner], messages, indexed=number % 2 == 0)
        assert private.web.asked == []
        used = {call["name"] for each in answers for call in each["metadata"]["tools"]}
        assert used
        assert used.isdisjoint({WEB_SEARCH, ADD_TO_CONTEXT}), used


def test_the_closest_passages_without_a_model_ask_no_search_engine(private: Private) -> None:
    wanted: Json = {"question": "Any tidings of the rent?", "conversation_id": new_id()}
    headers = principal_headers("acme", new_id())
    with httpx.Client(base_url=private.here.addresses[""], headers=headers, timeout=60) as client:
        upload(client, wanted["conversation_id"], *FILES).raise_for_status()
        private.here.index()
        private.web.start_over(WebPage(title="Q", url="https://quays.example/", text="The rent is 1 crown."))
        private.model.responder = lambda _: Failure(status=503)
        wanted["blob_names"] = ["lease.txt"]
        events = ask_streaming(client, **wanted, closest_passages=True)
        [shown] = [data for _, kind, data in events if kind == "closest_passages"]
        assert {each["blob_name"] for each in shown["citations"]} == {"lease.txt"}
        assert private.web.asked == []
        # Without a named document the web is asked for the answer, once.
        wanted["blob_names"] = []
        ask_streaming(client, **wanted, closest_passages=True)
        assert len(private.web.asked) == 1


def test_a_plan_or_a_wish_for_the_web_asks_one(private: Private) -> None:
    """What the other test relies on: the engine is there and would be asked."""
    private.ask(Planner(0.9, ("web_search", "answer")), ["What is the rent of quays?"], indexed=True)
    assert private.web.asked
    private.ask(Planner(0.9, ("both", "answer"), "research"), WISHES, indexed=True)
    assert private.web.asked
