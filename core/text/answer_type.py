"""What a sentence must have to answer a question, by its wording in English, German, French or Spanish."""

import re
from itertools import accumulate

from core.text.numbers import MONTH_NAMES

_WORK = re.compile(
    r"\b(?:calculate|compute|work out|add up|extrapolate|round(?:ed)? (?:to|your|off)"
    r"|how (?:much|many)(?: \w+){0,2}"
    r" (?:more|less|fewer|higher|lower|cheaper|heavier|longer|larger|smaller)\b"
    r"|(?:do|would) you (?:think|recommend|say)|(?:in )?your (?:opinion|view)"
    r"|berechne\w*|errechne\w*|rechne|wie ?viel \w+er (?:ist|sind)|(?:deiner|ihrer) meinung"
    r"|calcul(?:e|ez|er)|combien .* de (?:plus|moins)|(?:ton|votre) avis"
    r"|calcul(?:a|ar|e)|cuánt[oa]s? (?:más|menos)|(?:tu|su) opinión)\b",
    re.I,
)
"""Asks for a result that has to be worked out, or for an opinion."""
_MEASURES = re.compile(
    r"\b(ratios?|margins?|turnover|averages?|the mean|median|differences?|totals?|sums?|altogether|combined"
    r"|growth rate|cagr|return on|days (?:payable|sales|inventory)|change in|working capital|intensity"
    r"|verhältnis|durchschnitt\w*|unterschied\w*|differenz|summe|insgesamt|pro quadratmeter"
    r"|moyennes?|différence|au total|en tout|somme|annuel(?:le)?s?"
    r"|promedios?|diferencia|en total|suma)\b",
    re.I,
)
"""Names of figures that are derived from others: quoted only if the text itself has the name."""
_EXTREMES = re.compile(
    r"\b((?<=the )last|(?<=the )first|latest|earliest|letzte|erste|früheste|späteste|dernier|premi[eè]r"
    r"|últim|primer)\w*",
    re.I,
)
"""Words for the first or the last of several, which only a text with the same word names."""
_SHARE = re.compile(
    r"\b(?:per ?cent(?:age)?|share|proportion|prozent\w*|anteil|pourcentage|porcentaje|proporción)\b", re.I
)
_HAS_SHARE = re.compile(
    r"[%‰]|\bper ?cent|\bprozent|\bpour ?cent|\bpor ciento|\bhalf\b|\bthirds?\b|\bquarters?\b", re.I
)
_ASKS_YES_OR_NO = re.compile(
    r"(?:^|[.,;:!?])[¿\s]*+(?:is|are|was|were|do|does|did|has|have|can|may|must|should|would|could|will"
    r"|ist|sind|war|waren|hat|haben|darf|dürfen|kann|können|muss|müssen|wird|werden|sollte\w*|lohnt"
    r"|est-ce|peut-on|puis-je|dois-je|faut-il|a-t-on|(?:le|la|les|ce|cette)\b[^?]{0,200}?\b(?:est|sont)-(?:il|elle|ils|elles)"
    r"|es|son|está|fue|puedo|puede\w*|debo|hay|debería\w*)\b",
    re.I,
)
_NEGATION = re.compile(
    r"\b(?:not|cannot|\w+n['’]t|no|never|none|without|nor|excluded?|forbidden|prohibited|nicht|kein\w*|nie|niemals"
    r"|ohne|verboten|ne|n['’]|pas|aucune?|jamais|interdite?s?|sans|nunca|ningun[oa]?|sin|prohibid[oa]s?)\b",
    re.I,
)
_JUDGEMENT = re.compile(
    r"\b(good|better|best|bad|worse|worst|healthy|reasonabl[ey]|adequate|appropriate|suitable|fair|generous"
    r"|strict|risky|worth\w*|attractive|sensible|wise|sufficient|enough|faster|slower|safer|secure|postponed"
    r"|strong|weak|intensive|improv\w+|gut|besser|schlecht\w*|angemessen|geeignet|sinnvoll|ausreichend|fair"
    r"|hoch|lohnt|bonn?e?|meilleure?|raisonnable|adaptée?|suffisante?|élevée?|buen[oa]?|mejor|razonable"
    r"|adecuad[oa]|suficiente)\b",
    re.I,
)
_HOW = re.compile(
    r"\b(?:how (?:much|many|long|often|old|high|large|deep|far|fast|big|heavy)"
    r"|wie ?(?:viele?|hoch|lang|oft|groß|schwer)|combien|cuánt[oa]s?)\b",
    re.I,
)
_COUNTED = re.compile(
    r"\b(?:how many|wie viele|combien (?:de|d')|cuánt[oa]s)\s*((?:[^\W\d_][\w-]*\s*){1,2})", re.I
)
_AMOUNT = re.compile(
    r"\bwhat(?: is| was| are| were|'s)? (?:the )?(?:percentage|share|number|amount|price|value)\b", re.I
)
_TIME = re.compile(
    r"\b(?:when (?:did|was|were|will)|(?:what|which) (?:year|date|day)"
    r"|wann|(?:welchem|welches) (?:jahr|datum)"
    r"|quelle (?:année|date)|en qué (?:año|fecha))\b",
    re.I,
)
_HAS_NUMBER = re.compile(
    r"\d[\d.,]*|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|once|twice|no|none|half"
    r"|hundreds?|thousands?|daily|weekly|monthly|yearly|annually|every|never|unlimited"
    r"|eine?[nmrs]?|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf|keine?n?|täglich|wöchentlich"
    r"|une?|deux|trois|quatre|cinq|sept|huit|neuf|dix|douze|aucune?|chaque"
    r"|un[oa]?|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|doce|ningun[oa]?|cada)\b"
    r"|[零一二三四五六七八九十百千万]",
    re.I,
)
_YEAR = re.compile(
    r"(?:\b(?:in|of|since|until|by|fiscal|im|seit|en|de)|\b[^\W\d_a-z]\w+,?) (?:19|20)\d\d\b(?![.,]\d)"
)
"""A year is no amount."""
_NUMBERED = re.compile(
    r"\b(phase|stage|step|section|clause|chapter|article|annex|appendix|lot|unit|floor|level|pier|berth|hall|zone"
    r"|schritt|stufe|abschnitt|kapitel|artikel|anlage|anhang|étape|chapitre|etapa|capítulo)"
    r" (\d+(?:\.\d+){0,3})\b",
    re.I,
)
_CLOCK_OR_DATE = re.compile(
    rf"\b\d{{1,2}}(?:[:.]\d\d)? ?(?:[ap]\.?m\b|uhr\b|h\b)|\b\d{{1,2}}:\d\d\b"
    rf"|\b\d{{1,2}}\.? (?:de )?(?:{MONTH_NAMES})\b|\b(?:{MONTH_NAMES}) \d{{1,2}}\b",
    re.I,
)
"""A time or a day counts nothing."""
_OF = r" (?:of|at|in|de[rsl]?|du|des|von|vom|im)\b| d['’]"
_ARTICLE = r"(?:the|our|de[rnms]|die|das|la|les?|el|los)\b"
_OWNER = r"([\w&.-]+(?-i:(?: [A-ZÄÖÜÉ][\w&.-]*)*))"
_OFFICE = re.compile(
    r"\b(?:who|wer|qui|quién)(?: is|['’]s| was| ist| war| est| es)"
    r"(?: the| our| de[rn]| die| unsere?| la| le| l['’]| el)"
    r" ?(?:new |current |neuen? |aktuellen? |nouve(?:au|lle) |nuev[oa] )?([^?,]{2,40}?)"
    rf"(?:({_OF})|\W*$)",
    re.I,
)
"""Whose name is asked: `managing director` in `Who is the managing director of the Provider?`."""
_CONTACT = re.compile(
    r"\b(?:(?:tele)?(?:phone|fax) number|(?:telefon|ruf|fax)nummer|numéro de téléphone"
    r"|(?:número de )?teléfono|e-?mail address|e?-?mail-?adresse|adresse (?:e-?)?mail|correo electrónico)\b",
    re.I,
)
_HOW_OLD = re.compile(r"\b(?:how old|wie alt|quel âge)\b", re.I)
_HAS_TIME = re.compile(
    r"\d|\b(?:january|february|march|april|may|june|july|august|september|october|november|december|\w+day"
    r"|today|januar|februar|märz|mai|juni|juli|oktober|dezember|\w+tag|janvier|février|mars|avril|juin|juillet"
    r"|août|septembre|octobre|novembre|décembre|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre"
    r"|octubre|noviembre|diciembre|siglo|century|jahrhundert|siècle"
    r"|(?:day|week|month|year|hour|jour|an|semaine|semana|día|año|hora)s?|mois|mes(?:es)?"
    r"|(?:tag|woche|monat|jahr|stunde)[en]*)\b",
    re.I,
)


