"""Words that decide what a sentence states: negations, opposites, prepositions, verbs, headings."""

NEGATIONS: dict[str, frozenset[str]] = {
    language: frozenset(words.split())
    for language, words in {
        "en": "not no never without neither nor none nobody nothing nowhere cannot hardly",
        "de": "nicht kein keine keinen keinem keiner keines nie niemals ohne weder nichts niemand",
        "fr": "pas jamais aucun aucune sans rien ni personne",
        "es": "no nunca jamás sin ningún ninguna ninguno nada nadie tampoco ni",
        "it": "non mai senza nessun nessuna nessuno niente né",
        "nl": "niet geen nooit zonder niets niemand noch",
    }.items()
}
ALL_NEGATIONS = frozenset[str]().union(*NEGATIONS.values())

_OPPOSITES = (
    "rise rises rose risen rising increase increases increased increasing grew grow grows gained up"
    " | fall falls fell fallen falling decrease decreases decreased decreasing drop dropped decline declined"
    " declines shrank down reduced",
    "minimum least lowest smallest min | maximum most highest largest max",
    "before earlier | after later",
    "above over more greater exceeds | below under less fewer",
    "first | last",
    "open opens opened | close closes closed",
    "start starts started begin begins began | end ends ended",
    "allowed permitted allows permits | forbidden prohibited banned disallowed forbids prohibits",
    "mandatory required compulsory obligatory | optional voluntary",
    "include includes included including | exclude excludes excluded excluding",
    "accept accepts accepted approve approves approved | reject rejects rejected refuse refuses refused",
    "win wins won | lose loses lost",
    "buy buys bought purchase | sell sells sold sale",
    "internal | external",
    "import imports imported | export exports exported",
    "tenant tenants lessee lessees | landlord landlords lessor lessors",
    "buyer buyers purchaser | seller sellers vendor vendors",
    "lender lenders creditor creditors | borrower borrowers debtor debtors",
    "employer employers | employee employees",
    "supplier suppliers provider providers | customer customers client clients",
    "hot hotter warm | cold colder cool",
    "always | sometimes rarely seldom",
    "daily | weekly | monthly | quarterly | yearly annual annually",
)
SIDE_OF: dict[str, str] = {
    word: f"{number}.{side}"
    for number, pair in enumerate(_OPPOSITES)
    for side, words in enumerate(pair.split("|"))
    for word in words.split()
}
"""Each word of a pair of opposites with the side that it is on: those of one side mean the same here."""

PREPOSITIONS = frozenset(
    "in on at from to by within about under of for with since until before after over between per "
    "von nach bis seit aus bei mit für durch de à au en par pour a con per da van naar door voor".split()
)
AGENTS = frozenset("by durch par por door".split())
CONJUNCTIONS = frozenset("and but while whereas or und aber während oder et mais ou pero ma maar".split())

VERBS = frozenset(
    "is are was were be been am isn't aren't has have had may might can could must shall should will would do"
    " does did need needs"
    " ist sind waren wird werden wurde wurden hat haben hatte hatten darf dürfen kann können muss müssen soll"
    " sollen sollte sollten"
    " est sont était étaient sera seront ont avait peut peuvent doit doivent faut"
    " son está están fue será ha han puede pueden debe deben hay tiene tienen".split()
)
"""With which a sentence states something, if it goes on: forms that no main verb does without."""
PREDICATES = frozenset(
    "allowed permitted forbidden prohibited banned required mandatory optional free welcome included excluded"
    " due valid erlaubt gestattet verboten untersagt zulässig unzulässig kostenlos frei inbegriffen"
    " autorisé autorisée autorisés autorisées permis permise interdit interdite interdits interdites"
    " obligatoire gratuit gratuite inclus permitido permitida permitidos prohibido prohibida prohibidos"
    " obligatorio obligatoria gratis incluido incluida".split()
)
"""What states something without a verb too: `Smoking permitted`."""
LEADING_WORDS = frozenset(
    "following follows summary overview answer answers details information main key important relevant"
    " general points rules conditions terms steps cases exceptions options requirements items list section"
    " sections article chapter page part paragraph appendix document documents conclusion note notes"
    " example examples first second third also"
    " folgende folgenden folgendes folgt zusammenfassung überblick antwort einzelheiten wichtige wichtigsten"
    " punkte regeln bedingungen schritte fälle ausnahmen abschnitt artikel kapitel seite teil dokument"
    " dokumente fazit hinweis hinweise beispiel beispiele laut gemäß gilt gelten"
    " suivant suivante suivants suivantes résumé aperçu réponse détails principaux principales points règles"
    " conditions étapes cas exceptions chapitre partie conclusion exemple exemples selon"
    " siguiente siguientes resumen respuesta detalles principales puntos reglas condiciones pasos casos"
    " excepciones artículo capítulo página parte documento documentos conclusión ejemplo ejemplos"
    " según".split()
)
"""Words of headings and of leads that tell of the answer itself."""
