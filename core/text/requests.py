"""Whether a sentence asks for something rather than states it: English, German, French and Spanish."""

import re

_QUESTION_MARK = re.compile("[?？؟\u037e¿]")
_QUESTION = re.compile(
    r"(?:^|[,;:] )(?:"
    r"(?:what|who|where|when|why|how)(?:'s)?"
    r" (?:is|are|was|were|do|does|did|will|would|can|could|should|has|have|much|many|long|often|old|high)\b"
    r"|(?:which|whose) \w+ (?:is|are|was|were|do|does|did|has|have)\b"
    r"|(?:was|wer|wo|wann|warum|wieso) (?:ist|sind|war|waren|hat|haben|kann|muss|darf|bedeutet|kostet|gilt)\b"
    r"|wie (?:viele?|lange?|hoch|oft|groß|ist|sind|war|kann|funktioniert)\b"
    r"|welche[rsnm]? \w+ (?:ist|sind|hat|gilt)\b"
    r"|quel(?:le)?s? (?:est|sont|était)\b|combien\b|comment (?:est|sont|faire)\b|pourquoi\b"
    r"|est-ce\b|qu'est-ce\b"
    r"|(?:qué|cuál|cuáles|quién|dónde|cuándo|cómo) (?:es|son|era|fue|está|hay)\b|cuánt[oa]s?\b|por qué\b)",
    re.I,
)
_REQUEST = re.compile(
    r"(?:(?:please|kindly|now|then|and|also|bitte|s'il (?:te|vous) plaît,?|por favor,?) )*(?:"
    r"answer|calculate|compute|work out|tell|show|list|give|find|explain|describe|summari[sz]e|compare|round"
    r"|base (?:your|the)|rely on|provide|look up|search|translate|return|extract|identify|determine"
    r"|analy[sz]e|outline|let (?:me|us) know"
    r"|nenne?|zeige?|liste|erkläre?|beschreibe?|berechne|fasse?|vergleiche?|gib|sage?|finde|suche?|runde|prüfe?"
    r"|antworte|übersetze|zitiere"
    r"|(?:nennen|zeigen|erklären|beschreiben|berechnen|vergleichen|geben|sagen) sie"
    r"|dis|donne|montre|explique|décris|calcule|résume|compare|cherche|trouve|cite"
    r"|(?:donn|montr|expliqu|calcul|résum|compar|cherch|trouv|cit)ez|dites"
    r"|di|dime|da|dame|muestra|explica|describe|calcula|resume|busca|encuentra|cita"
    r")\b",
    re.I,
)


def asks_something(sentence: str) -> bool:
    """Whether a sentence is a question, with or without its mark, or a request to do something."""
    plain = sentence.replace("’", "'").strip()
    return any(pattern.search(plain) for pattern in (_QUESTION_MARK, _QUESTION)) or is_request(plain)


def is_request(sentence: str) -> bool:
    """Whether a sentence begins with a request such as `Calculate` or `Please list`."""
    return _REQUEST.match(sentence.strip()) is not None