_LENGTH = (
    r"(?<![\w/])(?:[cdkm]?m[²³2]?|met(?:er|re)s?|(?:centi|kilo|milli)met(?:er|re)s?|miles?|yards?|feet|foot|inch(?:es)?"
    r"|hectares?|acres?|square|(?:zenti|kilo|milli)?metern?|quadrat\w*|hektar|mètres?|centimètres?|metros?|centímetros?)\b"
)
_DURATION = (
    r"\b(?:seconds?|minutes?|min|hours?|days?|nights?|weeks?|months?|quarters?|years?|decades?|throughout"
    r"|permanent\w*|indefinite\w*|lifetime|\w*(?:sekunde|minute|stunde|nacht|nächte|woche|monat|jahr|tag)[ens]*"
    r"|dauerhaft|unbefristet|secondes?|heures?|jours?|nuits?|semaines?|mois|ans?|années?"
    r"|segundos?|minutos?|horas?|días?|noches?|semanas?|mes(?:es)?|años?)\b|\d\d:\d\d"
)
_FREQUENCY = (
    r"\b(?:every|each|once|twice|times|per|daily|weekly|monthly|quarterly|yearly|annual\w*|always|never"
    r"|an? (?:second|minute|hour|day|night|shift|week|fortnight|month|quarter|season|year)"
    r"|jede[nrs]?|einmal|zweimal|\w+mal|pro|je|täglich|wöchentlich|monatlich|jährlich|alle|nie|immer"
    r"|chaque|fois|par|tou(?:te)?s|jamais|cada|veces|vez|por|nunca|siempre)\b"
)
_SIZE = (
    rf"{_LENGTH}|[$€£¥%]|\b(?:per ?cent|prozent|euros?|eur|usd|dollars?|pounds?|million\w*|billion\w*"
    r"|millones|tonnes?|tons?|kg|litres?|liters?|liter|people|persons?|members?|staff|employees?|pages?"
    r"|rooms?"  # prose: data
    r"|inhabitants|personen|mitglieder|einwohner|personnes|personas|[kmgt]b)\b"
)
_AGE = (
    r"\b(?:built|founded|established|born|since|gebaut|gegründet|seit|fondée?|construite?"
    r"|years?|months?|aged?|jahr\w*|monate?n?|alter|ans|âge|años|edad)\b"
)
_WEIGHT = (
    r"\b(?:k?g|mg|t|lbs?|\w*gram\w*|tons?|tonnes?n?|pounds?|ounces?|kilos?|weigh\w*|gewicht|poids|peso)\b"
)
_MONEY = (
    r"[$€£¥%]|\b(?:eur|usd|gbp|chf|euros?|dollars?|pounds?|cents?|pence|francs?|franken|per ?cent|prozent"
    r"|free|costs?|prices?|kosten\w*|preis\w*|entgelt|gratuit\w*|gratis|nothing)\b"
)
_FITTING = [
    (re.compile(rf"\b(?:{asked})\b", re.I), re.compile(found, re.I))
    for asked, found in (
        ("how (?:deep|tall|wide|far)|wie (?:tief|breit|weit)|à quelle distance", _LENGTH),
        ("how (?:big|large)|wie groß", _SIZE),
        (
            r"how much\b.{0,200}? (?:cost|pay|paid|earn|charged?)|wie ?viel (?:kostet|zahl\w+)|was kostet"
            "|combien coûte|cuánto cuesta",
            _MONEY,
        ),
        ("how old|wie alt|quel âge", _AGE),
        ("how heavy|wie schwer", _WEIGHT),
        (
            r"how (?:warm|hot|cold)|wie (?:warm|heiß|kalt)"
            r"|(?:what|which|welche[rnm]?|quelles?|qué) temp[eé]rat[uú]r\w*",
            r"°|\b(?:degrees?|grade?|degrés?|grados?|kelvin)\b",
        ),
        ("how long|wie lange?|combien de temps|cuánto tiempo", rf"{_LENGTH}|{_DURATION}"),
        (
            "(?:tele)?(?:phone|fax) number|(?:telefon|ruf|fax)nummer|numéro de téléphone|teléfono",
            r"(?<!\d)\+?\d(?:[ /()-]{0,3}\d){5}",
        ),
        ("e-?mail address|e?-?mail-?adresse|adresse (?:e-?)?mail|correo electrónico", "@"),
        ("how often|wie oft|cuántas veces|combien de fois", _FREQUENCY),
    )
]
"""What a question asks for, and the units of which its answer has one."""


