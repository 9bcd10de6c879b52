"""The sentences that say that a question, or a part of it, is not answered."""

from core.text.terms import in_language_of

NOT_FOUND_ANSWER = "I could not find this in the attached documents."
"""The whole answer if the sources do not contain it: prompts demand it and the checks look for it."""

_LABELS = {
    "en": (
        NOT_FOUND_ANSWER,
        "Offline I can only quote, not calculate or judge.",
        "The closest passages, which are not an answer:",
    ),
    "de": (
        "Das habe ich in den angehängten Dokumenten nicht gefunden.",
        "Offline kann ich nur zitieren, nicht rechnen oder urteilen.",
        "Die nächstliegenden Stellen, die keine Antwort sind:",
    ),
    "fr": (
        "Je n'ai pas trouvé cela dans les documents joints.",
        "Hors ligne, je peux seulement citer, pas calculer ni juger.",
        "Les passages les plus proches, qui ne sont pas une réponse :",
    ),
    "es": (
        "No he encontrado esto en los documentos adjuntos.",
        "Sin conexión solo puedo citar, no calcular ni juzgar.",
        "Los pasajes más cercanos, que no son una respuesta:",
    ),
}
"""By language: nothing was found, what the offline model can do, and what follows the label."""

_PARTS = {
    "en": (
        "I could not find an answer to the {} part of the question.",
        "first second third fourth fifth sixth",
    ),
    "de": (
        "Auf den {} Teil der Frage habe ich keine Antwort gefunden.",
        "ersten zweiten dritten vierten fünften sechsten",
    ),
    "fr": (
        "Je n'ai pas trouvé de réponse à la {} partie de la question.",
        "première deuxième troisième quatrième cinquième sixième",
    ),
    "es": (
        "No he encontrado respuesta a la {} parte de la pregunta.",
        "primera segunda tercera cuarta quinta sexta",
    ),
}
_PARTS_NOT_FOUND = {
    language: tuple(sentence.format(ordinal) for ordinal in ordinals.split())
    for language, (sentence, ordinals) in _PARTS.items()
}
"""By language: that a part of a question is not answered, for each of the six parts that one can have."""

_NOT_READ = {
    "en": "Not all documents of this conversation were read for this answer.",
    "de": "Für diese Antwort wurden nicht alle Dokumente dieser Unterhaltung gelesen.",
    "fr": "Les documents de cette conversation n'ont pas tous été lus pour cette réponse.",
    "es": "No se han leído todos los documentos de esta conversación para esta respuesta.",
}
"""By language: that an answer about whole documents is not about all of them."""

NOT_FOUND_SENTENCES = frozenset(label[0].casefold() for label in _LABELS.values())
LABEL_SENTENCES = frozenset(
    sentence.casefold()
    for sentences in (
        *(label[1:] for label in _LABELS.values()),
        *_PARTS_NOT_FOUND.values(),
        _NOT_READ.values(),
    )
    for sentence in sentences
)
"""What an answer says of itself: it needs no source."""
OPENING_SENTENCES = frozenset(label[-1].casefold() for label in _LABELS.values())


def not_found_answer(question: str) -> str:
    """The sentence that nothing was found, in the language of the question or in English."""
    return in_language_of(question, _LABELS)[0]


def closest_label(language: str) -> str:
    """The label in this language (ISO 639-1), in English if there is none."""
    return " ".join(_LABELS.get(language, _LABELS["en"]))


def part_not_found(number: int, question: str) -> str:
    """The sentence that part `number` of a question, from 0 to 5, is not answered, in its language."""
    return in_language_of(question, _PARTS_NOT_FOUND)[number]


def others_not_read(question: str) -> str:
    """The sentence that not all documents were read, in the language of the question or in English."""
    return in_language_of(question, _NOT_READ)
