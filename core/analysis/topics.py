"""The key phrases of a page."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

from core.analysis.document_context import DocumentContext
from core.analysis.page_text import WORD, Lexicon, is_plain, is_unspaced, plain_words

NOUNS_ARE_CAPITALISED = frozenset({"de"})
"""Languages that write every noun with a capital."""
MOST_TOPICS = 8
MOST_SAID_ONCE = 5
"""A page that repeats no phrase gets fewer topics: which phrases matter is then mostly a guess."""
LONGEST_PHRASE = 3
LONGEST_UNSPACED = 6
LONGEST_ACRONYM = 5
HEADING_BONUS = 1.5
LENGTH_GAIN = (0.9, 1.1, 0.9)
"""The weight of each word of a phrase, by the number of its words: two words are usually specific enough."""
EXTENDED_SHARE = (0.3, 0.7)
"""How often a phrase of one or two words must be part of a longer one to be shown as the longer one."""

_SPACED = "!-~\u00a1-\u0dff"
_BREAK = re.compile(
    rf"(?<![{_SPACED}])[!-/:-?A-~\u00a1-\u0dff]*[@\d][{_SPACED}]*|[^\w\s'’-]+|[_\d]+|\s[-–]\s"
)
"""Punctuation, and whole words with digits or an @ in scripts that have spaces."""
_PLAIN_BREAK = re.compile(r"(?<![!-~])[!-/:-?A-~]*+[@\d][!-~]*|[^\w\s'’-]+|[_\d]+|\s[-–]\s")
"""The matches of _BREAK in plain text, found faster: no digit is among the characters before it."""
_UNSPACED_PART = re.compile("[\u30a0-\u30ff\u3005\u4e00-\u9fff\u3400-\u4dbf]{2,}|[\uac00-\ud7af]{2,}")
_CHINESE_FUNCTION = re.compile(
    "[的了在是和与及或为之等对中有不也我你他她它们这那以而被把从到就都其并上下后前个]+"
)
_KOREAN_ENDING = re.compile(
    "(?:으로|에서|에게|까지|부터|입니다|합니다|하는|은|는|이|가|을|를|의|에|로|와|과|도)$"
)
_NO_TOPIC_ALONE = ("ly", "ed", "mente", "ment")
_NO_LAST_WORD = ("ly", "ed", "mente")
"""Endings of adverbs and participles; German ones are recognised by their lower case."""

Phrase = tuple[str, ...]
"""The terms or the words of a phrase."""
_STOP = "\n"
"""Separates phrases in a list of words."""


class _Uses(dict[Phrase, list[Phrase]]):
    """The spellings of each phrase, once for each time that it occurs; `headed` has those in headings."""

    def __init__(self) -> None:
        super().__init__()
        self.headed: dict[Phrase, list[Phrase]] = {}
        self._usual: dict[Phrase, Phrase] = {}

    def __missing__(self, phrase: Phrase) -> list[Phrase]:
        spellings: list[Phrase] = []
        self[phrase] = spellings
        return spellings

    def weight(self, phrase: Phrase) -> float:
        in_headings = len(self.headed.get(phrase, ()))
        return len(self[phrase]) - in_headings + HEADING_BONUS * in_headings

    def is_in_text(self, phrase: Phrase) -> bool:
        return len(self[phrase]) > len(self.headed.get(phrase, ()))

    def spelling(self, phrase: Phrase) -> Phrase:
        """The most frequent one, of those in sentences if there are any."""
        spellings = self[phrase]
        if spellings.count(spellings[0]) == len(spellings):
            return spellings[0]
        if phrase not in self._usual:
            counted = Counter(spellings)
            if self.is_in_text(phrase):
                counted.subtract(self.headed.get(phrase, ()))
            self._usual[phrase] = max(counted, key=lambda words: (counted[words], words))
        return self._usual[phrase]


def find_topics(
    pieces: Iterable[tuple[str, bool]], context: DocumentContext, language: str, lexicon: Lexicon
) -> list[str]:
    """The key phrases of a page, best first.

    `pieces` are the page's sentences, items and headings, each with whether it is a heading.
    """
    uses = _Uses()
    for text, is_heading in pieces:
        for phrase, words in _phrases(text, lexicon):
            uses[phrase].append(words)
            if is_heading:
                uses.headed.setdefault(phrase, []).append(words)
    rarity = {phrase[0]: context.rarity(phrase[0]) for phrase in uses if len(phrase) == 1}
    scores = {
        phrase: uses.weight(phrase) * sum(map(rarity.__getitem__, phrase)) * _length_gain(phrase)
        for phrase in uses
    }
    best_first = sorted(scores, key=scores.__getitem__, reverse=True)
    ranked = (phrase for phrase in best_first if _is_fit(phrase, uses, context, language))
    chosen = _choose(ranked, uses, _extensions(uses, context, language))
    return [_readable(phrase, uses, context, language) for phrase in chosen]


def _length_gain(phrase: Phrase) -> float:
    if len(phrase) == 1 and not phrase[0].isascii() and is_unspaced(phrase[0]):
        return len(phrase[0]) - 1
    return LENGTH_GAIN[len(phrase) - 1]


def _phrases(text: str, lexicon: Lexicon) -> Iterator[tuple[Phrase, Phrase]]:
    """Every run of up to LONGEST_PHRASE words with terms: the terms, and the spelling."""
    words: list[str] = []
    is_spaced = not is_unspaced(text)
    for part in (_PLAIN_BREAK if is_plain(text) else _BREAK).split(text):
        if is_spaced or not is_unspaced(part):
            words += plain_words(part)
        else:
            yield from (((word,), (word,)) for word in _unspaced(part))
            words += [word for word in WORD.findall(part) if not is_unspaced(word)]
        words.append(_STOP)
    found = [lexicon[word] for word in words]
    start = 0
    for end, (word, term) in enumerate(zip(words, found, strict=True)):
        if not term or len(word) < 2:
            start = end + 1
            continue
        for first in range(max(start, end + 1 - LONGEST_PHRASE), end):
            yield (*found[first : end + 1],), (*words[first : end + 1],)
        yield (term,), (word,)


def _unspaced(text: str) -> Iterator[str]:
    """Candidate words: Korean ones without their endings, and all short runs of Chinese characters.

    Runs that are repeated are words or phrases; katakana is treated the same way.
    """
    for run in _UNSPACED_PART.findall(text):
        if run >= "\uac00":
            yield from (word for word in [_KOREAN_ENDING.sub("", run)] if len(word) > 1)
            continue
        for part in _CHINESE_FUNCTION.split(run):
            longest = min(len(part), LONGEST_UNSPACED)
            yield from (
                part[at : at + size] for size in range(2, longest + 1) for at in range(len(part) - size + 1)
            )


def _is_fit(phrase: Phrase, uses: _Uses, context: DocumentContext, language: str) -> bool:
    """Whether a phrase can be a topic: it ends in a noun, and is not a single word that occurs once."""
    if len(set(phrase)) < len(phrase):
        return False
    words = uses.spelling(phrase)
    last = words[-1]
    if language in NOUNS_ARE_CAPITALISED and last[0].islower():
        return False
    if len(words) == 1:
        is_repeated_or_name = uses.weight(phrase) > 1 or context.is_name(last)
        return is_repeated_or_name and not last.endswith(_NO_TOPIC_ALONE)
    return not last.endswith(_NO_LAST_WORD) and not words[0].endswith("ly")


def _choose(ranked: Iterable[Phrase], uses: _Uses, longer: Mapping[Phrase, Phrase]) -> list[Phrase]:
    """The best phrases; none of them is part of another or has mostly the same words."""
    chosen: list[Phrase] = []
    for phrase in ranked:
        longest = phrase
        while longest in longer:
            longest = longer[longest]
        is_late = len(uses[longest]) == 1 and len(chosen) >= MOST_SAID_ONCE
        if not is_late and not any(_overlap(longest, other) for other in chosen):
            chosen.append(longest)
        if len(chosen) == MOST_TOPICS:
            break
    return chosen


def _extensions(uses: _Uses, context: DocumentContext, language: str) -> dict[Phrase, Phrase]:
    """The phrases that mostly occur as part of a phrase one word longer, with that phrase."""
    found: dict[Phrase, Phrase] = {}
    for longer, spellings in uses.items():
        count = len(spellings)
        if count < 2 or len(longer) < 2 or not _is_fit(longer, uses, context, language):
            continue
        for part in (longer[:-1], longer[1:]):
            is_usual = count >= EXTENDED_SHARE[len(part) - 1] * len(uses[part])
            if is_usual and (part not in found or count > len(uses[found[part]])):
                found[part] = longer
    return found


def _overlap(one: Phrase, other: Phrase) -> bool:
    if len(one) == len(other) == 1 and is_unspaced(one[0]):
        return any(pair in other[0] for pair in map("".join, pairwise(one[0])))
    shared = len(set(one) & set(other))
    return shared > 0 and shared >= min(len(one), len(other)) / 2


def _readable(phrase: Phrase, uses: _Uses, context: DocumentContext, language: str) -> str:
    """The most frequent spelling; capitals that come from a heading or a sentence's start are removed."""
    words = uses.spelling(phrase)
    spelling = " ".join(words)
    if spelling.isupper():
        is_acronym = len(words) == 1 and len(spelling) <= LONGEST_ACRONYM
        return spelling if is_acronym else spelling.lower()
    is_name = uses.is_in_text(phrase) and len(words) > 1 and all(word[0].isupper() for word in words)
    if is_name or language in NOUNS_ARE_CAPITALISED:
        return spelling
    lowered = 1 if uses.is_in_text(phrase) else len(words)
    return " ".join(
        word.lower() if place < lowered and not context.is_name(word) and word[1:].islower() else word
        for place, word in enumerate(words)
    )