def _has_another_number(question: str, text: str) -> bool:
    """Whether the question is about `phase 3`, and the text about another phase only."""
    found = {
        (label.casefold(), number)
        for label, whole in _NUMBERED.findall(text)
        for number in accumulate(whole.split("."), "{}.{}".format)  # section 2.3 is in section 2
    }
    labels = {label for label, _ in found}
    asked = {(label.casefold(), number) for label, number in _NUMBERED.findall(question)}
    return any(label in labels and (label, number) not in found for label, number in asked)


def must_be_worked_out(question: str) -> bool:
    """Whether the question asks to calculate or to give an opinion, which no quote can do."""
    return _WORK.search(question) is not None


def asks_yes_or_no(question: str) -> bool:
    """Whether yes or no would answer the question."""
    return _ASKS_YES_OR_NO.search(question) is not None


def is_negated(text: str) -> bool:
    """Whether a text denies or forbids something."""
    return _NEGATION.search(text) is not None


def asking_words(question: str) -> str:
    """The words that ask for a number, a share, a time or an address: an answer has that, not the words."""
    return " ".join(found[0] for kind in (_HOW, _TIME, _SHARE, _CONTACT) for found in kind.finditer(question))


def counted_words(question: str) -> str:
    """What the question asks to count, as the one or two words after `how many`; empty if it does not."""
    found = _COUNTED.search(question)
    return found[1] if found else ""


