"""The type of a message by its wording alone: small talk, an answer, a statement, a kind of question.

Small talk, statements, mentions of documents and questions about whole documents: English, German, French and
Spanish. Listings: English.
"""

import re
from typing import Literal

from core.text.normal_forms import normalized
from core.text.terms import is_stop_word

LONGEST_SMALL_TALK = 100
"""In characters; what is longer says something."""

MOST_PARTS = 6
"""Questions in one that are answered one by one."""

RECALL_COVERAGE = 0.6
"""The share of a question's terms that an earlier message has to contain to count as its answer."""

_POLITE = """
hi|hello|hey|hiya|good (?:morning|afternoon|evening|night|day)|how are you(?: doing)?(?: today)?
how's it going|what's up|nice to meet you|(?:many )?thanks|thank you|thx|cheers|you're welcome|(?:good)?bye
see you(?: later| soon| tomorrow)?|have a (?:nice|good|great) (?:day|evening|weekend|one)|who are you
what are you|what (?:can|do) you do|what can i ask(?: you)?|how (?:can|do) you help(?: me)?
hallo|servus|moin|grüezi|grüss gott|guten (?:morgen|tag|abend)|gute nacht|wie geht(?:'s| es)(?: dir| ihnen)?
danke(?: schön| sehr| dir| ihnen)?|dankeschön|(?:vielen|besten|herzlichen) dank|tschüss?|auf wiedersehen
bis (?:bald|später|morgen|dann)|schönen (?:tag|abend)(?: noch)?|wer (?:bist du|sind sie)
was (?:kannst du|können sie)(?: tun| alles)?|wie (?:kannst du|können sie) mir helfen
bonjour|bonsoir|salut|coucou|(?:comment )?ça va|comment (?:allez vous|vas tu)|merci|au revoir
à (?:bientôt|demain|plus tard)|bonne (?:journée|soirée|nuit)|tu es qui|qui (?:es tu|êtes vous)
que (?:peux tu|pouvez vous) faire|qu'est ce que tu peux faire
hola|buenos días|buenas(?: tardes| noches)?|qué tal|cómo est(?:ás|á|án)|(?:muchas |mil )?gracias|adiós
hasta (?:luego|mañana|pronto)|quién (?:eres|es usted)|qué puedes? hacer|ciao|grazie
great|perfect|awesome|wonderful|excellent|well done|super|toll|prima|wunderbar|parfait|génial|perfecto|genial
"""
_ANSWERS = """
yes|yep|yeah|no|nope|sure|please(?: do)?|ja|nein|genau|gerne?|bitte|oui|non|sí|si|claro|vale|go ahead|do it
"""
_TAKEN_IN = """
ok|okay|alright|all right|got it|i see|fine|understood|verstanden|alles klar|in ordnung|d'accord|compris
entendu|de acuerdo|entendido
"""
_AROUND = """
there|orc|all|everyone|everybody|team|again|so much|very much|a lot|and|for that
for (?:your|the|all your) help
und|nochmals?|sehr|für (?:die|deine|ihre|eure) hilfe|et|à tous|beaucoup|bien|très bien|infiniment
pour (?:ton|votre) aide|y|muy bien|por (?:tu|su|la) ayuda|very|good|nice|cool|gut
"""


def _any_of(phrases: str) -> str:
    return "|".join(phrases.strip().splitlines())


