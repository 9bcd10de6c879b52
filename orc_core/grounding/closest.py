"""The sentences that say that nothing was found, or that passages follow which no model has read."""

from orc_core.text.terms import in_language_of

NOT_FOUND_ANSWER = "I could not find this in the documents. [none]"
"""The answer of code if there is nothing to answer from, as a model writes it."""

_NOT_FOUND = {
    "en": NOT_FOUND_ANSWER,
    "de": "Das habe ich in den Dokumenten nicht gefunden. [none]",
    "fr": "Je n'ai pas trouvé cela dans les documents. [none]",
    "es": "No he encontrado esto en los documentos. [none]",
}
_CLOSEST = {
    "en": "No language model has answered, so these are the passages closest to the question, not an answer:",
    "de": "Kein Sprachmodell hat geantwortet; dies sind die Stellen, die der Frage am nächsten kommen,"
    " keine Antwort:",
    "fr": "Aucun modèle de langue n'a répondu ; voici les passages les plus proches de la question,"
    " et non une réponse :",
    "es": "Ningún modelo de lenguaje ha respondido; estos son los pasajes más cercanos a la pregunta, no"
    " una respuesta:",
}

LABEL_SENTENCES = frozenset(sentence.casefold() for sentence in _CLOSEST.values())
"""What an answer says of itself: it needs no source, and what follows it is no answer."""


def not_found_answer(question: str) -> str:
    """The sentence that nothing was found, in the language of the question or in English."""
    return in_language_of(question, _NOT_FOUND)


def closest_label(question: str) -> str:
    """The line above the closest passages, in the language of the question or in English."""
    return in_language_of(question, _CLOSEST)