def office_words(question: str) -> str:
    """The office or part of the person whose name the question asks for; empty if it asks for none."""
    found = _OFFICE.search(question)
    return found[1] if found else ""


def owners_of_office(question: str, text: str) -> list[str]:
    """Whose office a text names, as `Norva Ltd` in `the director of Norva Ltd`.

    Empty unless the question asks who holds that office of something.
    """
    asked = _OFFICE.search(question)
    if asked is None or asked[2] is None:
        return []
    office = re.escape(asked[1])
    found = re.finditer(
        rf"([\w&.-]+)['’]s? {office}\b|\b{office}(?:{_OF})(?: ?{_ARTICLE})? ?{_OWNER}", text, re.I
    )
    return [owner[1] or owner[2] for owner in found]


def has_what_is_asked(question: str, text: str) -> bool:
    """Whether a text has what an answer needs: the derived figure or the judgement by name, a number, a time.

    A question that asks for none of these is satisfied by any text.
    """
    lowered = text.casefold()
    named = [found[0].casefold() for found in _MEASURES.finditer(question)]
    named += [found[1].casefold() for found in _EXTREMES.finditer(question)]
    if _ASKS_YES_OR_NO.search(question):
        named += [found[0].casefold() for found in _JUDGEMENT.finditer(question)]
    if any(name not in lowered for name in named) or _has_another_number(question, text):
        return False
    if _SHARE.search(question) and not _HAS_SHARE.search(text):
        return False
    if _TIME.search(question):
        return _HAS_TIME.search(text) is not None
    if not all(found.search(text) for asked, found in _FITTING if asked.search(question)):
        return False
    if not (_HOW.search(question) or _AMOUNT.search(question)):
        return True
    amounts = text if _HOW_OLD.search(question) else _YEAR.sub("", text)
    amounts = _CLOCK_OR_DATE.sub("", amounts) if _COUNTED.search(question) else amounts
    return any(found[0].casefold() not in question.casefold() for found in _HAS_NUMBER.finditer(amounts))