_POLITELY = rf"(?P<polite>{_any_of(_POLITE)})"
_PHRASE = re.compile(
    rf"(?:{_POLITELY}|(?P<answer>{_any_of(_ANSWERS)})|{_any_of(_TAKEN_IN)}|{_any_of(_AROUND)})(?: |$)"
)
_STATEMENT = re.compile(
    r"\s*(?:(?:please|bitte|por favor)\s+)?"
    r"(?:i|i'm|my|we|our|ich|wir|meine?|unsere?|je|mon|ma|nous|notre|yo|mi|nuestr[oa]"
    r"|remember|note that|call me|answer in|from now on|merk dir|antworte|nenn mich|souviens-toi"
    r"|réponds|appelle-moi|recuerda|responde|llámame)\b[^?]*$",
    re.I,
)
_DOCUMENTS = re.compile(
    r"\b(?:documents?|files?|pages?|pdfs?|attachments?|uploads?|papers?|reports?|contracts?|handbooks?|manuals?"
    r"|polic(?:y|ies)|chapters?|sections?|appendix|slides?|spreadsheets?|leases?|agreements?|clauses?"
    r"|according to"
    r"|dokument(?:e|en|s)?|datei(?:en)?|seiten?|anhang|anhänge|berichte?s?|handb(?:uch|ücher)|kapitel"
    r"|\w*vertr(?:ag(?:e?s)?|ägen?)|abschnitte?|klauseln?|laut|gemäß"
    r"|fichiers?|pièces? jointes?|rapports?|contrats?|manuels?|chapitres?|bail|baux|selon|d'après"
    r"|documentos?|archivos?|ficheros?|páginas?|adjuntos?|informes?|contratos?|manual(?:es)?|capítulos?"
    r"|cláusulas?|según)\b",
    re.I,
)

