"""References on a page (tables, figures, sections, appendices, pages, links) and the pages they lead to."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from core.analysis.models import AnchorKind
from core.analysis.page_text import LONGEST_READ, masked
from core.models import Page
from core.text.headings import find_headings

LEAST_CONTENTS = 8
"""A page with at least so many titles is a table of contents."""
CONTENTS_RANK = 4
LISTED_RANK = 2
LONGEST_LEAD = 20
"""Characters before a page number that can show that it is a reference."""

_WORDS: tuple[tuple[AnchorKind, str], ...] = (
    ("table", r"tables?|tab\.|tabellen?|tablas?|tableaux?|tabell[ae]|tabelas?"),
    ("figure", r"figures?|figs?\.|abbildung(?:en)?|abb\.|figuras?|gráficos?|figur[ae]|chart|exhibit"),
    (
        "section",
        r"sections?|sect?\.|chapters?|appendix|appendices|annex|schedule|articles?|clauses?|notes?|items?|part"
        r"|abschnitte?s?|kapitel|anhang|anlage|artikel|ziffer|secci(?:ó|o)n(?:es)?|capítulos?|anexo|artículos?"
        r"|chapitres?|annexe|sezion[ei]|capitol[oi]|seção",
    ),
    ("page", r"pages?|pp?\.|seiten?|páginas?|págs?\.|pagin[ae]"),
)
_NUMBER = r"(?:\d{1,4}(?:\.\d{1,3}){0,4}|[A-Z](?:\.\d{1,3}){0,3}|[IVX]{2,5})(?![\w%]|[.,]\d)"
_CITED = "|".join(rf"(?P<{kind}>(?i:{words}))" for kind, words in _WORDS)
_BEFORE_NUMBER = r"(?=[^\W\d_]{1,20}+(?:(?<=[A-Z])|\.?\s{0,2}[\dA-Z]))"
"""Most words are not in front of a number or a capital: that takes less time than all the names of places."""
_REFERENCE = re.compile(rf"(?<!\w){_BEFORE_NUMBER}(?:{_CITED})\s{{0,2}}(?P<number>{_NUMBER})")
_NUMBERING = re.compile(r"\d|\s[A-Z](?!\w)|\s[IVX]{2}")
_UNSPACED_REFERENCE = re.compile(
    r"(?:(?P<table>表|표)|(?P<figure>[図图圖]|그림))\s?(?P<number>\d{1,3})"
    r"|第\s?(?P<place>\d{1,4})\s?(?:(?P<section>[章節节条條])|(?P<page>[页頁]))"
)
_LEADS_TO_PAGE = re.compile(r"\b(?:see|on|to|of|from|and|auf|siehe|véase|la|voir|à|cf\.?)\s(?:the\s)?$", re.I)
_CAPTION = re.compile(rf"^[ \t#*|]*(?:{_CITED})\s{{0,2}}(?P<number>{_NUMBER})(?P<after>.*)$", re.M)
_CAPTION_MARK = re.compile(r"\s*(?:[:.|\u2013\u2014-]|\*\*|$)")
_TITLE_FOLLOWS = re.compile(r"\s+[^\W\d_]")
_NUMBERED = re.compile(
    r"^[ \t#*]*(\d{1,2}(?:\.\d{1,3}){0,4}|[A-Z](?:\.\d{1,3}){0,3})\.?\s+([^\W\d_].{2,85})$", re.M
)
_LISTED = re.compile(r"(?:\.\.|…|\s)\d{1,4}\s*$")
"""How a line of a table of contents ends."""

_SECTION_WORDS = ("sect", "sec.", "absc", "secc", "sezi", "seçã", "ziff")
_CHAPTER_WORDS = ("chap", "kapi", "capí", "capi")


_LINK = re.compile(
    r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,6}"
    r"|(?P<url>\b(?:https?://|www\.)[^\s<>\"“”'’)\]]{3,300})",
    re.I,
)
"""A web address. E-mail addresses are matched first, so that no part of them is taken for one."""


class Target(NamedTuple):
    """What a caption and its references share: `table`, `figure`, `page` or a section word, and a number."""

    family: str
    number: str


class Reference(NamedTuple):
    """The characters `start` to `end` of a text refer to `target`."""

    start: int
    end: int
    kind: AnchorKind
    text: str
    target: Target


def find_references(text: str) -> Iterator[Reference]:
    """The references in a sentence: first those in scripts with spaces, then those in scripts without."""
    for match in _REFERENCE.finditer(text) if _NUMBERING.search(text) else ():
        word, number = match[0][: match.start("number") - match.start()].strip(), match["number"]
        kind = _kind(match)
        leads_somewhere = kind != "page" or _LEADS_TO_PAGE.search(
            text, max(0, match.start() - LONGEST_LEAD), match.start()
        )
        if leads_somewhere and (number[0].isdigit() or word[0].isupper()):
            yield _reference(match, kind, Target(_family(kind, word), number.rstrip(".")))
    if not text.isascii():
        for match in _UNSPACED_REFERENCE.finditer(text):
            kind, number = _kind(match), match["number"] or match["place"]
            yield _reference(match, kind, Target(kind, number))


def find_links(text: str) -> Iterator[str]:
    """The web addresses in a text, in order, without the punctuation that follows them."""
    if "://" in text or "www." in text.lower():
        for match in _LINK.finditer(text):
            if match["url"]:
                yield match["url"].rstrip(".,;:!?")


def is_caption(line: str) -> bool:
    """Whether a line is the title of a table, figure or section and not a reference to it."""
    match = _CAPTION.match(line)
    return match is not None and _CAPTION_MARK.match(match["after"]) is not None


def find_targets(pages: Sequence[Page], running: Collection[str]) -> dict[Target, int]:
    """The page on which each table, figure and section has its caption or heading."""
    best: dict[Target, tuple[int, int]] = {}
    for page in pages:
        titles = list(_titles(page.text[:LONGEST_READ], running))
        is_contents = CONTENTS_RANK * (len(titles) >= LEAST_CONTENTS)
        for target, rank in ((target, rank + is_contents) for target, rank in titles):
            best[target] = min(best.get(target, (rank, page.number)), (rank, page.number))
    targets = {target: place for target, (_, place) in best.items()}
    if not {Target("letter", "A"), Target("letter", "B")} <= targets.keys():
        return {target: place for target, place in targets.items() if target.family != "letter"}
    return targets


def resolve(target: Target, targets: Mapping[Target, int]) -> int | None:
    """The page of a target; chapters and appendices may be numbered headings without the word."""
    known = [target]
    if target.family[:4] in _CHAPTER_WORDS:
        known.append(Target("section", target.number))
    if not target.number[0].isdigit():
        known.append(Target("letter", target.number))
    return next((targets[each] for each in known if each in targets), None)


def _titles(text: str, running: Collection[str]) -> Iterator[tuple[Target, int]]:
    """Titles with a rank: 0 for a certain title, more if it may be a sentence or part of a list of titles."""
    for match in _CAPTION.finditer(text):
        after, kind = match["after"], _kind(match)
        if masked(match[0]) in running or kind == "page":
            continue
        is_marked = _CAPTION_MARK.match(after) is not None
        if is_marked or (_TITLE_FOLLOWS.match(after) and after.lstrip()[0].isupper()):
            word = match[0][: match.start("number") - match.start()].strip(" \t#*|")
            rank = LISTED_RANK * (_LISTED.search(after) is not None) + (not is_marked)
            yield Target(_family(kind, word), match["number"]), rank
    for match in _NUMBERED.finditer(text):
        if masked(match[0]) not in running and find_headings(match[0].strip()):
            family = "section" if match[1][0].isdigit() else "letter"
            yield Target(family, match[1]), LISTED_RANK * (_LISTED.search(match[0]) is not None)


def _family(kind: AnchorKind, word: str) -> str:
    if kind != "section":
        return kind
    start = word.casefold()[:4]
    return "section" if start in _SECTION_WORDS else start


def _kind(match: re.Match[str]) -> AnchorKind:
    kinds: tuple[AnchorKind, ...] = ("table", "figure", "section", "page")
    return next(kind for kind in kinds if match[kind])


def _reference(match: re.Match[str], kind: AnchorKind, target: Target) -> Reference:
    return Reference(match.start(), match.end(), kind, " ".join(match[0].split()), target)
