"""Parses sentences into tokens that code can compare: words, names, numbers with units, and negations."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from core.grounding.comparisons import RANGE, in_signs
from core.grounding.equal_words import SPELLED_OTHERWISE
from core.grounding.opposites import ALL_NEGATIONS, NEGATIONS, ORDINALS, QUANTIFIERS, SIDE_OF, UNIT_OF, denies
from core.grounding.signs import BEHIND_NUMBER, BOUNDS, MINUS, TICKS, Sign, bracket_sign, one_spelling
from core.text.normal_forms import normalized
from core.text.numbers import (
    AMBIGUOUS_NUMBER_WORDS,
    CURRENCIES,
    CURRENCY_SIGNS,
    NUMBER_WORDS,
    SCALE_ABBREVIATIONS,
    SCALES,
)
from core.text.terms import is_stop_word, stems, words

PREPOSITIONS = {
    word: preposition
    for prepositions in (
        "in on at from to by within under of for with without since until before after over between per"
        " into through during against among behind beside near",  # prose: data
        "im>in ins>in am>an zum>zu zur>zu vom>von beim>bei in an auf von nach bis seit aus bei mit für durch"
        " zu um ab unter über vor hinter neben zwischen ohne gegen je pro",
        "au>à aux>à du>de d>de de à en par pour dans sur sous chez avec sans depuis vers entre dès",
        "del>de al>a a con por para hasta desde sobre tras ante",
        "da van naar door voor",  # prose: data
    )
    for written in prepositions.split()
    for word, _, preposition in (written.partition(">"),)
    for preposition in (preposition or word,)
}
"""Prepositions, each as it is without the article that is joined to it: `im` is `in`."""
_ARTICLES = frozenset("a an".split())
"""English articles that are prepositions in other languages: `by a specialist`."""
AGENTS = frozenset("by durch par por door".split())  # prose: data
BEFORE_BEGINNING, BEFORE_END = frozenset("from von de".split()), frozenset("to auf à a".split())
"""Prepositions before the two numbers of a change."""
CONJUNCTIONS = frozenset("and & but while whereas or und aber während oder et mais ou y pero ma maar".split())
UNITS_LOOKED_AT = 2
CACHED_NUMBERS = 4096
CONTEXT = 12
"""Characters on each side of a number in brackets that show whether it is one of a row."""
CACHED_SENTENCES, LONGEST_CACHED = 256, 500
"""Sentences whose tokens are kept, because each check of a claim reads it again; and their characters."""
TIME_OF_DAY = r"(?<![\d:])\d\d?:\d\d(?![\d:])"
_LINE_END_HYPHEN = re.compile(r"(?<=[^\W\d_])[-\u2010\u00ad][^\S\n]*+\n\s*+(?=[^\W\d_])")
_BOUNDS = re.escape("".join(sign for sign in BOUNDS if len(sign) == 1))
_WORKING_DAYS = r"\b(?i:working|business)[\s-](?i:days?)\b"
_TOKEN = re.compile(
    rf"(?P<bound>(?<![-=<>])(?:[<>]=|[{_BOUNDS}])"
    rf"(?=\s?(?:[A-Z]{{3}}\s)?(?:[-\u2212(]?[{CURRENCY_SIGNS}]?\s?\d|(?:{'|'.join(NUMBER_WORDS)})\b)))"
    rf"|(?P<tick>[{TICKS}])|(?P<range>{RANGE})"
    r"|(?P<bracket>\(\s?)?"
    # With a blank behind it, a hyphen is a sign at the start of a cell or before degrees; elsewhere a dash.
    rf"(?:(?P<sign>(?<!\w)(?:(?:[-\u2212]|(?<!\d\s)[\u2010-\u2014])(?=[\d{CURRENCY_SIGNS}])|\u2212\s"
    r"|(?:(?<=[(|])|(?<=[(|]\s))-\s"
    r"|(?<![\d°CF]\s)[-\u2013]\s(?=\d+(?:[.,]\d+)?\s?°)|(?P<either>±|\+/-)\s?))?"
    rf"(?P<money>[{CURRENCY_SIGNS}]\s?)?|(?<=\w)-)"
    rf"(?P<digits>{TIME_OF_DAY}|(?>\d++(?:[.,'’]\d++)*))"
    rf"(?P<symbol>\s?[%‰{CURRENCY_SIGNS}](?!\s?\d))?(?(bracket)[\s|]{{0,3}}\))"
    rf"|(?P<word>{_WORKING_DAYS}|[^\W\d_]+(?:['’][^\W\d_]+)*|[{CURRENCY_SIGNS}]|(?<=\s)&(?=\s))|(?P<mark>[,;:()\u2013\u2014|.!?]|(?<=\s)-(?=\s))"
)
_FREE = frozenset({"free", "frei"})
"""Behind a hyphen, as in `gluten-free`, they negate."""
_NO_NAMES = QUANTIFIERS | SPELLED_OTHERWISE
"""Content words that are no names where they begin a sentence."""
_DASHES = frozenset("-\u2013\u2014")
_HYPHENS = frozenset("-\u2010\u2011")
_MAY_NAME = re.compile(r"[^\W\d_]|[A-Z]{2,3}")
_CODE = re.compile(r"[-\u2010\u2011]?\d")
_LAST_WORD = re.compile(r"([^\W\d_]+) $")
_LETTERS_OF_PARTS = frozenset("abcdef")
"""Directly behind a number: `§ 15a`. Later ones are units, as in `5m`."""
_ACRONYMS = frozenset({"IT", "UN", "US", "WHO"})
"""Those that are function words in small letters."""
_APOSTROPHE = re.compile(r"['’]")
_SYMBOLS = frozenset(CURRENCIES.values())
_SCALES = frozenset(SCALES.values())
_FIXED = _SYMBOLS | _SCALES
_UNSPACED_FROM = "\u0e00"


@dataclass(slots=True)
class Token:
    """One word, number or punctuation mark.

    `near` are the units of a number, `bound` is the meaning of a sign such as `<` before it. `after` is the
    preposition before a token, as in `by the client` (during parsing, the word itself), `written` its
    spelling in the sentence.
    `is_joined`: a hyphen joins it to the word before. `other_end` is the other number of a range.
    `zeros` are those after the decimal point that the stem of an amount does not have: `5.00`.
    `is_letter`: it names something even if its word is a function word: the `A` of `Class A`.
    """

    stem: str
    kind: str = "word"
    near: tuple[str, ...] = ()
    after: str = ""
    negates: bool = False
    breaks: str = ""
    is_name: bool = False
    written: str = ""
    sign: Sign = ""
    bound: str = ""
    is_joined: bool = False
    is_letter: bool = False
    zeros: int = 0
    other_end: str = ""

    @property
    def is_content(self) -> bool:
        """Whether it is a content word: no function word, punctuation mark or negation."""
        return bool(self.stem) and not self.negates and not self.breaks

    @property
    def is_function_word(self) -> bool:
        """Whether it is a word without content, such as `was` or `the`, that does not negate."""
        return self.kind == "word" and not self.stem and not self.negates and not self.breaks


Clause = list[Token]
"""The tokens of one clause, without the punctuation marks and conjunctions between clauses."""


def tokenize(text: str, language: str) -> Sequence[Token]:
    """The tokens of one sentence, including clause breaks and negations; callers do not change them."""
    return _cached_tokens(text, language) if len(text) <= LONGEST_CACHED else _tokens(text, language)


@lru_cache(CACHED_SENTENCES)
def _cached_tokens(text: str, language: str) -> Sequence[Token]:
    return _tokens(text, language)


def _tokens(text: str, language: str) -> list[Token]:
    clean = in_signs(normalized("NFKC", BEHIND_NUMBER.sub(" ", _LINE_END_HYPHEN.sub("", text))), language)
    read = [token for match in _TOKEN.finditer(clean) for token in _raw(match, clean)]
    raw = [each for each, before in zip(read, [None, *read], strict=False) if not _abbreviates(each, before)]
    stemmed = iter(stems([token.stem for token in raw if token.kind == "word"], language))
    for token in raw:
        if token.kind == "word":
            token.stem = next(stemmed)
    # The first word of a sentence is no name if it counts, or is a function word in any language.
    first = next((token for token in raw if token.kind != "mark"), None)
    if first and (is_stop_word(first.after) or first.after in _NO_NAMES):
        first.is_name = False
    for token in raw:
        if token.is_letter and not token.stem and token.kind == "word":
            token.stem, token.is_name = token.after, True
    _mark(raw, language)
    numbers = [index for index, token in enumerate(raw) if token.kind == "number"]
    _mark_signs(raw, numbers)
    _share_units(raw, numbers)
    _mark_bounds(raw)
    return [token for token in raw if token.kind != "range" and token.breaks != "-"]


def _abbreviates(token: Token, before: Token | None) -> bool:
    """Whether a token is the point of an abbreviation such as `Mio.`"""
    return token.breaks == "." and before is not None and before.after in SCALE_ABBREVIATIONS


def _raw(match: re.Match[str], text: str) -> Iterator[Token]:
    if match["digits"]:
        yield _number(match, text)
    elif match["mark"]:
        yield Token("", "mark", breaks=match["mark"])
    elif match["bound"]:
        yield Token(BOUNDS[match["bound"]], "bound", written=match["bound"])
    elif match["range"]:
        yield Token("", "range")
    elif match["tick"]:
        yield Token(one_spelling(match["tick"]), "tick")
    else:
        before = text[max(0, match.start() - 2) : match.start()]
        is_joined = before[1:] in _HYPHENS and before[0].isalnum()
        is_letter = _MAY_NAME.fullmatch(match["word"]) is not None and _names(match, text)
        for token in _raw_words(match["word"], text[match.end() : match.end() + 3]):
            token.is_joined, is_joined = is_joined, False
            token.is_letter = is_letter
            yield token


def _names(match: re.Match[str], text: str) -> bool:
    """Whether letters that can be a function word name something: `Class A`, `15a`, `(a)`, `the WHO`."""
    word, behind = match["word"], text[match.end() : match.end() + 2]
    before = text[max(0, match.start() - CONTEXT) : match.start()]
    if word.isupper() and (word in _ACRONYMS or _CODE.match(behind)):
        return True
    if len(word) > 1:
        return False
    if before[-1:].isdigit():
        return word.casefold() in _LETTERS_OF_PARTS
    if before[-1:] == "(" and behind[:1] == ")":
        return not before[-2:-1].isalpha()
    named = _LAST_WORD.search(before)
    return word.isupper() and named is not None and not is_stop_word(named[1].casefold())


def _number(match: re.Match[str], text: str) -> Token:
    symbol = (match["money"] or match["symbol"] or "").strip()
    near = (CURRENCIES[symbol],) if symbol else ()
    sign: Sign = "either" if match["either"] else "minus" if match["sign"] else ""
    written = match[0].strip("()| \n")
    if match["bracket"] and not sign:
        around = max(0, match.start() - CONTEXT), match.end() + CONTEXT
        sign = bracket_sign(written, text[around[0] : match.start()], text[match.end() : around[1]])
    return Token(plain_number(match["digits"]), "number", near, written=written, sign=sign)


@lru_cache(CACHED_NUMBERS)
def plain_number(digits: str) -> str:
    """A number in one spelling, as search spells it: `1,234.5` is `1234.5`; a list is its parts.

    A time of day has a point and no zeros that can be left out: `17:30` is `17.30`, `09:00` is `9`.
    """
    if ":" in digits:
        digits = re.sub(r"^0(?=\d)|:00$", "", digits).replace(":", ".")
    return digits if digits.isascii() and digits.isdigit() else " ".join(words(digits))


def _raw_words(written: str, following: str) -> Iterator[Token]:
    folded = written.casefold().replace("’", "'")
    if folded.endswith("n't"):
        yield Token(folded.removesuffix("n't") or "not", after=folded, negates=True)
        return
    if folded == "no" and re.match(r"\.\s?\d", following):
        return
    if folded.endswith(("day", "days")) and re.fullmatch(_WORKING_DAYS, written):
        yield Token("workdays", after="workdays", written=" ".join(written.split()))
        return
    if folded in CURRENCIES:
        yield Token(folded, after=folded, written=written)
        return
    for original, part in zip(_APOSTROPHE.split(written), folded.split("'"), strict=False):
        if part >= _UNSPACED_FROM:
            yield from (Token(pair, after=pair) for pair in words(part))
        elif part != "s" or written == "S":
            yield Token(part, after=part, is_name=original[0].isupper(), written=original)


def _mark(tokens: list[Token], language: str) -> None:
    """Mark negations, numbers with their units, opposites and names."""
    denied = NEGATIONS.get(language, ALL_NEGATIONS)
    spelled = [token.after for token in tokens]
    for index, token in enumerate(tokens):
        if (
            token.after in UNIT_OF
            and index
            and tokens[index - 1].kind == "number"
            and token.after not in SCALES
        ):
            token.stem = UNIT_OF[token.after]
    for index, token in enumerate(tokens):
        is_spelled = spelled[index] in NUMBER_WORDS
        if spelled[index] in AMBIGUOUS_NUMBER_WORDS:
            is_spelled = index + 1 < len(tokens) and bool(tokens[index + 1].stem)
        if token.kind == "number" or is_spelled:
            token.near += _units(tokens, spelled, index)
            signs = spelled[max(0, index - 2) : index]
            if signs and (signs[-1] in MINUS or (signs[0] in MINUS and signs[-1] in CURRENCIES)):
                token.sign = token.sign or "minus"
            if token.stem.count(".") == 1 and not _SYMBOLS.isdisjoint(token.near):
                shorter = token.stem.rstrip("0").rstrip(".")
                token.stem, token.zeros = shorter, len(token.stem) - len(shorter)
    preposition = ""
    for token, folded, behind in zip(tokens, spelled, [*spelled[1:], ""], strict=False):
        negates = denies(folded, behind) or (token.is_joined and folded in _FREE)
        token.negates = token.negates or negates
        _classify(token, folded, denied)
        token.is_name = token.is_name and token.kind == "word" and bool(token.stem)
        token.after = preposition
        if folded in PREPOSITIONS and not (language == "en" and folded in _ARTICLES):
            preposition = PREPOSITIONS[folded]
        elif (token.stem and folded not in ORDINALS) or token.breaks or token.negates:
            preposition = ""


def _share_units(tokens: Sequence[Token], numbers: Sequence[int]) -> None:
    """Give the first of two numbers the currency or scale of the second: `from 95 to 82 euros`."""
    for at, other in pairwise(numbers):
        first, second = tokens[at], tokens[other]
        is_next = other == at + 2 and tokens[at + 1].written.casefold() in BEFORE_END
        if is_next and first.after in BEFORE_BEGINNING and _FIXED.isdisjoint(first.near):
            first.near += tuple(unit for unit in second.near if unit in _FIXED)


def _mark_signs(tokens: Sequence[Token], numbers: Sequence[int]) -> None:
    """Read a dash, and brackets, as the sign of a number if they follow a function word: `was – EUR 138`.

    Behind other words a dash is one between clauses, and brackets can be an aside: `ten (10) members`.
    """
    for at in numbers:
        before = [each for each in tokens[max(0, at - 3) : at] if not _is_currency(each)][-2:]
        if not before:
            continue
        if tokens[at].sign == "aside" and before[-1].is_function_word:
            tokens[at].sign = "loss"
        elif before[-1].breaks in _DASHES and before[0].is_function_word:
            tokens[at].sign, before[-1].breaks = "minus", ""


def _is_currency(token: Token) -> bool:
    return not token.stem and token.written.casefold() in CURRENCIES


def _mark_bounds(tokens: Sequence[Token]) -> None:
    """Give each number the comparison before it, and each end of a range the other one.

    The code of a currency can be in between.
    """
    for index, token in enumerate(tokens):
        if token.kind not in ("bound", "range"):
            continue
        behind = next((each for each in tokens[index + 1 : index + 3] if each.kind == "number"), None)
        if behind and token.kind == "bound":
            behind.bound = token.stem
        elif behind and index and tokens[index - 1].kind == "number":
            tokens[index - 1].other_end, behind.other_end = behind.stem, tokens[index - 1].stem


def _classify(token: Token, folded: str, denied: frozenset[str]) -> None:
    if token.negates or folded in denied:
        token.stem, token.negates = "", True
    elif folded in CONJUNCTIONS and not token.is_letter:
        token.stem, token.breaks = "", "and"
    elif folded in CURRENCIES:
        token.stem = ""
    elif folded in NUMBER_WORDS or (token.near and token.kind == "word"):
        token.stem, token.kind = NUMBER_WORDS.get(folded, "1"), "number"
    elif folded in SIDE_OF:
        token.stem, token.kind = SIDE_OF[folded], "opposite"


def _units(tokens: list[Token], spelled: list[str], index: int) -> tuple[str, ...]:
    """The currency next to a number, its scale, or the words that follow it."""
    found: list[str] = []
    if index and (code := CURRENCIES.get(spelled[index - 1])):
        found.append(code)
    for at in range(index + 1, min(index + 1 + UNITS_LOOKED_AT, len(tokens))):
        token, folded = tokens[at], spelled[at]
        if token.breaks or token.kind in ("number", "bound") or not (token.stem or folded in CURRENCIES):
            break
        is_next_number = tokens[at + 1 : at + 2] and tokens[at + 1].kind == "number"
        belongs_to_next = found and (found[0] in _SYMBOLS or is_next_number)
        if folded not in CURRENCIES or not belongs_to_next:
            found.append(SCALES.get(folded) or CURRENCIES.get(folded) or token.stem)
    return tuple(found)


def matches(wanted: Token, found: Token) -> bool:
    """Whether a token of the page matches: a number needs its unit too, a name only its stem."""
    if wanted.stem != found.stem or (wanted.kind == "number") != (found.kind == "number"):
        return False
    if wanted.kind != "number":
        return True
    if _FIXED.intersection(wanted.near) != _FIXED.intersection(found.near):
        return False
    return not wanted.near or not found.near or bool(set(wanted.near) & set(found.near))