_LISTING = re.compile(
    r"\b(?:which|what|list|show|how many|any)\b[^.?!]{0,30}"
    r"\b(?:documents?|files?|attachments?|uploads?|pdfs?)\b",
    re.I,
)
_ABOUT_CONTENT = re.compile(
    r"\b(?:says?|said|about|contains?|mentions?|according|in (?:the|this|that))\b", re.I
)
_WHOLE = (
    r"(?:this|these|the|it|that)(?: (?:\w+ )?(?:documents?|files?|pdfs?|reports?|papers?|presentations?"
    r"|slides|e-?mails?|mails?|letters?|contracts?|leases?|agreements?|manuals?|polic(?:y|ies)|guides?|spreadsheets?"
    r"|minutes|protocols?|articles?|stud(?:y|ies)|invoices?|proposals?|specifications?|data ?sheets?|syllabus"
    r"|tables?|brochures?|texts?|attachments?))?"
)
_TEXT_DE = (
    r"(?:das|dies(?:e[rsnm]?)?|der|die|den|es)"
    r"(?: (?:dokument|text|bericht|datei|papier|artikel|buch|vertrag|handbuch|e?-?mail|brief|schreiben|studie"
    r"|präsentation|protokoll|anleitung|ordnung))?"
)
_TEXT_FR = r"(?:ceci|cela|(?:ce|cet|cette|le|la) \w+|l['’]\w+)"
_TEXT_ES = r"(?:esto|(?:este|esta|el|la) \w+)"
_POINTS = r"(?:points|topics|ideas|takeaways|messages|findings)"
_ASKS_OVERVIEW = re.compile(
    r"\b(?:summar(?:y|i[sz]e)|overview|tl;?dr"
    r"|zusammenfassung|zusammenfassen|fass(?:e|en)?\b.{0,200}? zusammen|überblick"
    r"|wor(?:um|über) (?:geht es|geht's|handelt)(?! (?:bei|um|in de[rm] \w+ \d))|wovon handelt"
    r"|résum(?:é|er|ez|e)|de quoi (?:parle|s'agit|traite|est-il question)"
    r"|resum(?:en|ir|e(?= (?:el|la|l[ao]s|lo|est[aeo]s?|mi|todo)\b))|de qué (?:trata|se trata|habla))\b"
    rf"|\b(?:main|key|most important) {_POINTS}(?: (?:of|in|from) {_WHOLE})?\s*\??$"
    r"|\b(?:haupt|kern)(?:punkte|aussagen|themen)(?: \w+ \w+)?\s*\??$"
    rf"|\bwichtigsten (?:punkte|aussagen|themen|ergebnisse)(?: (?:in|von|aus) {_TEXT_DE}| \w+ \w+)?\s*\??$"
    rf"|\bpoints (?:principaux|clés|essentiels|importants)(?: de {_TEXT_FR}| du \w+)?\s*\??$"
    rf"|\bpuntos (?:principales|clave|(?:más )?importantes)(?: de {_TEXT_ES}| del \w+)?\s*\??$"
    rf"|(?<!and )\bwhat(?: is|'s| are| does| do) {_WHOLE} (?:all )?(?:about|for|covers?)\s*\??$"
    rf"|\bwhat(?: is|'s| are)(?: in)? {_WHOLE}\s*\?*$",
    re.I,
)
_SUMMARY_OF = re.compile(
    r"\b(?:summari[sz]e|(?:summary|overview) (?:of|about|on)"
    r"|(?:zusammenfassung|überblick) (?:de[rs]|von|über|zu[mr]?)|fass(?:e|en)?(?: (?:mir|uns|sie|bitte))*)"
    r" ([^.?!,;:'’]{2,80}?)"
    r"(?: zusammen\b|[.?!,;:'’]| (?:in|as|with|and|auf|als|mit|und) "
    r"| (?:for (?:me|us|my|our|an?)|für (?:mich|uns|meine?n?|unsere?n?|eine?n?))\b|$)",
    re.I,
)
_OF_DOCUMENTS = frozenset(
    "document documents text texts file files pdf page pages report reports paper papers article"
    " articles book contract agreement lease manual guide handbook mail email letter study survey"
    " presentation slides spreadsheet table attachment upload everything whole entire main key most"
    " important points topics ideas results findings takeaways content contents conclusions two three"
    " dokument dokumente dokuments datei dateien bericht berichts papier artikel artikels buch vertrag"
    " vertrags handbuch handbuchs brief schreiben studie präsentation protokoll anleitung ordnung seite"
    " seiten textes ganze ganzen gesamte wichtigste wichtigsten punkte themen ergebnisse aussagen"
    " inhalt inhalte kurz policy minutes memo statement proposal plan brochure leaflet notice invoice"
    " tender thesis essay post story speech transcript terms conditions specification richtlinie satzung"
    " rechnung angebot mitteilung text".split()
)
"""Words of which a summary is one of whole documents."""
_ASKS_AUTHOR = re.compile(
    rf"\bwho (?:wrote|authored|published|drafted) {_WHOLE}\s*\??$"
    rf"|\bwho (?:is|are|was|were) the (?:authors?|writers?)(?: (?:of|behind) {_WHOLE})?\s*\??$"
    rf"|\bwer hat {_TEXT_DE} (?:geschrieben|verfasst|veröffentlicht|erstellt|herausgegeben)\s*\??$"
    r"|\bwer (?:ist|sind|war|waren) (?:der|die) (?:autor|verfasser)\w*(?: (?:des|der|dieses|dieser"
    r"|davon)\b ?\w*)?\s*\??$"
    rf"|\bvon wem (?:ist|stammt) {_TEXT_DE}\s*\??$"
    rf"|\bqui a (?:écrit|rédigé|publié) {_TEXT_FR}\s*\??$"
    rf"|\bqui (?:est|sont) (?:l['’]auteure?|les auteure?s)(?: de {_TEXT_FR}| du \w+)?\s*\??$"
    rf"|\bquién(?:es)? (?:escribi(?:ó|eron)|redact(?:ó|aron)|public(?:ó|aron)) {_TEXT_ES}\s*\??$"
    rf"|\bquién(?:es)? (?:es|son) (?:el|la|los|las) autor\w*(?: de {_TEXT_ES}| del \w+)?\s*\??$",
    re.I,
)
_ASKS_DATE = re.compile(
    rf"\bwhen (?:was|is|were) {_WHOLE} (?:published|written|issued|released|created|dated|sent)\s*\??$"
    rf"|\bwhat(?: is|'s) the (?:publication |issue )?date of {_WHOLE}\s*\??$"
    rf"|\bhow (?:old|recent|current) (?:is|are) {_WHOLE}\s*\??$"
    rf"|\bwann (?:wurde|ist|war) {_TEXT_DE} (?:veröffentlicht|geschrieben|verfasst|erschienen|erstellt"
    r"|herausgegeben|gesendet|verschickt)(?: worden)?\s*\??$"
    rf"|\bvon wann (?:ist|stammt) {_TEXT_DE}\s*\??$"
    rf"|\bquand (?:a été|fut) (?:écrit|publié|rédigé)e? {_TEXT_FR}\s*\??$"
    rf"|\bquand {_TEXT_FR} a(?:-t-(?:il|elle))? été (?:écrit|publié|rédigé)e?\s*\??$"
    rf"|\bde quand date {_TEXT_FR}\s*\??$"
    rf"|\bcuándo (?:se (?:publicó|escribió|redactó)|fue (?:publicad|escrit|redactad)[oa]) {_TEXT_ES}\s*\??$",
    re.I,
)
_ASKING = (
    r"(?:how|what|when|where|who|which|why|wie|was|wann|wo|wer|welche[rsnm]?|warum"
    r"|bis zu|seit wann|combien|quand|où|qui|quel(?:le)?s?|à|cuánt[oa]s?|cuándo|dónde|quién|qué)\b"
)
_BEGINS_TO_ASK = re.compile(rf"[¿\s]*+{_ASKING}", re.I)
_MARKS = ("?", "？")
_ASKED = re.compile(r"(?<=[?？])\s+")
_PARTS = re.compile(rf",? (?:and|und|et|y) (?={_ASKING})", re.I)
_LISTED_PARTS = re.compile(
    rf"(?:,? (?:and|und|et|y)|,(?! which (?:is|are|was|were|has|have|can|may|must)\b)) (?={_ASKING})", re.I
)
_KIND_ASKED_FOR = re.compile(r"\b(?:which|what|welche[rsnm]?|quel(?:le)?s?|qué|cuáles) (\w+)", re.I)
_REFERS = re.compile(
    r"\b(?:its?|they|them|theirs?|he|him|his|she|hers?|one|er|sie|ihre?|seine?|il|elle|son|sa|su)\b", re.I
)
_ASKS_EXPLANATION = re.compile(
    r"\b(?:how(?! (?:much|many|long|often|old|high|large|deep|far|fast|big|heavy)\b)|why|explain|describe"
    r"|what (?:happens|should|steps)"
    r"|wie(?! ?(?:viele?|lange?|hoch|oft|groß|schwer|alt|weit)\b)|warum|weshalb|wieso|erkläre?|beschreibe?"
    r"|was (?:passiert|geschieht)|comment|pourquoi|expliquez?|cómo|por qué|explica)\b",
    re.I,
)
_WEATHER = r"(?:weather|wetter|météo)"
_NOW = (
    r"(?:today|tonight|tomorrow|right now|outside|this (?:week|weekend|evening|afternoon)|like"
    r"|heute|morgen|draußen|gerade|jetzt|aujourd'hui|demain)"
)
_NO_DOCUMENT = re.compile(
    rf"\b{_WEATHER}\b.*\b{_NOW}\b|\b{_NOW}\b.*\b{_WEATHER}\b|^how(?:'s| is) the weather"
    r"|\bquel temps (?:fait|fera)\b|\bqué tiempo hará\b"
    r"|\bwhat(?:'s| is) the (?:time|date)(?: now| today| right now)?\s*\?*$|\bwhat time is it\b"
    r"|\bwhat day is (?:it|today)\b|\bwie spät ist es\b|\bquelle heure est-il\b|\bqué hora es\b"
    r"|\b(?:tell|write|give|sing|compose)\b(?: \w+){0,3} (?:joke|poem|song|haiku|limerick|riddle)\b"
    r"|\b(?:erzähl|schreib|sing)\w*\b(?: \w+){0,3} (?:witz|gedicht|lied|rätsel)\b"
    r"|\b(?:raconte|écris)\w*\b(?:[ -]\w+){0,3} (?:blague|poème|chanson)\b"
    r"|\b(?:cuenta|cuéntame|escribe|escríbeme)\b(?: \w+){0,3} (?:chiste|poema|canción)\b"
    r"|^\s*(?:(?:what(?:'s| is)|how much is|calculate|was ist|wie viel ist|combien font|cuánto es)\s+)?"
    r"[\d.,\s()]*\d\s*[-+*/×÷^]\s*[\d.,\s()+*/×÷^-]*\d[\d.,\s()]*\s*[=?]*\s*$",
    re.I,
)
"""The weather and the time of now, jokes and poems, bare arithmetic."""


