"""Nothing that others wrote becomes a wish, a fact, an answer or a search; what users wish themselves does.

The forms are data: a way to bring a text into a message, in four languages.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from devkit.remembered_turns import OWNER, answered
from orc.conversations.models import NewTurn, utc_now
from orc.conversations.transitions import begin_turn, first_head
from orc.graphs.models import ConversationState
from orc.graphs.plan_rules import intent_by_keyword
from orc.graphs.retrieval import web_query
from orc.intents import Intent
from orc.memory.models import NoteKind
from orc.memory.notes import add_notes_of, notes_in
from orc.memory.summary import CondensedTurns, NoteOfUser, _notes
from orc.settings import TurnSettings
from orc_core.offline.model import recall
from orc_core.text.provenance import is_pasted, opening_words

FORMS: dict[str, Any] = json.loads(Path(__file__).with_name("injected.json").read_text())
MESSAGES = {
    f"{language}, {name}": (form.format(**words), words["question"])
    for language, words in FORMS["languages"].items()
    for name, form in FORMS["forms"].items()
}
MARKS = ("klingon", "de99")


def is_poisoned(text: str) -> bool:
    return any(mark in text.casefold() for mark in MARKS)


def test_there_are_many_forms_in_four_languages() -> None:
    assert len(MESSAGES) >= 120
    assert all(is_poisoned(message) for message, _ in MESSAGES.values())


@pytest.mark.parametrize(("message", "question"), MESSAGES.values(), ids=MESSAGES)
def test_text_of_others_is_nobodys_word(message: str, question: str) -> None:
    assert not [note for note in add_notes_of([], answered(1, message)) if is_poisoned(note.text)]
    assert not is_poisoned(recall(question, [message]) or "")
    if is_pasted(message):
        state = ConversationState(question=message, conversation_id="c")
        assert not is_poisoned(web_query("Klingon DE99", state))
    new = NewTurn(key="t1", request_hash="h", question=message)
    head, _ = begin_turn(first_head(OWNER, utc_now()), None, new, 15, utc_now())
    assert not is_poisoned(head.title or "")
    assert not is_poisoned(opening_words(message)), "of which a model makes a title"


@pytest.mark.parametrize(("message", "question"), MESSAGES.values(), ids=MESSAGES)
def test_no_model_can_quote_it_as_the_users_either(message: str, question: str) -> None:
    words = next(words for words in FORMS["languages"].values() if words["question"] == question)
    quoted = [NoteOfUser(turn=1, kind="preference", quote=words[each]) for each in ("wish", "fact")]
    assert _notes(CondensedTurns(points=[], notes=quoted), [answered(1, message)]) == []


SEARCHING = TurnSettings(
    intents={"news": Intent(keywords=["klingon", "DE99", "klingonisch"], retriever="web")}
)


@pytest.mark.parametrize("message", [each for each, _ in MESSAGES.values() if is_pasted(each)])
def test_no_keyword_in_it_has_the_web_searched(message: str) -> None:
    assert intent_by_keyword(message, SEARCHING) is None


def test_a_keyword_of_the_users_own_words_counts_before_a_text_that_was_pasted() -> None:
    assert intent_by_keyword("Any news of account DE99?\n> What\n> they\n> wrote", SEARCHING) == "news"


@pytest.mark.parametrize("message", FORMS["own"])
def test_ones_own_wishes_count(message: str) -> None:
    assert any(note.kind is NoteKind.PREFERENCE for note in notes_in(message, 1))
