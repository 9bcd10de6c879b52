"""Takes questions apart: their words, the periods and places they name, and whether they ask for a number."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from orc_core.search.vocabulary import Phrase, QueryExpansion, Vocabulary
from orc_core.text.numbers import find_dates
from orc_core.text.parts import pages_named, without_pages
from orc_core.text.terms import detect_language, has_digit, question_words, words

CENTURY_TURN = 70
COVER_CHARACTERS = 3000

_YEAR = (
    r"(?:fy\s?['’]?|fiscal(?:\s+year)?\s+|year\s+)?['’]?(?P<year{0}>(?:19|20)\d\d|(?<=fy)\d\d|(?<=['’])\d\d)"
)
_GAP = r"[\s,/_-]*(?:of\s+|in\s+|the\s+|de\s+|du\s+|del\s+|des\s+)*"
_ORDINALS = {
    **dict.fromkeys(("first", "1st", "erstes", "ersten", "premier", "primer", "primo", "primeiro"), 1),
    **dict.fromkeys(("second", "2nd", "zweites", "zweiten", "deuxième", "segundo", "secondo"), 2),
    **dict.fromkeys(("third", "3rd", "drittes", "dritten", "troisième", "tercer", "terzo", "terceiro"), 3),
    **dict.fromkeys(("fourth", "4th", "viertes", "vierten", "quatrième", "cuarto", "quarto"), 4),
}
_QUARTER = (
    r"(?:(?:q|quarter\s)\s?(?P<after{0}>[1-4])(?!\d)|(?<![\w.])(?P<before{0}>[1-4])q(?![a-z])"
    rf"|\b(?P<ordinal{{0}}>{'|'.join(_ORDINALS)})\s+(?:fiscal\s+)?(?:quarter|quartal|trimest\w+))"
)
_SHORT_YEAR = r"['’]?(?P<short{0}>\d\d)(?!\d)"
_PERIOD = re.compile(
    "|".join(
        (
            _QUARTER.format(1) + _GAP + "(?:" + _YEAR.format(1) + r"(?!\d)|" + _SHORT_YEAR.format(1) + ")",
            r"(?<!\d)" + _YEAR.format(2) + _GAP + _QUARTER.format(2),
            r"(?<![\d.,])(?P<from>(?:19|20)\d\d)\s?[/–]\s?(?P<to>\d\d)(?!\d)",
            r"(?<![\d.,])(?P<dated>(?:19|20)\d\d)(?:[01]\d[0-3]\d)?(?!\d|[.,]\d)",
            r"(?<![a-z])fy\s?['’]?(?P<fiscal>\d\d)(?!\d)",
        )
    )
)

_ENDED = re.compile(
    r"(?:year|quarter|quarterly period|months|period)\s+end(?:ed|ing)"
    r"[^\d]{0,20}(?:\d{1,2}\D{1,12})?(?P<year>(?:19|20)\d\d)"
    r"|(?:annual report|geschäftsbericht|jahresabschluss|geschäftsjahr|rapport annuel|exercice"
    r"|memoria anual|informe anual|ejercicio|relazione annuale|bilancio|relatório anual|jaarverslag)"
    r"\D{0,40}(?P<report>(?:19|20)\d\d)",
)

_ASKS_FOR_NUMBER = re.compile(
    r"\bhow (?:much|many|large|big|high|low|old|long|often)\b"
    r"|\b(?:amounts?|average|changed?|decreased?|difference in|growth|grow|grew|increased?|margin|number of"
    r"|percent|percentage|price|rate|ratio|revenue|sum|total)\b"
    r"|\bwie ?(?:viele?|hoch|groß|lange|alt)\b|\bcuánt[oa]s?\b|\bcombien\b|\bquant[oaie]\b|\bquant[oa]s\b"
    r"|\bhoeveel\b|\bсколько\b|多少|几|何(?:人|年|個|円)|いくつ|いくら|얼마|몇",
    re.IGNORECASE,
)

_SHOWN = r"(?:shown|given|provided|presented|stated|found|contained|reported)"
_DETAILS = (
    r"(?:details|information|data|figures|numbers|line\s+items)(?:\s+and\s+(?:details|information|figures))?"
)
_ROLE = (
    r"an?\s+(?:\w+\s+){0,3}"
    r"(?:analyst|banker|investor|accountant|auditor|expert|lawyer|advis[eo]r|consultant|assistant)"
)

_INSTRUCTIONS = re.compile(
    rf"\b(?:act|answer|respond|reply|speak|think)\w*\s+(?:to\s+the\s+question\s+)?(?:as|like)\s+{_ROLE}\b"
    r"|\b(?:please\s+)?(?:answer|respond|reply|address|approach)\s+(?:to\s+)?(?:the|this|my)\s+question(?:\s+asked)?\b"
    r"|\b(?:give|provide)\s+(?:me\s+)?(?:a|an|your|the)\s+(?:(?:short|brief|concise|detailed)\s+)?(?:response|answer)"
    r"(?:\s+to\s+the\s+question)?\b"
    rf"|\b(?:by\s+)?(?:relying|based|drawing|base\s+(?:your|the)\s+\w+)\s+(?:primarily\s+|only\s+|solely\s+)?(?:up)?on"
    rf"\s+the\s+{_DETAILS}(?:\s+{_SHOWN})?(?:\s+(?:primarily|only|mainly))?(?:\s+(?:in|within|by))?"
    rf"|\b(?:by\s+)?(?:using|use|utilizing)\s+(?:only\s+)?the\s+{_DETAILS}(?:\s+{_SHOWN})?\s+(?:in|within|from|of|by)"
    r"|\bbase\s+(?:your|the)\s+\w+\s+on\b"
    r"|\b(?:and\s+)?round(?:ed)?\s+(?:your\s+answer\s+|the\s+answer\s+|the\s+result\s+)?(?:off\s+)?to\s+(?:the\s+nearest\s+)?"
    r"(?:\w+\s+(?:decimal|digit|significant)\w*(?:\s+(?:places?|points?|figures?|digits?))?|\w+)"
    r"|\b(?:runden?|gerundet)\b[^.?!,]{0,20}(?:dezimal|nachkomma|komma)stellen?"
    r"|\barrondi\w*\b[^.?!,]{0,20}décimales?|\bredonde\w*\b[^.?!,]{0,20}decimal(?:es)?"
    r"|\b(?:(?:answer|report|express|state)\w*\s+)?(?:(?:the\s+)?(?:answer|amount|result|figure|value|it)\s+)?"
    r"(?:in|as)\s+(?:units\s+of\s+)?(?:us\s?d(?:ollars?)?|usd|eur|gbp|\$)\s*(?:in\s+)?(?:thousands?|millions?|billions?)\b"
    r"|\bif\s+(?:this|that|the|it)\b[^.?!]{0,80}\b(?:not|isn't)\s+(?:an?\s+)?(?:\w+\s+)?"
    r"(?:meaningful|useful|relevant|applicable|available)[^.?!]*"
    r"|\b(?:a\s+)?(?:reasonable|rough|good)\s+(?:approximation|estimate)"
    r"(?:\s*\(?\s*or\s+(?:an?\s+|the\s+)?exact\s+(?:number|figure|value)(?:\s+if\s+possible)?\)?)?"
    rf"|\b(?:(?:assume|imagine|pretend|suppose)\s+(?:that\s+)?|as\s+if\s+)?you\s+(?:are|were)\s+{_ROLE}\b"
    rf"|\b(?:from\s+the\s+(?:perspective|standpoint|viewpoint|point\s+of\s+view)|(?:in|take)\s+the\s+role)\s+of(?:\s+{_ROLE})?\b"
    r"|\b(?:assume|imagine|pretend|suppose)\s+(?:that\s+)?you\s+only\s+have\s+access\s+to\b"
    r"|\b(?:with|who\s+has|who\s+have|you\s+have|has|have)\s+(?:only\s+access|access\s+only)\s+to\b"
    r"|\bwho\s+(?:only\s+has\s+access\s+to|can\s+only\s+see)\b"
    r"|\b(?:and\s+)?your\s+(?:goal|task|job)\s+is\s+to\b|\bthink\s+step\s+by\s+step\b",
    re.IGNORECASE,
)

_PLACE = re.compile(
    r"\b(?:table|figure|fig\.?|section|chapter|appendix|note|item|exhibit|article|clause|part|step|equation|annex"
    r"|tabelle|abbildung|abschnitt|kapitel|anhang|tableau|chapitre|annexe|tabla|figura|sección|capítulo|tabella"
    r"|sezione|capitolo)\s?(?:\d{1,3}(?:\.\d{1,2})*[a-z]?|(?-i:[A-Z](?:\.\d{1,2})*|[IVX]{1,5}))\b",
    re.IGNORECASE,
)
_SHORT_FORMS = {"fig": "figure"}


class Period(NamedTuple):
    """A year, or one of its quarters; quarter 0 is the whole year."""

    year: int
    quarter: int = 0


def find_periods(text: str) -> list[Period]:
    """The distinct periods that a text names, in order: `FY22`, `Q3 2023`, `3Q23`, `2023_Q1`, `2021/22`."""
    if not has_digit(text):
        return []
    folded = text.casefold().replace("_", " ")
    return list(dict.fromkeys(_period(match) for match in _PERIOD.finditer(folded)))


def cover_period(text: str) -> Period | None:
    """The period that a document reports on, from the text of its first page; None if it names none."""
    cover = " ".join(text[:COVER_CHARACTERS].casefold().split())
    periods = find_periods(cover)
    quarter = next((period.quarter for period in periods if period.quarter), 0)
    if match := _ENDED.search(cover):
        return Period(int(match["year"] or match["report"]), quarter)
    named = Counter(period.year for period in periods)
    return Period(max(named, key=lambda year: (named[year], year)), quarter) if named else None


def _period(match: re.Match[str]) -> Period:
    found = {name: value for name, value in match.groupdict().items() if value}
    quarters = [found[name] for name in found if name.startswith(("ordinal", "after", "before"))]
    return Period(_year(found), _ORDINALS.get(quarters[0]) or int(quarters[0]) if quarters else 0)


def _year(found: dict[str, str]) -> int:
    if "to" in found:
        start = int(found["from"])
        return start - start % 100 + int(found["to"])
    named = next(found[name] for name in ("year1", "short1", "year2", "dated", "fiscal") if name in found)
    if len(named) == 4:
        return int(named)
    return (1900 if int(named) >= CENTURY_TURN else 2000) + int(named)


class Question(NamedTuple):
    """A question as the ranking needs it.

    `words` are the significant ones, in order. It names `pages` and `places` (`table 4`, `section 4.2`, a
    date). `expansions` come from the vocabularies of domains.
    """

    text: str
    words: list[str]
    is_numeric: bool
    periods: list[Period]
    pages: frozenset[int]
    places: list[Phrase]
    expansions: list[QueryExpansion]


def parse_question(
    text: str, vocabularies: Sequence[Vocabulary] = (), *, without_instructions: bool = True
) -> Question:
    """Take a question apart, without its instructions on how to answer, and expand it by vocabularies."""
    periods = find_periods(text)
    asked = _INSTRUCTIONS.sub(" ", text) if without_instructions else text
    pages = pages_named(text) if has_digit(text) else []
    if pages:
        asked = without_pages(asked)
    dates = find_dates(text)
    significant = question_words(asked)
    spelled = words(asked)
    language = detect_language(spelled)
    expansions = [vocabulary.expand(spelled, language) for vocabulary in vocabularies]
    years = [str(period.year) for period in periods]
    known = set(significant)
    places = [tuple(_SHORT_FORMS.get(w, w) for w in words(match[0])) for match in _PLACE.finditer(text)]
    return Question(
        text=text,
        words=[*significant, *(word for word in [*dict.fromkeys(years), *dates] if word not in known)],
        is_numeric=_ASKS_FOR_NUMBER.search(text) is not None,
        periods=periods,
        pages=frozenset(pages),
        places=list(dict.fromkeys([*places, *((date,) for date in dates)])),
        expansions=[expansion for expansion in expansions if expansion],
    )