def is_small_talk(text: str) -> bool:
    """Whether it is a greeting, thanks or the like and nothing else, whatever was said before."""
    said = _courtesies(text)
    return "polite" in said and "answer" not in said


def is_bare_answer(text: str) -> bool:
    """Whether it only agrees or declines: what to, only the message before it can tell."""
    said = _courtesies(text)
    return bool(said) and not is_small_talk(text)


def is_statement(text: str) -> bool:
    """Whether the user tells something about themselves, or how they want it, rather than asks."""
    return _STATEMENT.match(text) is not None


def mentions_documents(text: str) -> bool:
    """Whether it names documents or a part of one."""
    return _DOCUMENTS.search(text) is not None


def concerns_no_document(question: str) -> bool:
    """Whether it clearly asks for what no document has: today's weather, the time, a joke, arithmetic."""
    plain = question.replace("’", "'")
    if len(plain) > LONGEST_SMALL_TALK or mentions_documents(plain):
        return False
    return _NO_DOCUMENT.search(plain) is not None


def asks_for_listing(question: str) -> bool:
    """Whether the question asks which documents there are, and not what they say."""
    return _LISTING.search(question) is not None and _ABOUT_CONTENT.search(question) is None


def asks_for_overview(question: str) -> bool:
    """Whether the question asks what documents are about, rather than for one statement in them."""
    return _ASKS_OVERVIEW.search(question) is not None


