"""Names of countries and of their largest parts: the only places that are known by name alone."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from core.analysis.document_context import DocumentContext
from core.analysis.page_text import label_end
from core.analysis.vocabulary import (
    DULL_WORDS,
    JOINED_BY,
    LEGAL_FORMS,
    NOUNS_ARE_CAPITALISED,
    PLACE_TYPES,
    SHORTENED_FORMS,
    TITLES,
    WEEKDAYS,
)
from core.text.numbers import MONTHS
from core.text.terms import STOP_WORDS

_ENGLISH = (
    "Afghanistan|Albania|Algeria|Angola|Argentina|Armenia|Australia|Austria|Azerbaijan|Bahrain|Bangladesh|"
    "Belarus|Belgium|Bolivia|Botswana|Brazil|Bulgaria|Cambodia|Cameroon|Canada|Chile|China|Colombia|"
    "Costa Rica|Croatia|Cuba|Cyprus|Czech Republic|Czechia|Denmark|Dominican Republic|Ecuador|Egypt|"
    "El Salvador|Estonia|Ethiopia|Finland|France|Germany|Ghana|Greece|Guatemala|Haiti|Honduras|Hong Kong|"
    "Hungary|Iceland|India|Indonesia|Iran|Iraq|Ireland|Israel|Italy|Jamaica|Japan|Kazakhstan|Kenya|Kuwait|"
    "Laos|Latvia|Lebanon|Libya|Lithuania|Luxembourg|Madagascar|Malaysia|Malta|Mexico|Moldova|Mongolia|"
    "Montenegro|Morocco|Mozambique|Myanmar|Namibia|Nepal|Netherlands|New Zealand|Nicaragua|Nigeria|"
    "North Korea|Norway|Oman|Pakistan|Panama|Paraguay|Peru|Philippines|Poland|Portugal|Puerto Rico|Qatar|"
    "Romania|Russia|Rwanda|Saudi Arabia|Senegal|Serbia|Singapore|Slovakia|Slovenia|Somalia|South Africa|"
    "South Korea|Spain|Sri Lanka|Sudan|Sweden|Switzerland|Syria|Taiwan|Tanzania|Thailand|Tunisia|Turkey|"
    "Uganda|Ukraine|United Arab Emirates|United Kingdom|United States|United States of America|U.S.|U.K.|"
    "USA|UK|Uruguay|Uzbekistan|Venezuela|Vietnam|Yemen|Zambia|Zimbabwe|"
    "Europe|Asia|Africa|North America|South America|Latin America|Middle East|European Union|"
    "Alabama|Alaska|Arizona|Arkansas|California|Southern California|Colorado|Connecticut|Delaware|Florida|"
    "Hawaii|Idaho|Illinois|Indiana|Iowa|Kansas|Kentucky|Louisiana|Maine|Maryland|Massachusetts|Michigan|"
    "Minnesota|Mississippi|Missouri|Montana|Nebraska|Nevada|New Hampshire|New Jersey|New Mexico|New York|"
    "North Carolina|North Dakota|Ohio|Oklahoma|Oregon|Pennsylvania|Rhode Island|South Carolina|South Dakota|"
    "Tennessee|Texas|Utah|Vermont|Virginia|Wisconsin|Wyoming|England|Scotland|Wales|Northern Ireland"
)
_OTHERS = (
    "Deutschland|Österreich|Schweiz|Frankreich|Italien|Spanien|Polen|Niederlande|Belgien|Großbritannien|"
    "Vereinigte Staaten|Vereinigtes Königreich|Russland|Griechenland|Türkei|Ungarn|Schweden|Norwegen|"
    "Dänemark|Europa|Kalifornien|Südkalifornien|Japan|"
    "Alemania|Francia|España|Italia|Polonia|Suiza|Bélgica|Países Bajos|Reino Unido|Estados Unidos|Rusia|"
    "Grecia|Turquía|Hungría|Suecia|Noruega|Dinamarca|Brasil|México|Perú|Japón|Inglaterra|Escocia|Irlanda|"
    "Allemagne|Espagne|Italie|Pologne|Suisse|Belgique|Pays-Bas|Royaume-Uni|États-Unis|Russie|Grèce|Turquie|"
    "Hongrie|Suède|Norvège|Danemark|Brésil|Mexique|Japon|Angleterre|Écosse|Irlande|Europe|"
    "Germania|Spagna|Svizzera|Belgio|Paesi Bassi|Regno Unito|Stati Uniti|Alemanha|França|Espanha|Duitsland|"
    "Nederland|België|Frankrijk|Spanje"
)

PLACES = frozenset(_ENGLISH.split("|") + _OTHERS.split("|"))


LONGEST_NAME = 8
TITLE_CASE_SHARE = 0.6
TITLE_CASE_SHARE_OF_SENTENCE = 0.9

_TOKEN = re.compile(r"(?:[^\W\d_]\.){2,}[^\W\d_]?|[^\W_]+(?:[’'&-][^\W_]+)*")
_POSSESSIVE = re.compile(r"[’'][sS]?$")
_NUMBERING = re.compile("[IVXLC]+(?:-[IVXLC]+)?|Q[1-4]|[A-Z]\\d?")
_CITATION = re.compile(
    r"(?:\b[A-Z][\w’'-]{1,30}\s(?:(?:and|&)\s[A-Z][\w’'-]{1,30}\s|et\sal\.,?\s))?"
    r"\([^()]{0,200}?\b(?:19|20)\d\d[a-z]?\b[^()]{0,200}?\)|\b[A-Z][\w’'-]{1,30}\set\sal\.?"
)
"""Authors of cited works say little of what a page is about."""
_OPENS_SENTENCE = re.compile(r"(?:^|[.!?:;“\"„»«•|]\s{0,3})$")
_NOT_IN_NAMES = (
    frozenset(MONTHS)
    | WEEKDAYS
    | DULL_WORDS
    | frozenset(
        "table tables figure figures fig section sections chapter appendix annex page pages item note part "
        "abbildung tabelle abschnitt anhang seite figura tabla sección anexo página tableau chapitre annexe "
        "millionen milliarden prozent ende anfang mitte".split()
    )
)


class Token(NamedTuple):
    """One word of a sentence, and where it stands."""

    start: int
    end: int
    text: str

    @property
    def bare(self) -> str:
        """How word lists have it: `Inc.` is `inc`, `S.A.` is `sa`."""
        return self.text.replace(".", "").casefold()


def find_names(sentence: str, context: DocumentContext, language: str) -> Iterator[list[Token]]:
    """The words of each name in a sentence, in order; a possessive ending is left out."""
    may_cite = "(" in sentence or " et al" in sentence
    plain = _CITATION.sub(lambda match: "|" * len(match[0]), sentence) if may_cite else sentence
    tokens = _tokens(plain, JOINED_BY.get(language, JOINED_BY["en"]))
    index = 0
    while index < len(tokens):
        run = _run_from(tokens, index, plain, language)
        index += max(1, len(run))
        name = _without_opening(run, plain, context)
        if _is_a_name(name, plain, context, language):
            yield [*name[:-1], _trimmed(name[-1], plain)]


def _tokens(text: str, joins: frozenset[str]) -> list[Token]:
    """The words that may be in names; none where so many have capitals that capitals say nothing."""
    kept: list[Token] = []
    weighty = capitalised = 0
    for match in _TOKEN.finditer(text, label_end(text)):
        word = match[0]
        is_weighty = len(word) > 3 and not word[0].isdigit()
        weighty += is_weighty
        if not word[0].islower():
            capitalised += is_weighty
            kept.append(Token(match.start(), match.end(), word))
        elif word in joins:
            kept.append(Token(match.start(), match.end(), word))
    is_sentence = text.rstrip().endswith((".", "!", "?", "。"))
    share = TITLE_CASE_SHARE_OF_SENTENCE if is_sentence else TITLE_CASE_SHARE
    return [] if weighty > 3 and capitalised > share * weighty else kept


def _run_from(tokens: Sequence[Token], index: int, text: str, language: str) -> list[Token]:
    """The capitalised tokens from this one on, with what joins them; none if it is no part of a name."""
    first = tokens[index]
    if not _may_be_in_name(first, language) or (len(first.text) > 1 and _NUMBERING.fullmatch(first.text)):
        return []
    run = [first]
    while len(run) < LONGEST_NAME and (more := _more(run, tokens[index + len(run) :][:3], text, language)):
        run += more
    return run


def _more(run: Sequence[Token], ahead: Sequence[Token], text: str, language: str) -> Sequence[Token]:
    """The next tokens that belong to the run: a word, or a word after up to two joining ones."""
    if not ahead or _POSSESSIVE.search(run[-1].text):
        return ()
    if _goes_on(run[-1], ahead[0], text, language):
        return ahead[:1]
    joins = JOINED_BY.get(language, JOINED_BY["en"])
    for count in (1, 2):
        joined = ahead[: count + 1]
        is_joined = len(joined) > count and all(token.text in joins for token in joined[:-1])
        if is_joined and _may_be_in_name(joined[-1], language) and _adjoin([run[-1], *joined], text):
            return joined
    return ()


def _may_be_in_name(token: Token, language: str) -> bool:
    word = token.text.casefold()
    return token.text[0].isupper() and word not in STOP_WORDS[language] and word not in _NOT_IN_NAMES


def _goes_on(before: Token, token: Token, text: str, language: str) -> bool:
    gap = text[before.end : token.start]
    if token.bare in LEGAL_FORMS and token.text[0].isupper() and gap in (" ", ", ", " & ", ". "):
        return True
    if token.text[0].isdigit():
        return gap == " " and before.text[0].isupper() and len(token.text) <= 3 and _ends_name(token, text)
    is_shortened = gap == ". " and (len(before.text) == 1 or before.bare in TITLES)
    return (gap in (" ", " & ") or is_shortened) and _may_be_in_name(token, language)


def _ends_name(token: Token, text: str) -> bool:
    """Whether no further capitalised word follows: then a number belongs to the name before it."""
    after = text[token.end : token.end + 2]
    return len(after) < 2 or not (after[0] == " " and after[1].isupper())


def _adjoin(tokens: Sequence[Token], text: str) -> bool:
    return all(text[one.end : other.start] == " " for one, other in pairwise(tokens))


def _without_opening(run: list[Token], text: str, context: DocumentContext) -> list[Token]:
    """The run without a first word that has its capital from opening the sentence."""
    if len(run) < 2 or not _opens(run[0], text) or context.is_name(run[0].text):
        return run
    if _lowered(run[0].text) not in context.lower_case:
        return run
    rest = run[1:]
    while rest and not rest[0].text[0].isupper():
        rest = rest[1:]
    return rest


def _is_a_name(run: Sequence[Token], text: str, context: DocumentContext, language: str) -> bool:
    if len(run) > 1:
        is_sure = language not in NOUNS_ARE_CAPITALISED or len(run) > 2 or not _opens(run[0], text)
        return is_sure or context.is_name(run[0].text)
    word = _POSSESSIVE.sub("", run[0].text) if run else ""
    if len(word) < 2 or _NUMBERING.fullmatch(word) or word.casefold() in PLACE_TYPES:
        return False
    if word in PLACES or sum(map(str.isupper, word)) > 1:
        return True
    return language not in NOUNS_ARE_CAPITALISED and context.is_name(word)


def _trimmed(token: Token, sentence: str) -> Token:
    """The last word of a name without a possessive ending, and with the full stop of `Ltd.`."""
    if token.bare in SHORTENED_FORMS and sentence.startswith(".", token.end):
        return Token(token.start, token.end + 1, f"{token.text}.")
    text = _POSSESSIVE.sub("", token.text)
    return Token(token.start, token.start + len(text), text)


def _opens(token: Token, text: str) -> bool:
    return _OPENS_SENTENCE.search(text, max(0, token.start - 5), token.start) is not None


def _lowered(word: str) -> str:
    return word[0].lower() + word[1:]
