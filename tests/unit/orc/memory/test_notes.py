"""What of a user's own words becomes a note, in four languages; how long it counts, what replaces it."""

import pytest

from core.grounding.claims import NOT_FOUND_ANSWER
from devkit.remembered_turns import CITED, answered
from orc.memory.models import Note, NoteKind
from orc.memory.notes import (
    MAX_NOTES,
    NOTE_CHARACTERS,
    NOTES_PER_TURN,
    freshness,
    kept,
    notes_in,
    with_notes_of,
)

FACT, WISH, QUESTION = NoteKind.FACT, NoteKind.PREFERENCE, NoteKind.QUESTION


@pytest.mark.parametrize(
    ("message", "kinds"),
    [
        ("Hello, my name is Ada and I work in Leeds. What is the fee?", [FACT, FACT]),
        ("Our project is called Halberd.", [FACT]),
        ("Please remember that the deposit is due on 3 May.", [FACT]),
        ("We have 40 employees.\nMy leave starts on 5 May", [FACT, FACT]),
        ("Please answer in German.", [WISH]),
        ("Could you please answer in short sentences?", [WISH]),
        ("Always cite the page. Call me Liz!", [WISH, WISH]),
        ("I prefer short answers, but our budget is 40,000 euros.", [WISH, FACT]),
        ("Ich heiße Ada und ich arbeite bei Siemens.", [FACT, FACT]),
        ("Unser Projekt heißt Halberd.", [FACT]),
        ("Merke dir, dass die Kaution am 3. Mai fällig ist.", [FACT]),
        ("Bitte antworte immer auf Deutsch. Nenn mich Liz.", [WISH, WISH]),
        ("Je m’appelle Ada et je travaille à Lyon.", [FACT, FACT]),
        ("Notre projet s'appelle Halberd.", [FACT]),
        ("N'oublie pas que la caution est due le 3 mai.", [FACT]),
        ("Réponds en français. Je préfère des réponses courtes.", [WISH, WISH]),
        ("Me llamo Ada y trabajo en Madrid.", [FACT, FACT]),
        ("Nuestro proyecto se llama Halberd.", [FACT]),
        ("Recuerda que la fianza vence el 3 de mayo.", [FACT]),
        ("Responde siempre en español. Prefiero respuestas cortas.", [WISH, WISH]),
    ],
)
def test_statements_and_wishes_are_noted(message: str, kinds: list[NoteKind]) -> None:
    assert [note.kind for note in notes_in(message, 1)] == kinds


@pytest.mark.parametrize(
    "message",
    [
        "What is our notice period?",
        "Tell me what our notice period is for tenants.",
        "I want to know how my leave works.",
        "I'm not sure if my rent is 500.",
        "If my rent is late, I pay 20 euros.",
        "Compare my contract of 2023 with the handbook.",
        "We need the total for 2023.",
        "My question is about leave.",
        "Thanks, that is what we need.",
        "Note the differences between A and B.",
        "Wie heißt unser Projekt?",
        "Ich frage mich, ob mein Urlaub im Mai reicht.",
        "Comment s'appelle notre projet ?",
        "¿Cómo se llama nuestro proyecto?",
        "The deposit is 500 euros.",
    ],
)
def test_questions_requests_and_suppositions_are_not(message: str) -> None:
    assert notes_in(message, 1) == []


def test_a_note_is_the_users_own_sentence() -> None:
    (note,) = notes_in("The fee is 10.  Mein Urlaub beginnt am 5. Mai.\nWas heißt das?", 7)
    assert note == Note(
        kind=FACT,
        text="Mein Urlaub beginnt am 5. Mai.",
        topic="urlaub",
        subject="urlaub beginnt",
        first_seen=7,
        last_seen=7,
    )


def test_notes_of_one_message_are_bounded_in_number_and_length() -> None:
    pasted = "\n".join(f"My item {n} is {'very ' * 80}heavy." for n in range(50))
    notes = notes_in(pasted, 1)
    assert len(notes) == NOTES_PER_TURN
    assert all(len(note.text) <= NOTE_CHARACTERS for note in notes)


