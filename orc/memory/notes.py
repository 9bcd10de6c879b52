"""Notes: the user's own sentences, wishes and open questions, kept word for word.

Every sentence without a question mark becomes a note, in any language, but for the request of a turn that
looked something up. Patterns (English, German, French and Spanish) recognise what the user asks to remember,
and how the user wants to be answered.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice

from orc.conversations.models import Turn
from orc.memory.models import Note, NoteKind
from orc_core.search.bm25 import QuestionTerms, idf
from orc_core.text.numbers import find_dates
from orc_core.text.provenance import own_words
from orc_core.text.sentences import sentences
from orc_core.text.terms import base_stems, detect_language, has_digit, words
from orc_core.text.wording import is_small_talk

MAX_NOTES = 256
NOTES_PER_TURN = 8
NOTE_CHARACTERS = 240
MAX_SENTENCES = 60
"""Sentences that are read of one message: a longer one is a pasted document."""
MIN_WORDS = 2
LONGEST_POLITE_WISH = 80
SAME_QUESTION = 0.6
CACHED_TEXTS = 8192
NAME = "name"
"""The term of all stems that give a name or ask for one."""

HALF_LIVES = {NoteKind.FACT: 300, NoteKind.PREFERENCE: 1000, NoteKind.QUESTION: 15}
"""After so many turns without being repeated a note counts half."""
FORGOTTEN = 0.05
"""An open question below this freshness is deleted."""

_NAMING = frozenset(
    "call name nam heisst heiss heis lautet nann appel nomm prénom nom llam llamo nombr".split()
)
_FILLERS = frozenset(
    "again now current exact actual tell say mention earlier rememb remind still am"  # prose: data
    " uns unser mein ich wir nochmal noch gerad eigent bin gesagt mal"
    " notr mon dit déjà encor rappel suis nuestr dije dich record".split()
)
"""Stems in a question about the user that say nothing about what is asked."""
_FIRST_PERSON = re.compile(
    r"\b(?:i|i'm|my|mine|we|our|ours|ich|mein\w*|wir|unser\w*|je|j'|mon|ma|mes|nous|notre|nos|yo|mi|mis"
    r"|nosotr[oa]s|nuestr[oa]s?|me llamo|tengo|vivo|trabajo|io|mio|mia|nostr[oa]|meu|minha|noss[oa])\b",
    re.I,
)
_REMEMBER = re.compile(
    r"(?:(?:please|and|also|ok|bitte|s'il (?:te|vous) plaît|por favor),? )*"
    r"(?:remember|note that|note:|keep in mind|bear in mind|do(?: not|n't) forget|for (?:the|your) record"
    r"|merke? dir|merken sie sich|denke?n? (?:sie )?daran|vergiss nicht|vergessen sie nicht|notier"
    r"|souviens-toi|souvenez-vous|n'oublie|note que|rappelle-toi|recuerd[ae]|no olvid|ten en cuenta|anota)",
    re.I,
)
_WISH = re.compile(
    r"\b(?:answer|reply|respond|write|speak|talk)\b(?: \w+){0,3}? (?:in|with|without|like|only|briefly)\b"
    r"|\b(?:antwort|schreib|sprich|sprech)\w*\b.* (?:auf|in|mit|ohne|kurz|knapp|nur)\b"
    r"|\b(?:répond|écri[st]|parle)\w*\b.* (?:en|avec|sans|toujours)\b"
    r"|\b(?:respond|contest|escrib|habl)\w*\b.* (?:en|con|sin|siempre)\b"
    r"|\bcall me \S|\bnenn\w* (?:sie )?mich \S|\bappel\w+-moi \S|\bllám[ae]me \S"
    r"|\b(?:du|sie)ze? mich\b"
    r"|^(?:please |bitte |por favor,? )*(?:always|never|from now on|immer|nie|ab jetzt|toujours|siempre)\b"
    r"|\bi(?:'d| would)? prefer\b|\bich bevorzuge\b|\bje préfère\b|\bprefiero\b"
    r"|\b(?:short|brief)(?:er)? answers\b|\bkurze antworten\b|\bréponses courtes\b|\brespuestas cortas\b",
    re.I,
)
_POLITE_REQUEST = re.compile(
    r"(?:can|could|would|will) you|k(?:a|ö)nn\w* (?:du|sie)|würde\w* (?:du|sie)|p(?:eux|ourrais)-tu"
    r"|pou(?:v|rri)ez-vous|¿?(?:puedes|podrías|puede|podría)\b",
    re.I,
)
_QUESTION_MARKS = ("?", "？", "؟", "\u037e")
_DAY = re.compile(r"\b\d{1,2}\.$")

Terms = frozenset[str]


class Asked:
    """The terms of a question. `is_specific`: they say what it is about."""

    def __init__(self, text: str) -> None:
        question = QuestionTerms(text)
        self.language = question.language
        self.terms: Terms = frozenset(
            NAME if term in _NAMING else term for term in question.terms if term not in _FILLERS
        )
        self.is_specific = question.is_specific and bool(self.terms)
        self.is_about_the_user = _FIRST_PERSON.search(text.replace("’", "'")) is not None

    def share(self, weights: Mapping[str, float], text: str) -> float:
        """The share of the question's weight that the terms of a text cover, from 0 to 1."""
        found = self.terms & terms_in(text, self.language)
        return sum(weights[term] for term in found) / (sum(weights.values()) or 1.0)


