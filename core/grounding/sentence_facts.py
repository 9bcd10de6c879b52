"""Parses sentences into what code can compare: words, names, numbers with units, opposites, negations."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise, zip_longest

from core.grounding.comparisons import RANGE, in_signs
from core.grounding.opposites import (
    ALL_NEGATIONS,
    CONDITIONS,
    DENIALS,
    MAYBE,
    NEGATIONS,
    PREFIXES,
    QUALIFIERS,
    QUANTIFIERS,
    SIDE_OF,
    Sides,
    sides_of,
)
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
from core.text.terms import DEFAULT_LANGUAGE, is_stop_word, stems, words

PREPOSITIONS = frozenset(
    "in on at from to by within about under of for with since until before after over between per "
    "von nach bis seit aus bei mit für durch de à au en par pour a con per da"
    " van naar door voor".split()  # prose: data
)
AGENTS = frozenset("by durch par por door".split())  # prose: data
CONJUNCTIONS = frozenset("and but while whereas or und aber während oder et mais ou pero ma maar".split())
_JOINING = dict.fromkeys("and und et y e en".split(), "and") | dict.fromkeys("or oder ou o of".split(), "or")
_RATES = frozenset("a an per each every je pro par por".split())

LEAST_IN_SENTENCE = 3
"""Words before a point that is no abbreviation."""
UNITS_LOOKED_AT = 2
CACHED_NUMBERS = 4096
LEAST_IN_ROW = 3
"""Fewer numbers occur together by chance."""
CONTEXT = 12
"""Characters on each side of a number in brackets that show whether it is one of a row."""
BEGINNING, CUT_TOKENS = 1000, 5
"""Characters in which nearly every text has a content word, and tokens that may differ where it is cut."""
CACHED_SENTENCES, LONGEST_CACHED = 256, 500
"""Sentences whose tokens are kept, because each check of a claim reads it again; and their characters."""
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
    rf"(?P<money>[{CURRENCY_SIGNS}]\s?)?|(?<=\w)-)(?P<digits>\d++(?:[.,'’]\d++)*+)"
    rf"(?P<symbol>\s?[%‰{CURRENCY_SIGNS}](?!\s?\d))?(?(bracket)[\s|]{{0,3}}\))"
    rf"|(?P<word>{_WORKING_DAYS}|[^\W\d_]+(?:['’][^\W\d_]+)*|[{CURRENCY_SIGNS}])|(?P<mark>[,;:()\u2013\u2014|.!?])"
)
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
_UNSPACED_FROM = "\u0e00"


@dataclass(slots=True)
class Token:
    """One word, number or punctuation mark.

    `near` are the units of a number, `bound` is the meaning of a sign such as `<` before it. `after` is the
    preposition before a token (during parsing, the word itself), `written` its spelling in the sentence.
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


Clause = list[Token]
"""The tokens of one clause, without the punctuation marks and conjunctions between clauses."""


def tokenize(text: str, language: str) -> Sequence[Token]:
    """The tokens of one sentence, including clause breaks and negations; callers do not change them."""
    return _cached_tokens(text, language) if len(text) <= LONGEST_CACHED else _tokens(text, language)


@lru_cache(CACHED_SENTENCES)
def _cached_tokens(text: str, language: str) -> Sequence[Token]:
    return _tokens(text, language)


def _tokens(text: str, language: str) -> list[Token]:
    clean = in_signs(normalized("NFKC", BEHIND_NUMBER.sub(" ", _LINE_END_HYPHEN.sub("", text))))
    read = [token for match in _TOKEN.finditer(clean) for token in _raw(match, clean)]
    raw = [each for each, before in zip(read, [None, *read], strict=False) if not _abbreviates(each, before)]
    stemmed = iter(stems([token.stem for token in raw if token.kind == "word"], language))
    for token in raw:
        if token.kind == "word":
            token.stem = next(stemmed)
    # The first word of a sentence is no name if it counts, or is a function word in any language.
    first = next((token for token in raw if token.kind != "mark"), None)
    if first and (is_stop_word(first.after) or first.after in QUANTIFIERS):
        first.is_name = False
    for token in raw:
        if token.is_letter and not token.stem and token.kind == "word":
            token.stem, token.is_name = token.after, True
    _mark(raw, language)
    _mark_bounds(raw)
    return [token for token in raw if token.kind != "range"]


def _abbreviates(token: Token, before: Token | None) -> bool:
    """Whether a token is the point of an abbreviation such as `Mio.`"""
    return token.breaks == "." and before is not None and before.after in SCALE_ABBREVIATIONS


def clauses(tokens: Sequence[Token]) -> list[Clause]:
    """The clauses of a sentence; clauses too short to say anything alone are joined to the next.

    In a row of a table each cell with its label, such as `Price: 5`, is a clause; cells without are together.
    """
    if any(token.breaks == "|" for token in tokens):
        return _cells(tokens)
    found: list[Clause] = [[]]
    content = 0
    for token in tokens:
        if token.breaks and content >= (3 if token.breaks == "," else 2):
            found.append([])
            content = 0
        elif not token.breaks:
            found[-1].append(token)
            content += token.is_content and not token.is_letter
    if len(found) > 1 and sum(token.is_content for token in found[-1]) < 2:
        found[-2:] = [found[-2] + found[-1]]
    return found


