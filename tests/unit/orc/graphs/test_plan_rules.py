"""Kinds of questions with what settings change of them, and documents that a question is about as such."""

from typing import Any

import pytest

from devkit.fakes import FakeTools, models_of, scripted
from devkit.graph_turns import (
    CHAT_TOOL,
    HISTORY,
    PAGES,
    SEARCH_TOOL,
    Turn,
    document_chat_result,
    passage,
    says,
)
from orc.graphs.models import ConversationState
from orc.graphs.plan_rules import check_intents, intent_by_keyword, intents_of
from orc.intents import Intent
from orc.settings import TurnSettings, load
from orc_core.errors import InvalidInput
from orc_core.models import Document, DocumentStatus

MODEL, _ = scripted(says("x"))
FOUND = {"passages": [passage("secret-id", 5, PAGES["secret-id", 5])], "steps": []}
MOST = 3


def test_the_settings_add_intents_and_override_fields_of_built_in_ones() -> None:
    policy = TurnSettings.model_validate(
        {"intents": {"research": {"max_output_tokens": 900}, "legal": {"model": "m"}}}
    )
    kinds = intents_of(policy)
    assert list(kinds) == ["factual_lookup", "faq", "research", "conversational", "legal"]
    assert (kinds["research"].max_output_tokens, kinds["research"].retriever) == (900, "tools")
    assert kinds["research"].description == intents_of(TurnSettings())["research"].description
    assert kinds["legal"] == Intent(model="m")


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("What is the notice period?", "legal"),
        ("What is the NOTICE\nperiod?", "legal"),
        ("Which notice has a period?", None),
        ("Is it unnoticed?", None),
        ("Tax and notice period", "tax"),
        ("契約期間は？", "legal"),
        ("", None),
    ],
)
def test_a_keyword_counts_as_whole_words_and_the_first_intent_wins(question: str, kind: str | None) -> None:
    intents = {"tax": {"keywords": ["tax"]}, "legal": {"keywords": ["notice period", "契約"]}}
    assert intent_by_keyword(question, TurnSettings.model_validate({"intents": intents})) == kind


@pytest.mark.parametrize(
    ("name", "intent", "problem"),
    [
        (
            "legal",
            {"model": "gpt-9"},
            "'legal' names the model 'gpt-9'; the configured models are: scripted, m",
        ),
        ("legal", {"keywords": ["tax", " ?"]}, "a keyword without a word"),
        ("legal", {"retriever": "document_chat"}, "document_chat"),
        (" ", {}, "not a name"),
    ],
)
def test_unusable_intents_are_refused_at_start_up(name: str, intent: dict[str, Any], problem: str) -> None:
    models = models_of(MODEL, m=MODEL)
    check_intents({"legal": Intent(model="m", keywords=["tax"], retriever="web")}, models)
    with pytest.raises(InvalidInput, match="ORC_INTENTS") as caught:
        check_intents({name: Intent.model_validate(intent)}, models)
    assert problem in caught.value.message


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("{legal}", "ORC_INTENTS is not JSON"),
        ('{"legal": {"keywrods": ["tax"]}}', "ORC_INTENTS.legal.keywrods: "),
        ('{"legal": {"retriever": "guess"}}', "ORC_INTENTS.legal.retriever: "),
    ],
)
def test_a_mistake_in_the_setting_is_named_with_its_place(
    value: str, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ORC_INTENTS", value)
    with pytest.raises(InvalidInput) as caught:
        load()
    assert problem in caught.value.message


def shelf(count: int) -> dict[str, Document]:
    common: dict[str, Any] = {"organization_id": "o", "user_id": "u", "conversation_id": "c", "etag": "1"}
    known = {"size": 1, "status": DocumentStatus.COMPLETED, "readable": True}
    names = [f"{number}.pdf" for number in range(count)]
    return {name: Document(document_id=name, blob_name=name, **common, **known) for name in names}


async def looked_up(question: str, *, rounds: int, documents: int = 1, **state: Any) -> list[str]:
    """The tools that code calls for a question, if the model may call tools so many times."""
    results = {"document_chat": document_chat_result(), "semantic_search": FOUND}
    turn = Turn(FakeTools([SEARCH_TOOL, CHAT_TOOL], **results), says("I cannot tell."))
    settings = {"max_tool_rounds": rounds, "max_documents_per_request": MOST}
    turn.change(settings=turn.uses.context.settings.model_copy(update=settings))
    files = shelf(documents)
    given = ConversationState(
        question=question, conversation_id="c", has_documents=True, shelf=files, **state
    )
    await turn.run_from(given)
    return [name for name, _ in turn.tools.calls]


@pytest.mark.parametrize("question", ["What is this about?", "Worum geht es hier?", "Who wrote this?"])
async def test_a_model_without_tools_reads_what_is_asked_about_as_such(question: str) -> None:
    assert await looked_up(question, rounds=0, documents=MOST) == ["document_chat"]


async def test_documents_are_searched_if_they_are_many_or_the_question_has_a_subject() -> None:
    assert await looked_up("What is this about?", rounds=0, documents=MOST + 1) == ["semantic_search"]
    assert await looked_up("What is the fee?", rounds=0) == ["semantic_search"]


async def test_a_model_with_tools_chooses_what_it_reads() -> None:
    assert await looked_up("What is this about?", rounds=3) == []


async def test_a_message_that_could_not_be_planned_is_searched() -> None:
    assert await looked_up("And what about it?", rounds=0, history=HISTORY) == ["semantic_search"]