@lru_cache(CACHED_TEXTS)
def terms_in(text: str, language: str) -> Terms:
    """The terms of a text, stemmed like those of a question in this language."""
    return frozenset(NAME if stem in _NAMING else stem for stem in base_stems(words(text), language) if stem)


@lru_cache(CACHED_TEXTS)
def spelling(text: str) -> tuple[str, ...]:
    """The words of a text in order: texts with the same words are the same statement."""
    return tuple(words(text))


def forget_texts() -> None:
    """Drop every text that this process has cached."""
    terms_in.cache_clear()
    spelling.cache_clear()


def notes_in(message: str, seq: int) -> list[Note]:
    """The statements and wishes in what the user wrote of a message, in order."""
    own = own_words(message, _REMEMBER)
    found = (_note_of(sentence, seq) for sentence in islice(_sentences(own), MAX_SENTENCES))
    return list(islice(filter(None, found), NOTES_PER_TURN))


def add_notes_of(notes: Sequence[Note], turn: Turn) -> list[Note]:
    """The notes with those of an answered turn. Idempotent, and independent of the order of turns.

    The request itself is left out if the turn looked something up: the questions of the message, or its last
    sentence if it asks no question.
    """
    added, new = list(notes), notes_in(turn.question, turn.seq)
    if is_grounded(turn) or says_not_found(turn) or shows_passages(turn):
        said = list(_sentences(own_words(turn.question, _REMEMBER)))
        if said and not any(map(is_question, said)):
            request, kept = shortened(said[-1]), NoteKind.PREFERENCE
            new = [note for note in new if note.text != request or note.lasting or note.kind is kept]
    for note in new:
        added = add_note(added, note)
    if says_not_found(turn):
        whole = " ".join(turn.question.split())
        asked = [sentence for sentence in sentences(whole) if sentence.endswith("?")]
        text = shortened(asked[-1] if asked else whole)
        question = Note(kind=NoteKind.QUESTION, text=text, first_seen=turn.seq, last_seen=turn.seq)
        return add_note(added, question)
    if not is_grounded(turn):
        return added
    return [
        note
        for note in added
        if note.kind is not NoteKind.QUESTION
        or note.last_seen >= turn.seq
        or not _ask_the_same(note.text, turn.question)
    ]


def add_note(notes: list[Note], new: Note) -> list[Note]:
    """The notes with a new one; an older note that says the same is replaced."""
    for old in notes:
        if not _says_the_same(old, new):
            continue
        if old.last_seen > new.last_seen:
            return notes
        is_wish = NoteKind.PREFERENCE in (old.kind, new.kind)
        same = {"first_seen": min(old.first_seen, new.first_seen), "lasting": old.lasting or new.lasting}
        new = new.model_copy(update=same | ({"kind": NoteKind.PREFERENCE} if is_wish else {}))
        return notes if new == old else [*(note for note in notes if note is not old), new]
    return [*notes, new]