def _cells(tokens: Sequence[Token]) -> list[Clause]:
    """The labelled cells of a row, or the sentences of its cells; a text can have more than one row."""
    found: list[Clause] = [[]]
    has_label = False
    for token in tokens:
        is_end = token.breaks in (".", "!", "?") and len(found[-1]) >= LEAST_IN_SENTENCE
        if is_end or (token.breaks == "|" and has_label):
            found.append([])
        has_label = token.breaks == ":" or (has_label and token.breaks != "|")
        if not token.breaks:
            found[-1].append(token)
    return [clause for clause in found if clause]


def has_content(text: str, language: str = DEFAULT_LANGUAGE) -> bool:
    """Whether a text has a content word; a number alone is none."""
    beginning = tokenize(text[:BEGINNING], language)[:-CUT_TOKENS] if len(text) > BEGINNING else ()
    return any(map(_is_content_word, beginning)) or any(map(_is_content_word, tokenize(text, language)))


def has_row(text: str, language: str = DEFAULT_LANGUAGE) -> bool:
    """Whether a text has as many numbers as a row of a table that is checked without content words."""
    return sum(token.kind == "number" for token in tokenize(text, language)) >= LEAST_IN_ROW


def _is_content_word(token: Token) -> bool:
    return token.is_content and token.kind not in ("number", "bound", "tick")


def negations(tokens: Iterable[Token]) -> int:
    """How often a text or clause negates."""
    return sum(token.negates for token in tokens)


def says_maybe(clause: Sequence[Token]) -> bool:
    """Whether a clause has a word of MAYBE; `may not` and the month of May are none."""
    return any(
        token.written.casefold() in MAYBE and token.written != "May" and not (following and following.negates)
        for token, following in zip_longest(clause, clause[1:])
    )


def sides(clause: Sequence[Token]) -> Sides:
    """The words of a clause that can exclude others, without a verb before a negation: `may not`, `must not`.

    A compound such as `full-time` excludes other first parts, a rate such as `5 euros a day` other units.
    """
    found: set[tuple[str, str]] = set()
    for before, token, following in zip([None, *clause], clause, [*clause[1:], None], strict=False):
        is_month = token.written == "May"  # as a verb it begins questions only
        is_word = token.kind != "number" or token.written.isalpha()
        if is_word and not is_month and not (following and following.negates):
            found |= _sides_of_token(token, before)
    number, at = "", 0
    for index, (before, token) in enumerate(pairwise(clause)):
        if token.is_joined and token.stem:
            found.add((f"-{token.stem}", before.written.casefold()))
        if before.kind == "number":
            number, at = before.stem, index
        elif number and before.written.casefold() in _RATES and index - at <= UNITS_LOOKED_AT and token.stem:
            found.add((f"{number} per", token.stem))
    return frozenset(found)


def _sides_of_token(token: Token, before: Token | None) -> Sides:
    """Those of its word, or that of what changes its meaning: `non-smoking`, `vice president`."""
    word, changes = token.written.casefold(), before.written.casefold() if before else ""
    is_prefixed = before and token.is_joined and not before.is_joined and changes in PREFIXES
    if is_prefixed or (changes in QUALIFIERS and token.is_content):
        return frozenset({(word, changes)})
    return sides_of(word)


def condition(tokens: Sequence[Token]) -> frozenset[str]:
    """The content words of a sentence's first condition or exception that the rest of it does not have."""
    first = next((at for at, each in enumerate(tokens) if each.written.casefold() in CONDITIONS), None)
    if first is None:
        return frozenset()
    behind = (at for at, each in enumerate(tokens) if at > first and each.breaks in (",", ";", ":", "|"))
    end = next(behind, len(tokens))
    rest = {token.stem for token in (*tokens[:first], *tokens[end:])}
    return frozenset(token.stem for token in tokens[first + 1 : end] if token.is_content) - rest


def joined_pairs(tokens: Sequence[Token]) -> Sides:
    """The content words on both sides of each `and` and `or`, with which of the two it is."""
    found: set[tuple[str, str]] = set()
    before, joining = "", ""
    for token in tokens:
        if token.is_content:
            if before and joining:
                found.add((" ".join(sorted((before, token.stem))), joining))
            before, joining = token.stem, ""
        elif word := _JOINING.get(token.written.casefold()):
            joining = word
    return frozenset(found)


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
    """A number in one spelling, as search spells it: `1,234.5` is `1234.5`; a list is its parts."""
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
    for token, folded, before, behind in zip(
        tokens, spelled, ["", *spelled], [*spelled[1:], ""], strict=False
    ):
        token.negates = token.negates or (behind != "" and DENIALS.get(folded) == behind)
        _classify(token, folded, denied)
        token.is_name = token.is_name and token.kind == "word" and bool(token.stem)
        token.after = before if before in PREPOSITIONS else ""


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
    elif folded in CONJUNCTIONS:
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
    fixed = _SYMBOLS | _SCALES
    if fixed.intersection(wanted.near) != fixed.intersection(found.near):
        return False
    return not wanted.near or not found.near or bool(set(wanted.near) & set(found.near))
