"""Kinds of questions: what the settings add and change, and what they may not ask for."""

from typing import Any

import pytest

from devkit.fakes import models_of, scripted
from devkit.graph_turns import says
from orc.graphs.plan_rules import check_intents, intent_by_keyword, intents_of
from orc.intents import Intent
from orc.settings import TurnSettings, load
from orc_core.errors import InvalidInput

MODEL, _ = scripted(says("x"))


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