def bounded_notes(notes: Sequence[Note], latest: int) -> list[Note]:
    """At most MAX_NOTES notes, by `last_seen`: fresh ones, and those with words that no other note has."""
    question = NoteKind.QUESTION
    alive = [note for note in notes if note.kind is not question or freshness(note, latest) > FORGOTTEN]
    if len(alive) > MAX_NOTES:
        # How rare the words of each note are; numbers do not count, as each one is rare.
        words_of = {
            each.text: [word for word in spelling(each.text) if not has_digit(word)] for each in alive
        }
        notes_with = Counter(word for found in words_of.values() for word in set(found))
        rarity = {
            text: sum(idf(notes_with[word], len(alive)) for word in found) / len(found) if found else 0.0
            for text, found in words_of.items()
        }
        alive.sort(key=lambda note: (freshness(note, latest) * rarity[note.text], note.last_seen))
    return sorted(alive[-MAX_NOTES:], key=lambda note: note.last_seen)


def freshness(note: Note, latest: int) -> float:
    """The weight of a note at turn `latest`: 1 in its own turn, then exponentially less."""
    kind = NoteKind.PREFERENCE if note.lasting else note.kind
    return math.exp2(-max(latest - note.last_seen, 0) / HALF_LIVES[kind])


def says_not_found(turn: Turn) -> bool:
    """Whether the answer says that the documents do not contain what was asked."""
    return _verdict(turn).get("not_found") is True


def shows_passages(turn: Turn) -> bool:
    """Whether no model has answered, and the answer is what a search has found."""
    return _verdict(turn).get("closest_passages") is True


def is_grounded(turn: Turn) -> bool:
    """Whether the answer has verified citations."""
    verified = any(each.verified for each in turn.citations)
    return verified and not says_not_found(turn) and not shows_passages(turn)


def is_unproven(turn: Turn) -> bool:
    """Whether the answer was labelled unverified and has no verified citation."""
    return _verdict(turn).get("action") == "label_unverified" and not is_grounded(turn)


def shortened(text: str) -> str:
    """The beginning of a text, cut between words, with an ellipsis if something is left out."""
    if len(text) <= NOTE_CHARACTERS:
        return text
    return text[: NOTE_CHARACTERS - 2].rsplit(" ", 1)[0] + " …"


def is_question(sentence: str) -> bool:
    """Whether a sentence ends, or in Spanish begins, like a question."""
    return sentence.startswith("¿") or sentence.rstrip("\"'”») ").endswith(_QUESTION_MARKS)


def _sentences(message: str) -> Iterator[str]:
    """The sentences of every line; one that ends in the day of a date is joined to the next: `am 5. Mai`."""
    for line in message.splitlines():
        before = ""
        for sentence in sentences(" ".join(line.split())):
            day = _DAY.search(before)
            if day and find_dates(f"{day[0]} {sentence.split(maxsplit=1)[0]} 2000"):
                before = f"{before} {sentence}"
                continue
            if before:
                yield before
            before = sentence
        if before:
            yield before


def _note_of(sentence: str, seq: int) -> Note | None:
    text = shortened(sentence.strip())
    plain = text.replace("’", "'")
    seen = {"first_seen": seq, "last_seen": seq}
    if is_question(plain):
        is_wish = len(plain) <= LONGEST_POLITE_WISH and _POLITE_REQUEST.match(plain) and _WISH.search(plain)
        return Note(kind=NoteKind.PREFERENCE, text=text, **seen) if is_wish else None
    if _REMEMBER.match(plain):
        return Note(kind=NoteKind.FACT, text=text, lasting=True, **seen)
    if _WISH.search(plain):
        return Note(kind=NoteKind.PREFERENCE, text=text, **seen)
    if len(spelling(text)) < MIN_WORDS or is_small_talk(plain):
        return None
    # The user says what someone or something of theirs is called.
    is_name = _FIRST_PERSON.search(plain) and NAME in terms_in(text, detect_language(spelling(text)))
    return Note(kind=NoteKind.FACT, text=text, lasting=bool(is_name), **seen)


def _says_the_same(one: Note, other: Note) -> bool:
    is_open, is_other_open = (note.kind is NoteKind.QUESTION for note in (one, other))
    if is_open and is_other_open:
        return one.text == other.text or _ask_the_same(one.text, other.text)
    return not (is_open or is_other_open) and spelling(one.text) == spelling(other.text)


def _ask_the_same(one: str, other: str) -> bool:
    """Whether two questions share most of the terms of both."""
    these, those = Asked(one).terms, Asked(other).terms
    return len(these & those) >= SAME_QUESTION * len(these | those) > 0


def _verdict(turn: Turn) -> dict[str, object]:
    metadata = (turn.result or {}).get("metadata")
    summary = metadata.get("critic_summary") if isinstance(metadata, dict) else None
    return dict(summary) if isinstance(summary, dict) else {}