def topic_of_summary(question: str) -> str | None:
    """The words for what is to be summarised, if it is a topic rather than a document. English and German."""
    found = _SUMMARY_OF.search(question)
    named = re.findall(r"[^\W_]+", found[1]) if found else []
    topic = [word for word in named if not is_stop_word(word.lower()) and word.lower() not in _OF_DOCUMENTS]
    return " ".join(topic) or None


WholeQuestion = Literal["overview", "author", "date"]


def asks_about_whole(question: str) -> WholeQuestion | None:
    """What the question asks about whole documents, rather than about what they say; None if it does not."""
    if _ASKS_AUTHOR.search(question):
        return "author"
    if _ASKS_DATE.search(question):
        return "date"
    return "overview" if asks_for_overview(question) else None


def asked_parts(question: str) -> list[str]:
    """The questions that it consists of, such as two joined by `and when`; the last has all that follow.

    A comma separates questions only in a list of them, which begins with one and ends in `and when`:
    elsewhere a relative clause begins there (`, which is ...`), or what follows `Tell me`.
    """
    asked = _ASKED.split(question.strip())
    if len(asked) > 1 and all(part.endswith(_MARKS) for part in asked):
        parts = [part for each in asked for part in _joined_parts(each)]
        rest = " ".join(parts[MOST_PARTS - 1 :])
        return [*parts[: MOST_PARTS - 1], *filter(None, [rest])]
    return _joined_parts(question)


def _joined_parts(question: str) -> list[str]:
    is_list = _BEGINS_TO_ASK.match(question) and _PARTS.search(question)
    return (_LISTED_PARTS if is_list else _PARTS).split(question, maxsplit=MOST_PARTS - 1)


def kind_asked_for(question: str) -> str:
    """The word for the things of which it asks which ones, as `sites` in `Which sites ...`, or nothing."""
    found = _KIND_ASKED_FOR.search(question)
    return found[1] if found else ""


def refers_back(part: str) -> bool:
    """Whether a part of a question has a word for what an earlier part names, such as `it`."""
    return _REFERS.search(part) is not None


def asks_for_explanation(question: str) -> bool:
    """Whether the question asks how or why, which may take more than one sentence to answer."""
    return _ASKS_EXPLANATION.search(question) is not None


def _courtesies(text: str) -> list[str]:
    """The kinds of the phrases that the text is made of; none if it says anything else.

    A text without a word, such as a thumb, is made of a sign.
    """
    plain = normalized("NFKC", text).casefold().replace("’", "'").replace("ß", "ss")
    spoken = " ".join(re.findall(r"[^\W_]+(?:'[^\W_]+)*", plain))
    if len(spoken) > LONGEST_SMALL_TALK:
        return []
    found, at = [] if spoken else ["sign"], 0
    while at < len(spoken):
        if (phrase := _PHRASE.match(spoken, at)) is None:
            return []
        found.append(phrase.lastgroup or "other")
        at = phrase.end()
    return found
