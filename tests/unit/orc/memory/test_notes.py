"""Which of the user's sentences become notes, what replaces them, and how long they are kept."""

import pytest

from devkit.remembered_turns import CITED, answered
from orc.memory.models import Note, NoteKind
from orc.memory.notes import (
    MAX_NOTES,
    NOTE_CHARACTERS,
    NOTES_PER_TURN,
    add_note,
    add_notes_of,
    bounded_notes,
    is_grounded,
    notes_in,
)
from orc_core.grounding.closest import NOT_FOUND_ANSWER, closest_label

FACT, WISH, QUESTION = NoteKind.FACT, NoteKind.PREFERENCE, NoteKind.QUESTION


@pytest.mark.parametrize(
    ("message", "kinds"),
    [
        ("Hello, my name is Ada and I work in Leeds. What is the fee?", [FACT]),
        ("Our project is called Halberd.", [FACT]),
        ("Please remember that the deposit is due on 3 May.", [FACT]),
        ("We have 40 employees.\nMy leave starts on 5 May", [FACT, FACT]),
        ("The landlord of the Leeds office is Mr Okafor.", [FACT]),
        ("Please answer in German.", [WISH]),
        ("Could you please answer in short sentences?", [WISH]),
        ("Always cite the page. Call me Liz!", [WISH, WISH]),
        ("I prefer short answers. Our budget is 40,000 euros.", [WISH, FACT]),
        ("Ich heiße Ada und ich arbeite bei Siemens.", [FACT]),
        ("Merke dir, dass die Kaution am 3. Mai fällig ist.", [FACT]),
        ("Bitte antworte immer auf Deutsch. Nenn mich Liz.", [WISH, WISH]),
        ("Je m’appelle Ada et je travaille à Lyon.", [FACT]),
        ("N'oublie pas que la caution est due le 3 mai.", [FACT]),
        ("Réponds en français. Je préfère des réponses courtes.", [WISH, WISH]),
        ("Me llamo Ada y trabajo en Madrid.", [FACT]),
        ("Recuerda que la fianza vence el 3 de mayo.", [FACT]),
        ("Responde siempre en español. Prefiero respuestas cortas.", [WISH, WISH]),
        ("Il mio badge ha il numero 7431-K.", [FACT]),
        ("Наш проект называется Алебарда.", [FACT]),
        ("我们的项目叫长戟。", [FACT]),
    ],
)
def test_statements_and_wishes_are_noted(message: str, kinds: list[NoteKind]) -> None:
    assert [note.kind for note in notes_in(message, 1)] == kinds


@pytest.mark.parametrize(
    "message",
    [
        "What is our notice period?",
        "Wie heißt unser Projekt?",
        "Comment s'appelle notre projet ?",
        "¿Cómo se llama nuestro proyecto?",
        "我们的项目叫什么？",
        "Thank you very much!",
        "Hello!",
        "Yes.",
    ],
)
def test_questions_and_small_talk_are_not_noted(message: str) -> None:
    assert notes_in(message, 1) == []


def test_closest_passages_are_no_answer_to_remember() -> None:
    label = closest_label("Wie hoch ist die Miete?")
    turn = answered(1, "Wie hoch ist die Miete pro Quadratmeter?", f"{label}\n\n{CITED}")
    summary = {"not_found": False, "closest_passages": True}
    labelled = turn.model_copy(update={"result": {"metadata": {"critic_summary": summary}}})
    assert is_grounded(turn)
    assert not is_grounded(labelled)
    assert add_notes_of([], labelled) == [], "it is not known whether the documents answer the question"


def test_the_request_of_a_turn_with_a_lookup_is_not_noted() -> None:
    message = "My contract is of 2023. Compare it with the handbook."
    assert texts(add_notes_of([], answered(1, message, CITED))) == ["My contract is of 2023."]


@pytest.mark.parametrize(
    ("message", "lasting"),
    [
        ("Please remember that the deposit is due on 3 May.", True),
        ("Our project is called Halberd.", True),
        ("Unser Projekt heißt Halberd.", True),
        ("The annex is called B.", False),
        ("My deposit is 500 euros.", False),
    ],
)
def test_names_and_explicit_requests_to_remember_are_lasting(message: str, lasting: bool) -> None:
    (note,) = notes_in(message, 1)
    assert note.lasting is lasting


