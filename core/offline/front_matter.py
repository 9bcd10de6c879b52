"""What the first pages say about a document itself: its title, its authors, its date."""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile

from core.offline.material import ENDS, Material, Place
from core.text.numbers import MONTH_NAMES
from core.text.sentences import Piece

OPENING_PAGES = 5
"""A document says what it is on these pages."""
MAX_TITLES = 2
"""Lines of headings that a title has at most."""
MAX_COVER_LINES = 3
"""Lines of a title on a page that has no sentence."""
MAX_TITLE_WORDS = 20
MAX_AUTHOR_LINES = 3
LONGEST_BYLINE = 300
"""Characters of a line that decide whether it names authors."""
LEAST_WORDS = 3
LARGEST_GAP = 2
"""Pages with a larger difference of numbers are not read one after the other."""
FIRST_PIECES = 12
"""The pieces at the top of a page among which the kind and the date of a document are looked for."""

_DATE = re.compile(
    rf"\b(?:{MONTH_NAMES})\b\.?(?: \d\d?(?:st|nd|rd|th)?(?: ?[-–] ?\d\d?)?,?)?(?: de)? (?:19|20)\d\d\b"
    r"|\b(?:19|20)\d\d-\d\d-\d\d\b|\b\d\d?[./]\d\d?[./](?:19|20)\d\d\b",
    re.I,
)
_MASTHEAD = re.compile(
    r"^(?:proceedings|findings of|transactions|journal|bulletin|annals|vol(?:ume|\.)|issue|pages?"
    r"|i[ss][sb]n|doi|arxiv"
    r"|https?:|www\.|copyright|confidential|vertraulich)\b"
    r"|[©®]|\bvol(?:ume|\.) ?\d|\bpp?\. ?\d|^[\W\d]*$",
    re.I,
)
"""Lines above a title that belong to the series or the site that published it."""
_MENU = re.compile(
    r"(?:skip|jump) to (?:main )?content|zum (?:haupt)?inhalt|aller au contenu|ir al contenido", re.I
)
"""What a web page begins with that has its menu above its text."""
ABSTRACT = re.compile(
    r"\W*(?:\d+\.?\s+)?(?:abstract|(?:executive |management )?summary|tl;?dr|purpose|zusammenfassung"
    r"|kurzfassung|überblick"
    r"|zweck|résumé|objet|resumen|objeto)\W*$",
    re.I,
)
"""A heading above the document's own statement of what it says."""
SECTION = re.compile(
    r"##|\W*\d+(?:\.\d+)*\.?\s+[^\W\d]|(?:chapter|part|section|kapitel|teil|abschnitt|chapitre"
    r"|capítulo) [\divx]+\b"
    r"|introduction\b|einleitung\b|introducción\b",
    re.I,
)
_WORD = r"[A-ZÄÖÜÉ](?:[^\W\d_]|['’-])+"
_NAME = rf"{_WORD}(?: (?:[A-Z]\.|{_WORD})){{1,4}}"
_BYLINE = re.compile(
    rf"{_NAME}(?:[\d,∗*†‡§¶+]+ |[\d∗*†‡§¶+]*$| ?, | and ).*(?:[^\W\d][\d∗*†‡§¶+]|, {_NAME}| and {_NAME})"
    rf"|{_NAME}, [a-zäöü][\w ]+$"
)
"""Several names with commas or marks of notes, or one name with a function."""
_AUTHOR_LABEL = re.compile(
    r"^\W*(?:from|authors?|(?:written|prepared|drafted|edited|published) by|by|von|autor(?:in|en|innen)?"
    r"|verfasser(?:in|innen)?|verfasst von|erstellt von|bearbeitet von|herausgeber(?:in)?|auteure?s?"
    r"|rédigé par|par|autora?(?:es)?|escrito por)"
    rf"(?:\s*:\s*\S|\s+{_NAME}\W*$)",
    re.I,
)
_CLOSING = re.compile(
    r"(?:(?:kind|best|warm)(?:est)? regards|(?:yours )?(?:sincerely|faithfully)"
    r"|(?:mit )?(?:freundlich|best|herzlich)\w* grüße?n?|cordialement|(?:un )?(?:cordial saludo|saludos)"
    r"|atentamente)\b,?",
    re.I,
)
"""The last words of a letter, above the name of its author or before it."""
_DATE_LABEL = re.compile(
    r"^\W*(?:sent|date|dated|published|issued|released|posted|(?:last )?(?:updated|revised|modified)"
    r"|revision|version"
    r"|datum|stand|fassung|veröffentlicht|erschienen|gesendet|publié|date de publication|fecha|publicado)\b",
    re.I,
)
_DATED = re.compile(
    r"\b(?:published|issued|released|dated|made|signed|adopted|announced|valid (?:from|since)|in force"
    r"|effective|beschlossen|veröffentlicht|erschienen|unterzeichnet|geschlossen|stand|in kraft|gültig ab"
    r"|publiée?|signée?|adoptée?|fait|conclue?|publicad[oa]|firmad[oa]|aprobad[oa])\b",
    re.I,
)
_SAYS_NOTHING = re.compile(
    r"\b(?:generated|demonstration purposes|no representations?|confidential|copyright|all rights reserved"
    r"|licen[cs]ed|permission|disclaimer|does not (?:reflect|constitute)"
    r"|without (?:prior )?(?:written )?consent|forward-looking|risks and uncertainties|table of contents"
    r"|alle rechte vorbehalten|tous droits réservés)\b"
    r"|[©®]|^(?:>|please|welcome|dear|hi|hello|[A-ZÄÖÜ][\w ]{0,24}: )|(?:\b\w\. ?){2,4}$",
    re.I,
)
"""Disclaimers, greetings, labels, and lines that end with an abbreviation."""
_PERIOD = re.compile(r"\b(?:ended|ending|end(?:et|end)|period|clos|exercice|finalizado)\b", re.I)
"""A date that closes a period is not that of the document."""


