"""Words that negate, and words that are opposites of each other."""

NEGATIONS: dict[str, frozenset[str]] = {
    language: frozenset(words.split())
    for language, words in {
        "en": "not no never without neither nor none nobody nothing nowhere cannot hardly",  # prose: data
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
"""Each word of a pair of opposites with its side; words of one side count as the same."""
