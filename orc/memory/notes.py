"""Takes notes of what users say in their own words: facts, wishes, and what has not been answered."""

import math
import re
from collections.abc import Iterator, Sequence
from itertools import islice

from core.grounding.claims import NOT_FOUND_ANSWER
from core.text.numbers import find_dates
from core.text.sentences import sentences
from core.text.terms import question_words, words
from orc.conversations.models import Turn
from orc.memory.models import Note, NoteKind
from orc.memory.note_patterns import Sign, load_phrases
from orc.memory.terms import ask_the_same, gives_a_name, spelled

MAX_NOTES = 256
NOTES_PER_TURN = 8
NOTE_CHARACTERS = 240
SENTENCES_READ = 60
"""Of one message: who pastes a document does not speak of themselves in it."""
LONGEST_POLITE_WISH = 80
SAME_QUESTION = 0.6
TOPIC_WORDS = 2

HALF_LIVES = {NoteKind.FACT: 300, NoteKind.PREFERENCE: 1000, NoteKind.QUESTION: 15}
"""After so many turns without being said again a note counts half."""
FORGOTTEN = 0.05
"""An open question that counts less is not asked any more."""

_DAY = re.compile(r"\b\d{1,2}\.$")
_FIRST_WORD = re.compile(r"\S+")


def with_notes_of(notes: Sequence[Note], turn: Turn) -> list[Note]:
    """The notes, with those of an answered turn. Taking it in again, or late, makes no difference."""
    taken = list(notes)
    for note in notes_in(turn.question, turn.seq):
        taken = with_note(taken, note)
    if says_not_found(turn):
        return with_note(taken, _open_question(turn))
    return _without_answered(taken, turn) if is_grounded(turn) else taken


def notes_in(message: str, seq: int) -> list[Note]:
    """What a user's message says of the user, in order."""
    found: list[Note] = []
    for clause in _clauses(message):
        if (note := _note_of(clause, seq)) is not None:
            found.append(note)
        if len(found) == NOTES_PER_TURN:
            break
    return found


def kept(notes: Sequence[Note], latest: int) -> list[Note]:
    """The notes that still count, at most MAX_NOTES of them, by when they were said last."""
    alive = [
        note for note in notes if note.kind is not NoteKind.QUESTION or freshness(note, latest) > FORGOTTEN
    ]
    strongest = sorted(alive, key=lambda note: (freshness(note, latest), note.last_seen), reverse=True)
    return sorted(strongest[:MAX_NOTES], key=lambda note: note.last_seen)


def freshness(note: Note, latest: int) -> float:
    """What a note still counts for at turn `latest`: 1 when it was just said, then less and less."""
    kind = NoteKind.PREFERENCE if note.lasting else note.kind
    return math.exp2(-max(latest - note.last_seen, 0) / HALF_LIVES[kind])


def says_not_found(turn: Turn) -> bool:
    """Whether the answer says that the documents do not hold what was asked."""
    answer = turn.assistant.content if turn.assistant else ""
    return _verdict(turn).get("not_found") is True or NOT_FOUND_ANSWER in answer


def is_grounded(turn: Turn) -> bool:
    """Whether the answer stands on verified citations."""
    verified = turn.assistant is not None and any(each.verified for each in turn.assistant.citations)
    return verified and not says_not_found(turn)


def is_unproven(turn: Turn) -> bool:
    """Whether the answer was labelled unverified, and cites nothing that is verified."""
    return _verdict(turn).get("action") == "label_unverified" and not is_grounded(turn)


def shortened(text: str, characters: int = NOTE_CHARACTERS) -> str:
    """The beginning of a text, up to the end of a word, with an ellipsis where something is left out."""
    if len(text) <= characters:
        return text
    return text[: characters - 2].rsplit(" ", 1)[0] + " …"


def _clauses(message: str) -> Iterator[str]:
    for sentence in islice(_sentences(message), SENTENCES_READ):
        yield from load_phrases().clauses(sentence)


def _sentences(message: str) -> Iterator[str]:
    """The sentences of every line; one that ends in the day of a date goes on: `am 5. Mai`."""
    for line in message.splitlines():
        held = ""
        for sentence in sentences(" ".join(line.split())):
            if held and _are_one_date(held, sentence):
                held = f"{held} {sentence}"
                continue
            if held:
                yield held
            held = sentence
        if held:
            yield held


