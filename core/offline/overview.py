"""What documents are about, in quotes: their titles, their own statements of that, and first sentences."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import takewhile

from core.offline.front_matter import (
    ABSTRACT,
    OPENING_PAGES,
    SECTION,
    authors,
    dates,
    is_telling,
    leading_sources,
    titles,
)
from core.offline.material import ENDS, Material, Place, merged
from core.search.bm25 import QuestionTerms
from core.text.question_type import WholeQuestion, asks_about_whole, topic_of_summary
from core.text.sentences import Piece
from core.text.terms import words

MAX_OPENINGS = 4
MOST_STATED = 3
"""Sentences of an abstract."""
SUBJECT_LINES = 16

_HAS_ARTICLE = re.compile(r"\b(?:the|an?|our|my|your|der|die|das|l[ae]s?|el|los)\b|\bl['’]", re.I)
"""`What is the rent?` asks for a fact, `What is PerksPlus?` for an overview of the document of that name."""
_DOCUMENT = (
    r"(?:document|guide|manual|brochure|report|policy|booklet|handbook|leaflet|paper|article|study|survey"
    r"|thesis|work|contract|agreement|lease|letter|memo\w*|tender|note|notice|specification|post|presentation"
    r"|rules|terms)"
)
_STATES = re.compile(
    rf"\b(?:this|the(?: present)?) (?:\w+ ){{0,2}}{_DOCUMENT} (?:(?:is designed to|aims to|will) )?"
    r"(?:explains?|describes?|outlines?|summari[sz]es?|tells|provides?|presents?|sets out|covers?|gives?"
    r"|introduces?|examines?|investigates?|studies|proposes?|discusses|reports?|says|shows?|governs?"
    r"|regulates?|applies|aims|is (?:an?|about|intended|designed|made|meant)|addresses|helps?|offers?"
    r"|surveys?|reviews?|analy[sz]es?)\b|\b(?:in|with) this (?:\w+ )?(?:paper|work|article|study|report"
    r"|thesis|survey|post|letter|document)\b|^(?:here|\w+ly,? )?we (?:present|propose|introduce|describe"
    r"|study|studied|investigated?|examined?|explored?|develop(?:ed)?|analy[sz]ed?|survey|surveyed|counted"
    r"|measured|tested|compared?|report|evaluated?)\b|\b(?:purpose|aim|goal|objective|subject) of (?:this"
    r"|the) \w+ (?:is|was)\b|\bdiese[rsn]? (?:\w+ )?\w+ (?:regelt|gilt|gelten|beschreib\w+|erklär\w+"
    r"|erläuter\w+|behandelt|informier\w+|bietet|zeigt|fasst|untersucht|enthält)\b"
    r"|\bin diese[rm] \w+ (?:wird|werden|stellen|untersuchen|zeigen)\b|\b(?:gegenstand|ziel|zweck) (?:de[rs]"
    r"|dieser|dieses) \w+ ist\b|\b(?:ce|cet|cette|le présent|la présente) (?:\w+ )?\w+ (?:décrit|explique"
    r"|présente|régit|a pour (?:objet|but)|fixe|définit|s'applique|traite)\b|\bil est convenu\b"
    r"|\b(?:este|esta|el presente|la presente) (?:\w+ )?\w+ (?:describe|explica|presenta|regula"
    r"|tiene por objeto|trata)\b"
    r"|\bse acuerda\b",
    re.I,
)
"""How a document says what it is about."""
_DEFINES = re.compile(
    r"(?:(?:The|Our|Der|Die|Das|Le|La|El) )?((?:[\w&.'’-]+ ){1,5}?)(?:(?:is|are|was|ist|sind|war|est|était|es"
    r"|fue)"
    r" (?:an?|the|eine?|der|die|das|une?|le|la|un[oa]?|el)|helps?|provides?|offers?|bietet|offre|ofrece)\b"
)


def asks_about_documents(question: str, material: Material) -> WholeQuestion | None:
    """What it asks about whole documents; also `overview` for what a thing is that one has as its title."""
    if asked := asks_about_whole(question):
        return None if _is_on_topic(question, material) else asked
    terms = QuestionTerms(question)
    if _HAS_ARTICLE.search(question) or not terms.defined or terms.defined != list(terms.terms):
        return None
    of_titles = (terms.terms_of(_text_of(title, material)) for title in titles(material))
    return "overview" if any(set(terms.defined) <= set(title) for title in of_titles) else None


def _is_on_topic(question: str, material: Material) -> bool:
    """Whether it asks to summarise a topic that a passage is about, and that no document has as its title."""
    if (topic := topic_of_summary(question)) is None:
        return False
    terms = QuestionTerms(topic)
    asked = set(terms.terms)
    names = [" ".join(re.split(r"[\W_]+", source.blob_name)) for source in material.sources]
    named = terms.terms_of(" ".join([*names, *(_text_of(title, material) for title in titles(material))]))
    texts = (f"{candidate.heading} {candidate.text}" for candidate in material.candidates)
    return not asked <= set(named) and any(
        2 * len(asked.intersection(terms.terms_of(text))) >= len(asked) for text in texts
    )


def about_documents(asked: WholeQuestion, material: Material) -> list[Place]:
    """The places that answer; none if no document says it."""
    if asked == "author":
        return authors(material)
    return dates(material) if asked == "date" else overview(material)


def overview(material: Material) -> list[Place]:
    """The title of each document, what it says that it is about, and the first sentences of later pages.

    Nothing follows an abstract.
    """
    leading = leading_sources(material)
    most = max(1, MAX_OPENINGS // max(1, len(leading)))
    found = titles(material)
    for numbers in leading.values():
        stated = list(_statements(numbers, material))[:most]
        found += stated
        if len(stated) < MOST_STATED:
            later = numbers[numbers.index(stated[0].source) + 1 :] if stated else numbers
            found += _first_sentences(later, material, most - len(stated))
    return found or _first_sentences(range(len(material.sources)), material, MAX_OPENINGS)


def _statements(numbers: Sequence[int], material: Material) -> Iterator[Place]:
    """Sentences of the abstract, or else the sentence that says what the document is about."""
    opening = [number for number in numbers if material.sources[number].page <= OPENING_PAGES]
    for number in opening:
        pieces = material.pieces[number]
        start = next((index for index, piece in enumerate(pieces) if ABSTRACT.match(piece.text)), None)
        if start is not None and (stated := _abstract(number, pieces, start + 1)):
            yield from stated
            return
    subjects = _subjects(opening, material)
    for number in opening:
        for index, piece in enumerate(material.pieces[number]):
            place = _sentence(number, index, material.pieces[number])
            if place and (_STATES.search(piece.text) or _defines(piece.text, subjects)):
                yield place
                return


def _subjects(numbers: Sequence[int], material: Material) -> set[str]:
    """The words at the top of the first of these sources, and of the document's name."""
    if not numbers:
        return set()
    lines = [piece.text for piece in material.pieces[numbers[0]][:SUBJECT_LINES]]
    return set(words(" ".join([material.sources[numbers[0]].blob_name.replace("_", " "), *lines])))


