"""What a question asks: its telling words, whether for a number, and which place of a document it names."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from core.search.periods import Period, find_periods
from core.search.vocabulary.lexicon import Meaning, Phrase, Vocabulary
from core.text.dates import find_dates
from core.text.terms import detect_language, question_words, words

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

_PAGE = re.compile(
    r"\b(?:page|p\.|pg\.?|slide|sheet|seite|folie|página|diapositiva|pagina|стр\.|страниц\w+)\s?(?:no\.?\s?|number\s)?(\d{1,4})\b"
    r"|第?\s?(\d{1,4})\s?(?:ページ|页|頁)|\b(\d{1,4})(?:st|nd|rd|th)\s+(?:page|slide)\b",
    re.IGNORECASE,
)
_PLACE = re.compile(
    r"\b(?:table|figure|fig\.?|section|chapter|appendix|note|item|exhibit|article|clause|part|step|equation|annex"
    r"|tabelle|abbildung|abschnitt|kapitel|anhang|tableau|chapitre|annexe|tabla|figura|sección|capítulo|tabella"
    r"|sezione|capitolo)\s?(?:\d{1,3}(?:\.\d{1,2})*[a-z]?|(?-i:[A-Z](?:\.\d{1,2})*|[IVX]{1,5}))\b",
    re.IGNORECASE,
)
_SHORT_FORMS = {"fig": "figure"}


class Question(NamedTuple):
    """A question as the ranking needs it.

    `words` are the telling ones in order; `meanings` say what it is about in the terms of a field, one for
    each vocabulary; `pages` and `places` (`table 4`, `section 4.2`, a date) are pointed at.
    """

    text: str
    words: list[str]
    numeric: bool
    periods: list[Period]
    pages: frozenset[int]
    places: list[Phrase]
    meanings: list[tuple[Vocabulary, Meaning]]


def parse_question(text: str, vocabularies: Sequence[Vocabulary], *, cleaned: bool = True) -> Question:
    """Take a question apart; without `cleaned`, instructions on how to answer count as what is asked."""
    periods = find_periods(text)
    kept = _PAGE.sub(" ", _INSTRUCTIONS.sub(" ", text)) if cleaned else text
    dates = find_dates(text)
    told = question_words(kept)
    spoken = words(kept)
    language = detect_language(spoken)
    meanings = [(vocabulary, vocabulary.understand(spoken, language)) for vocabulary in vocabularies]
    years = [str(period.year) for period in periods]
    return Question(
        text=text,
        words=[*told, *(word for word in [*dict.fromkeys(years), *dates] if word not in told)],
        numeric=_ASKS_FOR_NUMBER.search(text) is not None,
        periods=periods,
        pages=frozenset(int(number) for match in _PAGE.finditer(text) for number in match.groups() if number),
        places=[*(_place(match[0]) for match in _PLACE.finditer(text)), *((date,) for date in dates)],
        meanings=[(vocabulary, found) for vocabulary, found in meanings if found.concepts or found.kinds],
    )


def _place(text: str) -> Phrase:
    return tuple(_SHORT_FORMS.get(word, word) for word in words(text))
