"""Words that a paraphrase exchanges freely, and words that it needs and a table does not have."""

from functools import lru_cache

from core.text.terms import DEFAULT_LANGUAGE, stems

_EQUAL = {
    "en": "only solely exclusively | get gets got receive obtain | need require | stay remain | reach arrive"
    " | usually typically generally normally | within inside | about approximately around roughly"
    " | use utilize | send sent submit | provide give gave given offer supply | further additional extra"
    " | certain some several | whole entire full | trip journey | staff employees personnel workers"
    " | price cost costs | salary earn earns | weight weigh weighs | duration last lasts | lead led",
    "de": "nur ausschließlich | erhalten erhält bekommen bekommt | brauchen benötigen erfordern"
    " | meist meistens normalerweise üblicherweise | innerhalb binnen | etwa ungefähr circa rund"
    " | nutzen genutzt benutzen benutzt verwenden verwendet | zahlen bezahlen entrichten"
    " | falls wenn sofern | führen gehen | preis kosten kostet | gewicht wiegen wiegt | dauer dauern dauert"
    " | beginn beginnen beginnt | leitung leiterin leiter leiten leitet geleitet",
    "fr": "seulement uniquement | recevoir reçoit reçoivent obtenir obtient obtiennent | nécessiter exiger"
    " | rester demeurer | lorsque quand si | utiliser employer | payer régler verser | commencer débuter"
    " | habituellement généralement normalement | autoriser permettre admettre | prix coûter coûte coûtent"
    " | poids peser pèse | durée durer dure | responsable diriger dirige dirigé dirigée",
    "es": "sólo solo únicamente | recibir recibe reciben obtener obtiene obtienen"
    " | necesitar requerir requiere requieren | seguir sigue permanecer | cuando si"
    " | utilizar usar emplear | pagar abonar | comprar adquirir | comenzar empezar iniciar"
    " | normalmente generalmente habitualmente | tras después | precio costar cuesta cuestan"
    " | peso pesar pesa | duración durar dura | inquilino inquilina"
    " | supervisora supervisor supervisada supervisado supervisa",
}
"""Words that a paraphrase exchanges freely, by language."""

_NEUTRAL = {
    "en": "amount number come equal list record show state work available cost price",
    "de": "anzahl zahl betragen beträgt belaufen beläuft liegen liegt arbeiten findet statt sein seine seinen"
    " ihren kosten kostet preis",
    "fr": "nombre élever élève élèvent élevées élevé compter compte travailler trouve coûter coûte prix",
    "es": "número asciende ascienden cuenta trabajar trabajan encuentra costar cuesta cuestan precio",
}
"""Words that a sentence about a row of a table needs and the row does not have, by language."""


@lru_cache
def _equal_words(language: str) -> dict[str, int]:
    groups = enumerate(_EQUAL[language].split("|"))
    return {stem: number for number, words in groups for stem in _stems(words, language)}


@lru_cache
def neutral_words() -> frozenset[str]:
    """The stems of the words that say nothing about a row: `amounts to`, `beträgt`."""
    return frozenset[str]().union(*(_stems(words, language) for language, words in _NEUTRAL.items()))


def _stems(words: str, language: str) -> set[str]:
    """Their stems in this language, and in English, which texts without function words are read as."""
    return {stem for each in (language, DEFAULT_LANGUAGE) for stem in stems(words.split(), each)} - {""}


@lru_cache(4096)
def groups_of(stem: str) -> frozenset[tuple[str, int]]:
    """The groups of words that say the same as this one, in any language."""
    return frozenset(
        (language, equal[stem]) for language in _EQUAL if stem in (equal := _equal_words(language))
    )


def say_the_same(word: str, other: str) -> bool:
    """Whether two stems are of words that say the same: *typically* and *usually*, *price* and *costs*."""
    return word == other or not groups_of(word).isdisjoint(groups_of(other))


def is_exchanged(stem: str) -> bool:
    """Whether a page can have another word in the place of this one, or none."""
    return bool(groups_of(stem)) or stem in neutral_words()


SPELLED_OTHERWISE = frozenset(" ".join((*_EQUAL.values(), *_NEUTRAL.values())).split()) - {"|"}
"""The words above as they are written: the page can have another one."""