def test_note_is_the_users_own_sentence() -> None:
    (note,) = notes_in("Hello.  Mein Urlaub beginnt am 5. Mai.\nWas heißt das?", 7)
    assert note == Note(kind=FACT, text="Mein Urlaub beginnt am 5. Mai.", first_seen=7, last_seen=7)


def test_notes_of_one_message_are_bounded_in_number_and_length() -> None:
    assert len(notes_in(" ".join(f"My item {n} is heavy." for n in range(15)), 1)) == NOTES_PER_TURN
    (note,) = notes_in(f"My item is {'very ' * 70}heavy.", 1)
    assert len(note.text) <= NOTE_CHARACTERS
    assert notes_in("\n".join(f"My item {n} is heavy." for n in range(15)), 1) == [], "a list was pasted"


def texts(notes: list[Note]) -> list[str]:
    return [note.text for note in notes]


def after(*messages: str) -> list[Note]:
    notes: list[Note] = []
    for seq, message in enumerate(messages, 1):
        notes = add_notes_of(notes, answered(seq, message))
    return notes


def test_different_statements_about_the_same_thing_are_all_kept() -> None:
    said = ("My sister is a nurse.", "My sister is in Paris.", "We use SAP.", "We use Jira.")
    assert texts(after(*said)) == [*said]


def test_repeated_statement_is_renewed() -> None:
    notes = after("My budget is 500 euros.", "We use SAP.", "my budget is 500 euros")
    assert [(note.text, note.first_seen, note.last_seen) for note in notes] == [
        ("We use SAP.", 2, 2),
        ("my budget is 500 euros", 1, 3),
    ]


def test_adding_an_older_repetition_late_changes_nothing() -> None:
    notes = add_notes_of([], answered(6, "My budget is 700 euros."))
    assert add_notes_of(notes, answered(5, "my budget is 700 euros")) == notes


def test_a_wish_noted_by_a_model_replaces_the_same_statement() -> None:
    (statement,) = notes_in("The tone should be formal.", 3)
    wish = statement.model_copy(update={"kind": WISH})
    assert add_note([statement], wish) == [wish]
    assert add_note([wish], statement) == [wish]


def test_open_question_is_kept_until_it_is_answered_from_a_page() -> None:
    asked = "Hello. How long is the notice period for tenants?"
    notes = add_notes_of([], answered(1, asked, NOT_FOUND_ANSWER))
    assert [(note.kind, note.text) for note in notes] == [
        (QUESTION, "How long is the notice period for tenants?")
    ]
    for other in (
        answered(2, "How long is the notice period for tenants?", "I think it is long."),
        answered(2, "What is the deposit for tenants?", CITED),
    ):
        assert add_notes_of(notes, other) == notes
    again = add_notes_of(
        notes, answered(3, "The notice period for tenants, how long is it?", NOT_FOUND_ANSWER)
    )
    assert [(note.first_seen, note.last_seen) for note in again] == [(1, 3)]
    assert add_notes_of(again, answered(4, "How long is the notice period for tenants?", CITED)) == []


def test_notes_are_bounded_and_names_are_kept_longest() -> None:
    said = after("Our project is called Halberd.", *(f"My part number {n} is {n * 7}." for n in range(400)))
    notes = bounded_notes(said, 401)
    assert len(notes) == MAX_NOTES
    assert notes[0].text == "Our project is called Halberd."
    assert notes[-1].text == said[-1].text
    assert notes == sorted(notes, key=lambda note: note.last_seen)


def test_old_open_question_is_deleted() -> None:
    notes = add_notes_of([], answered(1, "Who signs the lease?", NOT_FOUND_ANSWER))
    assert bounded_notes(notes, 40) == notes
    assert bounded_notes(notes, 100) == []


def test_a_statement_unlike_all_others_outlasts_similar_ones() -> None:
    said = after("The auditor prefers Tuesdays.", *(f"My part number {n} is {n * 7}." for n in range(400)))
    assert texts(bounded_notes(said, 401))[0] == "The auditor prefers Tuesdays."