def _are_one_date(before: str, after: str) -> bool:
    day = _DAY.search(before)
    return day is not None and bool(find_dates(f"{day[0]} {_FIRST_WORD.findall(after)[0]} 2000"))


def _note_of(clause: str, seq: int) -> Note | None:
    text = shortened(clause.strip())
    plain = text.replace("’", "'")
    phrases = load_phrases()
    is_question = plain.startswith("¿") or plain.rstrip("\"'”») ").endswith("?")
    if is_question and (len(plain) > LONGEST_POLITE_WISH or not phrases.is_polite_wish(plain)):
        return None
    tells_nothing = is_question or phrases.tells_nothing(plain)
    for sign in phrases.signs:
        if tells_nothing and sign.kind is NoteKind.FACT and not sign.on_request:
            continue
        if (match := sign.pattern.search(plain)) is not None:
            return _note(sign, match, text, seq)
    return None


def _note(sign: Sign, match: re.Match[str], text: str, seq: int) -> Note:
    subject = _subject_of(sign, match)
    return Note(
        kind=sign.kind,
        text=text,
        topic=_group(match, "thing").lower() or _topic_of(text),
        subject=subject,
        lasting=sign.on_request or gives_a_name(text),
        first_seen=seq,
        last_seen=seq,
    )


def _subject_of(sign: Sign, match: re.Match[str]) -> str:
    """What the sentence gives a value to; empty where it only says something.

    What is told in other ways of the same thing stands beside it: what it is, what it is called, where it is.
    """
    if sign.on_request:
        return _stated_subject(_group(match, "value"))
    thing = _group(match, "thing") or sign.subject
    if not thing:
        return ""
    relation, value = _group(match, "relation").lower(), words(_group(match, "value"))
    is_plain = not relation or relation in sign.plain
    own = [] if is_plain else [relation]
    beside = [word for word in value[:1] if word in sign.beside and (is_plain or sign.subject)]
    return " ".join([*words(thing), *own, *beside])


def _stated_subject(statement: str) -> str:
    for sign in load_phrases().signs:
        if sign.kind is NoteKind.FACT and not sign.on_request and (match := sign.pattern.search(statement)):
            return _subject_of(sign, match)
    return ""


def _group(match: re.Match[str], name: str) -> str:
    return match.groupdict().get(name) or ""


def _topic_of(text: str) -> str:
    return " ".join(question_words(text)[:TOPIC_WORDS])


def _open_question(turn: Turn) -> Note:
    asked = [sentence for sentence in sentences(" ".join(turn.question.split())) if sentence.endswith("?")]
    text = shortened(asked[-1] if asked else " ".join(turn.question.split()))
    seen = {"first_seen": turn.seq, "last_seen": turn.seq}
    return Note(kind=NoteKind.QUESTION, text=text, topic=_topic_of(text), **seen)


def with_note(notes: list[Note], new: Note) -> list[Note]:
    """The notes with a new one, in the place of what it says again or contradicts."""
    for old in notes:
        says_the_same = _says_the_same(old, new)
        if not says_the_same and not (new.subject and (old.kind, old.subject) == (new.kind, new.subject)):
            continue
        if old.last_seen > new.last_seen:
            return notes
        if says_the_same:
            first = min(old.first_seen, new.first_seen)
            new = new.model_copy(update={"first_seen": first, "lasting": old.lasting or new.lasting})
        return notes if new == old else [*(note for note in notes if note is not old), new]
    return [*notes, new]


def _says_the_same(one: Note, other: Note) -> bool:
    if one.kind is not other.kind:
        return False
    if one.kind is NoteKind.QUESTION:
        return one.text == other.text or ask_the_same(one.text, other.text, SAME_QUESTION)
    return spelled(one.text) == spelled(other.text)


def _without_answered(notes: list[Note], turn: Turn) -> list[Note]:
    return [
        note
        for note in notes
        if note.kind is not NoteKind.QUESTION
        or note.last_seen >= turn.seq
        or not ask_the_same(note.text, turn.question, SAME_QUESTION)
    ]


def _verdict(turn: Turn) -> dict[str, object]:
    metadata = (turn.result or {}).get("metadata")
    summary = metadata.get("critic_summary") if isinstance(metadata, dict) else None
    return dict(summary) if isinstance(summary, dict) else {}
