"""The wordings that are read without a model: greetings, what users say of themselves, words for documents.

English, German, French and Spanish, only what is certain. In other languages, and in doubt, a message counts
as a question about the documents.
"""

import re

from orc_core.text.normal_forms import normalized
from orc_core.text.terms import is_stop_word, words

DOCUMENT_WORDS = frozenset(
    "document documents file files page pages pdf pdfs attachment attachments upload uploads uploaded paper"
    " papers report reports contract contracts handbook manual manuals chapter chapters"
    " section sections appendix slides spreadsheet lease agreement clause clauses according text"
    " summary summarize summarise summarized give overview topics points main key contents content about"
    " dokument dokumente dokumenten dokuments datei dateien seite seiten anhang anhänge bericht berichte"
    " handbuch kapitel vertrag vertrags verträge abschnitt klausel laut gemäß zusammenfassung zusammenfassen"
    " fasse fass zusammen überblick inhalt steht hochgeladen worum wovon geht handelt habe welches hier"
    " fichier fichiers rapport contrat manuel chapitre bail selon résumé résumer résume résumez aperçu"
    " contenu contient parle traite mes quels quelles quoi"
    " documento documentos archivo archivos fichero página informe contrato capítulo cláusula según resumen"
    " resumir resume contenido contiene trata habla tengo"
    " author authors wrote written published autor autoren verfasser geschrieben verfasst veröffentlicht"
    " auteur auteurs écrit publié autores escrito publicado title titel titre título"
    " mail e email sender sent absender gesendet geschickt expéditeur envoyé remitente enviado correo"
    " sheet sheets slide folie folien blatt blätter diapositives diapositivas feuilles hojas páginas".split()
)
"""Words for documents, for parts of one, for an overview of one and for who wrote it.

They say nothing to search for: a question that has no others is about documents as a whole.
"""

GENERIC_WORDS = frozenset(
    "also find get given go happen help just know let list make many me mean mention most much must my need "
    "only other page part please provide regarding same say see show some such take tell too use used using "
    "various want "
    "bekomme bekommen bekommt darf dürfen gibt ich man mein meine mich mir muss müssen sein soll sollen wir "
    "viele lautet combien cuántos cuántas "
    "dois doit faut mon peut peux pouvons puis debe debo hay mi puede puedo".split()
)
"""What one does with documents, and how much: words that are in every question."""

_GREETINGS = frozenset(
    "hi hiya hello hey morning afternoon evening thanks thank thx cheers bye goodbye great perfect awesome"
    " hallo servus moin morgen tag abend danke dankeschön dank tschüss wiedersehen super toll prima"
    " bonjour bonsoir salut merci revoir journée soirée parfait"
    " hola buenos buenas gracias adiós perfecto".split()
)
_AROUND = frozenset(
    "there orc all everyone good day night you your very so much a lot many for the help again and ok okay"
    " guten gute nacht schön schönen sehr vielen besten herzlichen auf für die deine ihre hilfe und noch"
    " au bonne beaucoup bien pour ton votre aide et à tous días tardes noches qué tal muchas mil por tu su"
    " ayuda y muy".split()
)
"""Words that greetings and thanks have around them."""
_WHO_ARE_YOU = frozenset(
    "how are you|who are you|what are you|what can you do|how can you help me|wie geht es dir|wie geht's"
    "|wer bist du|wer sind sie|was kannst du|was können sie|ça va|qui êtes vous|que pouvez vous faire"
    "|qué tal|quién eres|qué puedes hacer".split("|")
)
_STATEMENT = re.compile(
    r"\s*(?:(?:please|bitte|por favor)\s+)?"
    r"(?:i|i'm|my|we|our|ich|wir|meine?|unsere?|je|mon|ma|nous|notre|yo|mi|nuestr[oa]"
    r"|remember|note that|call me|answer in|from now on|merk dir|antworte|nenn mich|souviens-toi"
    r"|réponds|appelle-moi|recuerda|responde|llámame)\b[^?]*$",
    re.I,
)


def is_small_talk(text: str) -> bool:
    """Whether it is a greeting, thanks or the like and nothing else; a text without a word is, as a thumb."""
    plain = normalized("NFKC", text).casefold().replace("’", "'").replace("ß", "ss")
    spoken = re.findall(r"[^\W_]+(?:'[^\W_]+)*", plain)
    if not spoken or " ".join(spoken) in _WHO_ARE_YOU:
        return True
    return not _GREETINGS.isdisjoint(spoken) and _GREETINGS.union(_AROUND).issuperset(spoken)


def is_statement(text: str) -> bool:
    """Whether the user tells something about themselves, or how they want it, rather than asks."""
    return _STATEMENT.match(text) is not None


def names_documents(text: str) -> bool:
    """Whether it has a word for documents or a part of one."""
    return not DOCUMENT_WORDS.isdisjoint(words(text))


def has_subject(question: str) -> bool:
    """Whether it has a word to search for, besides those for documents and for what one does with them."""
    return any(
        not (is_stop_word(word) or word in GENERIC_WORDS or word in DOCUMENT_WORDS)
        for word in words(question)
    )