def texts(notes: list[Note]) -> list[str]:
    return [note.text for note in notes]


def after(*messages: str) -> list[Note]:
    notes: list[Note] = []
    for seq, message in enumerate(messages, 1):
        notes = with_notes_of(notes, answered(seq, message))
    return notes


def test_a_later_value_of_the_same_thing_takes_the_earlier_ones_place() -> None:
    notes = after(
        "My budget is 500 euros.", "Our project is called Halberd.", "Actually, my budget is 700 euros."
    )
    assert texts(notes) == ["Our project is called Halberd.", "Actually, my budget is 700 euros."]


def test_different_things_told_of_the_same_stand_beside_each_other() -> None:
    said = (
        "My sister is a nurse.",
        "My sister is in Paris.",
        "We use SAP.",
        "We use Jira.",
        "I work in Leeds.",
    )
    assert texts(after(*said, "I work for Acme.")) == [*said, "I work for Acme."]


def test_what_is_said_again_is_renewed_and_counts_from_its_last_time() -> None:
    notes = after("My budget is 500 euros.", "We use SAP.", "my budget is 500 euros")
    assert [(note.text, note.first_seen, note.last_seen) for note in notes] == [
        ("We use SAP.", 2, 2),
        ("my budget is 500 euros", 1, 3),
    ]


def test_an_older_turn_that_is_taken_in_late_overrides_nothing() -> None:
    notes = with_notes_of([], answered(6, "My budget is 700 euros."))
    assert with_notes_of(notes, answered(5, "My budget is 500 euros.")) == notes


def test_a_question_without_an_answer_stays_open_until_it_is_answered_from_a_page() -> None:
    asked = "Hello. How long is the notice period for tenants?"
    notes = with_notes_of([], answered(1, asked, NOT_FOUND_ANSWER))
    assert [(note.kind, note.text) for note in notes] == [
        (QUESTION, "How long is the notice period for tenants?")
    ]
    for other in (
        answered(2, "How long is the notice period for tenants?", "I think it is long."),
        answered(2, "What is the deposit for tenants?", CITED),
    ):
        assert with_notes_of(notes, other) == notes
    again = with_notes_of(
        notes, answered(3, "The notice period for tenants, how long is it?", NOT_FOUND_ANSWER)
    )
    assert [(note.first_seen, note.last_seen) for note in again] == [(1, 3)]
    assert with_notes_of(again, answered(4, "How long is the notice period for tenants?", CITED)) == []


def test_facts_and_wishes_fade_slowly_and_open_questions_fast() -> None:
    def at(kind: NoteKind, turn: int, *, lasting: bool = False) -> float:
        note = Note(kind=kind, text="x", lasting=lasting, first_seen=1, last_seen=1)
        return freshness(note, turn)

    assert at(FACT, 1) == at(WISH, 1) == at(QUESTION, 1) == 1
    assert at(WISH, 200) > at(FACT, 200) > 0.6 > 0.01 > at(QUESTION, 200)
    assert at(FACT, 200, lasting=True) == at(WISH, 200)


def test_only_the_strongest_notes_are_kept_and_names_outlast_other_facts() -> None:
    said = after("Our project is called Halberd.", *(f"My part number {n} is {n * 7}." for n in range(400)))
    notes = kept(said, 401)
    assert len(notes) == MAX_NOTES
    assert notes[0].text == "Our project is called Halberd."
    assert notes[-1].text == said[-1].text
    assert notes == sorted(notes, key=lambda note: note.last_seen)


def test_an_open_question_is_forgotten_in_the_end() -> None:
    notes = with_notes_of([], answered(1, "Who signs the lease?", NOT_FOUND_ANSWER))
    assert kept(notes, 40) == notes
    assert kept(notes, 100) == []