def is_telling(piece: Piece) -> bool:
    """Whether it is a whole sentence of some length, and no question, disclaimer, greeting or label."""
    if piece.kind != "sentence" or not piece.is_whole or not piece.text.endswith(ENDS):
        return False
    if len(piece.text.split()) < LEAST_WORDS or piece.text[-1] in "?？":
        return False
    return _SAYS_NOTHING.search(piece.text) is None


def titles(material: Material) -> list[Place]:
    """The title of each document, on its first page."""
    return [Place(number, *_title_lines(material.pieces[number])) for number in _front_pages(material)]


def authors(material: Material) -> list[Place]:
    """The lines that name the authors of each document."""
    return list(_one_each(material, _authors))


def dates(material: Material) -> list[Place]:
    """The line or the sentence that dates each document."""
    return list(_one_each(material, _dates))


def leading_sources(material: Material) -> dict[str, list[int]]:
    """The sources from the opening pages of each document and those that follow them, in reading order."""
    found: dict[str, list[int]] = {}
    for number in sorted(range(len(material.sources)), key=lambda each: (material.sources[each].page, each)):
        source = material.sources[number]
        before = found.setdefault(source.blob_name, [])
        last = material.sources[before[-1]].page if before else 0
        if source.page <= max(OPENING_PAGES, last + LARGEST_GAP):
            before.append(number)
    return found


def _front_pages(material: Material) -> Iterator[int]:
    """The source with the beginning of each document, which may be below a page with a menu of links."""
    for numbers in leading_sources(material).values():
        filled = [number for number in numbers if material.pieces[number]]
        if filled and material.sources[filled[0]].page == 1:
            has_menu = _MENU.match(material.pieces[filled[0]][0].text) is not None
            yield from [number for number in filled if material.sources[number].page > has_menu][:1]


def _one_each(material: Material, find: Callable[[int, Sequence[Piece]], Place | None]) -> Iterator[Place]:
    for number in _front_pages(material):
        if place := find(number, material.pieces[number]):
            yield place


def is_cover(pieces: Sequence[Piece]) -> bool:
    """Whether the page has no sentence that tells anything."""
    return not any(map(is_telling, pieces))


def _title_lines(pieces: Sequence[Piece]) -> tuple[int, int]:
    """The indexes of the first and the last line of the title: headings, or the lines of a cover."""
    skipped = len(list(takewhile(lambda piece: _MASTHEAD.search(piece.text), pieces)))
    first = skipped if skipped < len(pieces) else 0
    on_cover = is_cover(pieces)
    most = MAX_COVER_LINES if on_cover else MAX_TITLES
    last = first
    for index in range(first + 1, min(first + most, len(pieces))):
        piece = pieces[index]
        belongs = piece.kind == "heading" or (on_cover and _is_line(piece))
        if not belongs or _ends_title(piece.text):
            break
        last = index
    return first, last


def _ends_title(text: str) -> bool:
    is_other = ABSTRACT.match(text) or SECTION.match(text) or _MASTHEAD.search(text)
    return is_other is not None or _is_byline(text) or "@" in text


def _is_byline(text: str) -> bool:
    return _BYLINE.match(text[:LONGEST_BYLINE]) is not None


def _is_line(piece: Piece) -> bool:
    """Whether it is a short line rather than a sentence or a row."""
    is_part = piece.kind == "sentence" and not piece.is_whole
    return (piece.kind == "heading" or is_part) and len(piece.text.split()) <= MAX_TITLE_WORDS


def _authors(number: int, pieces: Sequence[Piece]) -> Place | None:
    for index, piece in enumerate(pieces[:FIRST_PIECES]):
        if _AUTHOR_LABEL.match(piece.text):
            return Place(number, index, index)
    first = _title_lines(pieces)[1] + 1
    below = pieces[first:FIRST_PIECES]
    lines = list(takewhile(lambda piece: _is_byline(piece.text), below[:MAX_AUTHOR_LINES]))
    if lines:
        return Place(number, first, first + len(lines) - 1)
    named = [index for index, piece in enumerate(below) if _is_line(piece) and _is_byline(piece.text)]
    if named:
        return Place(number, first + named[0], first + named[0])
    closing = next((i for i, piece in enumerate(pieces) if _CLOSING.match(piece.text)), len(pieces))
    has_name = closing < len(pieces) and _CLOSING.fullmatch(pieces[closing].text) is None
    last = closing if has_name else closing + 1
    return Place(number, closing, last) if last < len(pieces) else None


def _dates(number: int, pieces: Sequence[Piece]) -> Place | None:
    dated = [
        index
        for index, piece in enumerate(pieces[:FIRST_PIECES])
        if _DATE.search(piece.text) and not _PERIOD.search(piece.text)
    ]
    labelled = [index for index in dated if _DATE_LABEL.match(pieces[index].text)]
    stated = [index for index in dated if _DATED.search(pieces[index].text)]
    lines = [index for index in dated if _is_line(pieces[index]) or pieces[index].kind == "row"]
    found = next(iter([*labelled, *stated, *lines]), None)
    return None if found is None else Place(number, found, found)
