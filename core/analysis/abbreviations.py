"""Short names that a page introduces for longer ones: abbreviations and defined terms."""

import re
from collections.abc import Iterator
from typing import NamedTuple

LONGEST_LONG_FORM = 100
LONGEST_TERM_WORDS = 5
LONGEST_NAME = 400
"""Characters before a defined term that can contain the name that it replaces."""
PARTIES = frozenset(
    "company corporation group bank buyer seller purchaser vendor lender borrower landlord tenant lessor "
    "lessee employer employee contractor client customer supplier provider licensor licensee issuer trustee "
    "agent guarantor insurer insured parent subsidiary registrant "
    "gesellschaft käufer verkäufer vermieter mieter auftraggeber auftragnehmer arbeitgeber arbeitnehmer "
    "empresa sociedad comprador vendedor arrendador arrendatario société acheteur vendeur bailleur locataire "
    "employeur salarié società acquirente venditore".split()
)
"""The names of parties in contracts."""
ARTICLES = (
    "the a an its their our der die das den dem ein eine einen el la los las un una le les l’ l' lo il gli i"
).split()

_ABBREVIATION = re.compile(r"\((?:[“\"])?([A-ZÀ-Þ][\w&/.-]{1,9})(?:[”\"])?(?=[),;])")
_SAYS_SHORT = re.compile(r",?\s(?:por sus siglas|for short|kurz|abgekürzt|acronyme|sigla|en abrégé)\b", re.I)
_QUOTED_TERM = re.compile(
    r"\((?<=\s.)(?:(?:hereinafter|hereafter|collectively|together|each|nachfolgend|im folgenden|en adelante"
    r"|ci-après)"
    r"[,:]?\s+(?:referred to as\s+|genannt\s+)?)?"
    r"(?:(?:the|a|an|der|die|das|el|la|le|il)\s|l[’'])?"
    r"[“\"„«‘']\s?([^\W\d_][^“”\"„«»()]{1,60}?)\s?[”\"“»’']\s?\)",
    re.I,
)
_MEANT_TERM = re.compile(
    r"[“\"„«]\s?([^\W\d_][^“”\"„«»]{1,60}?)\s?[”\"“»],?\s"
    r"(?:shall\s)?(?:means?|bedeutet|significa|désigne)\s([^.;]{3,160})"
)
_BREAK = re.compile(r"[.;:!?()]\s")
_FUNCTION_WORDS = frozenset("a an and as at by for from in is of on or our the to with".split())
_WORD = re.compile(r"[^\W_]+")


class Definition(NamedTuple):
    """`short` means `long`, which is empty if the page does not state it. `start` is its position."""

    start: int
    long: str
    short: str


def find_abbreviations(sentence: str) -> Iterator[Definition]:
    """Long forms followed by their short form in brackets, whose letters the long form contains.

    If the brackets call it an abbreviation, its letters may be those of another language.
    """
    for match in _ABBREVIATION.finditer(sentence):
        short = match[1].rstrip(".")
        if sum(map(str.isupper, short)) < 2:
            continue
        before = sentence[max(0, match.start() - LONGEST_LONG_FORM) : match.start()].rstrip(' “”"„«»')
        named = _name_before(before) if _SAYS_SHORT.match(sentence, match.end()) else ""
        if long := _by_initials(short, before) or _long_form(short, before) or named:
            yield Definition(match.start(), long, short)


def find_terms(sentence: str) -> Iterator[Definition]:
    """Terms that the sentence defines: `Contoso Ltd. (the “Company”)`, `“Premium” means the amount`."""
    for match in _QUOTED_TERM.finditer(sentence):
        short = match[1].strip(" ,")
        if len(short.split()) <= LONGEST_TERM_WORDS and not short.endswith((".", "?", "!", ":")):
            name = _name_before(sentence[max(0, match.start() - LONGEST_NAME) : match.start()])
            # It can mean the name before it if they share a word, or if it is the party of a contract.
            words, of_name = ({word.casefold() for word in _WORD.findall(text)} for text in (short, name))
            yield Definition(match.start(), "" if words.isdisjoint(PARTIES | of_name) else name, short)
    for match in _MEANT_TERM.finditer(sentence):
        yield Definition(match.start(), match[2].strip(), match[1].strip(" ,"))


def _by_initials(short: str, before: str) -> str:
    """The last words of `before` whose initials are the short form; function words may be skipped."""
    wanted, at = short.casefold(), len(before)
    for match in reversed(list(_WORD.finditer(before))):
        initial = match[0][0].casefold()
        if wanted and initial == wanted[-1]:
            wanted, at = wanted[:-1], match.start()
        elif match[0].casefold() not in _FUNCTION_WORDS or at == len(before):
            return ""
        if not wanted:
            return before[at:] if not _BREAK.search(before, at) else ""
    return ""


def _long_form(short: str, before: str) -> str:
    """The end of `before` that contains the letters of the short form in order, the first at a word's start.

    The usual algorithm for abbreviations (Schwartz and Hearst, 2003): letters are matched from the end.
    """
    letters = [letter.casefold() for letter in short if letter.isalnum()]
    place = len(before)
    for index, letter in reversed(list(enumerate(letters))):
        place = _letter_before(before, place, letter, opens_word=index == 0)
        if place < 0 or (index == len(letters) - 1 and " " in before[place:]):
            return ""
    long = before[place:]
    few_enough = len(_WORD.findall(long)) <= min(len(letters) + 5, 2 * len(letters))
    is_name = len(long) > len(short) and long.split()[0].casefold() not in _FUNCTION_WORDS
    return long if few_enough and is_name and not _BREAK.search(long) else ""


def _letter_before(text: str, end: int, letter: str, *, opens_word: bool) -> int:
    """The last position of a letter before `end`, at a word's start if `opens_word`; -1 if there is none."""
    place = end - 1
    while place >= 0 and (
        text[place].casefold() != letter or (opens_word and place and text[place - 1].isalnum())
    ):
        place -= 1
    return place


def _name_before(text: str) -> str:
    """The capitalised words at the end, without articles."""
    words: list[str] = []
    for word in reversed(text.split()[-8:]):
        is_name = word[0].isupper() or (words and word in ("of", "and", "&", "de", "del", "von", "der"))
        if not is_name or (words and word.endswith((".", ";", ":")) and len(word) > 4):
            break
        words.insert(0, word)
    while words and (words[0].casefold() in ARTICLES or not words[0][0].isupper()):
        words.pop(0)
    return " ".join(words).strip(' ,;:(“”"„«»')
