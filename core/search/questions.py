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

_INSTRUCTIONS = re.compile(
    r"\b(?:please\s+)?(?:answer|respond|reply)\s+(?:to\s+)?(?:the|this|my)\s+question\b"
    r"|\b(?:give|provide)\s+(?:me\s+)?(?:a|an|your|the)\s+(?:(?:short|brief|concise|detailed)\s+)?(?:response|answer)"
    r"(?:\s+to\s+the\s+question)?\b"
    r"|\b(?:by\s+)?(?:relying|based|drawing)\s+(?:primarily\s+|only\s+|solely\s+)?(?:up)?on\s+the"
    r"\s+(?:details|information|data|figures)(?:\s+(?:shown|given|provided|presented|stated|found))?(?:\s+(?:in|within))?"
    r"|\b(?:using|use)\s+(?:only\s+)?the\s+(?:details|information|data)\s+(?:shown|given|provided|presented)(?:\s+in)?"
    r"|\b(?:and\s+)?round(?:ed)?\s+(?:your\s+answer\s+|the\s+answer\s+|the\s+result\s+)?(?:off\s+)?to\s+(?:the\s+nearest\s+)?"
    r"(?:\w+\s+(?:decimal|digit|significant)\w*(?:\s+(?:places?|points?|figures?|digits?))?|\w+)"
    r"|\b(?:(?:answer|report|express|state)\w*\s+)?(?:the\s+)?(?:\w+\s+)?(?:in|as)\s+(?:units\s+of\s+)?"
    r"(?:us\s?d(?:ollars?)?|usd|eur|gbp|\$)\s*(?:in\s+)?(?:thousands?|millions?|billions?)\b"
    r"|\bif\s+(?:this|that|the|it)\b[^.?!]{0,80}\b(?:not|isn't)\s+(?:\w+\s+)?(?:meaningful|useful|relevant|applicable|available)"
    r"[^.?!]*"
    r"|\b(?:assume|imagine|pretend|suppose)\s+(?:that\s+)?you\s+(?:are|were|only)\b[^.,?!]*"
    r"|\byou\s+are\s+an?\s+(?:\w+\s+){0,3}(?:analyst|expert|assistant|lawyer|accountant)\b"
    r"|\bfrom\s+the\s+perspective\s+of\b|\bthink\s+step\s+by\s+step\b",
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
    spoken = words(text)
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
        meanings=[(vocabulary, found) for vocabulary, found in meanings if found.concepts],
    )


def _place(text: str) -> Phrase:
    return tuple(_SHORT_FORMS.get(word, word) for word in words(text))