def _abstract(number: int, pieces: Sequence[Piece], start: int) -> list[Place]:
    """Its first sentences, or those from the one that says what the document does, if that is later."""
    of_abstract = takewhile(lambda index: not _is_section(pieces[index]), range(start, len(pieces)))
    places = (_sentence(number, index, pieces) for index in of_abstract)
    sentences = merged(place for place in places if place)
    first = next((i for i, place in enumerate(sentences) if _STATES.search(pieces[place.first].text)), 0)
    return sentences[first if first >= MOST_STATED else 0 :][:MOST_STATED]


def _is_section(piece: Piece) -> bool:
    return piece.kind == "heading" and SECTION.match(piece.text) is not None


def _sentence(number: int, index: int, pieces: Sequence[Piece]) -> Place | None:
    """The sentence that begins with this piece, which may be a short first line that looks like a heading."""
    piece = pieces[index]
    if piece.kind == "heading" and _STATES.search(piece.text) and index + 1 < len(pieces):
        following = pieces[index + 1]
        is_rest = following.kind == "sentence" and following.text.endswith(ENDS)
        return Place(number, index, index + 1) if is_rest else None
    return Place(number, index, index) if is_telling(piece) else None


def _defines(text: str, known: set[str]) -> bool:
    """Whether it says what something is that the first page names, such as the title's subject."""
    found = _DEFINES.match(text)
    subject = words(found[1]) if found else []
    return bool(subject) and text[0].isupper() and set(subject) <= known


def _first_sentences(numbers: Sequence[int], material: Material, most: int) -> list[Place]:
    """The first telling sentence of each page, or below each heading if there are few pages.

    A sentence that is repeated is no opening. Pages without sentences, as slides are, show their first lines.
    """
    repeated = Counter(piece.text for pieces in material.pieces for piece in pieces)
    is_short = len({material.sources[number].page for number in numbers}) < MAX_OPENINGS
    found: dict[tuple[int, str], Place] = {}
    for number in numbers:
        for index, piece in enumerate(material.pieces[number]):
            section = piece.heading if is_short else ""
            if is_telling(piece) and repeated[piece.text] == 1:
                found.setdefault((material.sources[number].page, section), Place(number, index, index))
    return list(found.values())[:most] or _first_lines(numbers, material)[:most]


def _first_lines(numbers: Sequence[int], material: Material) -> list[Place]:
    """The first two lines of each page behind the first, unless they are rows of a table."""
    found = []
    for number in numbers:
        lines = material.pieces[number][:2]
        if material.sources[number].page > 1 and lines and all(line.kind != "row" for line in lines):
            found.append(Place(number, 0, len(lines) - 1))
    return found


def _text_of(place: Place, material: Material) -> str:
    return " ".join(piece.text for piece in material.around(place)[place.first : place.last + 1])
