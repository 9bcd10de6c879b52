"""Words that negate, and words that are opposites of each other."""

from functools import lru_cache

from core.text.numbers import MONTHS

NEGATIONS: dict[str, frozenset[str]] = {
    language: frozenset(words.split())
    for language, words in {
        "en": "not no never without neither nor none nobody nothing nowhere"  # prose: data
        " cannot hardly lack lacks lacked lacking",
        "de": "nicht kein keine keinen keinem keiner keines nie niemals ohne weder nichts niemand",
        "fr": "pas jamais aucun aucune sans rien ni personne",
        "es": "no nunca jamás sin ningún ninguna ninguno nada nadie tampoco ni",
        "it": "non mai senza nessun nessuna nessuno niente né",
        "nl": "niet geen nooit zonder niets niemand noch",
    }.items()
}
ALL_NEGATIONS = frozenset[str]().union(*NEGATIONS.values())

ONLY = frozenset("only solely exclusively nur ausschließlich seulement uniquement sólo únicamente".split())

QUANTIFIERS = frozenset("every each several most many few both".split())
CONDITIONS = frozenset(
    "if unless except excluding exception exceptions excepted provided wenn falls sofern außer ausnahme"
    " ausgenommen si sauf hormis salvo excepto siempre".split()
)
"""Words before a condition or an exception."""
EXCEPTIONS = frozenset(
    "except excluding exception exceptions excepted außer ausnahme ausgenommen sauf hormis salvo"
    " excepto".split()
)
"""Words before an exception, which begins with the next content word."""
IN_CASE = CONDITIONS | frozenset("when whenever case where only fall cas caso cuando lorsque quand".split())
"""Words with which a claim can keep a condition that it gives in other words."""

_OPPOSITES = (
    "raise raises raised raising rise rises rose risen rising increase increases increased increasing grew"
    " grow grows gained up"
    " | fall falls fell fallen falling decrease decreases decreased decreasing drop dropped decline declined"
    " declines shrank down reduced reduces reducing cut cuts lower lowers lowered lowering",
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
    "daily | weekly | biweekly fortnightly | monthly | quarterly | yearly annual annually",
)
SIDE_OF: dict[str, str] = {
    word: f"{number}.{side}"
    for number, pair in enumerate(_OPPOSITES)
    for side, words in enumerate(pair.split("|"))
    for word in words.split()
}
"""Each word of a pair of opposites with its side; words of one side count as the same."""
_UP_AND_DOWN = (
    "steigt steigen stieg stiegen gestiegen erhöht erhöhte erhöhten wuchs gewachsen zunahm"
    " augmente augmentent augmenté augmentée augmentés progressé hausse"
    " aumenta aumentan aumentó aumentaron aumentado sube suben subió subieron subir subida creció aumento"
    " | sinkt sinken sank sanken gesunken senkt senkte senkten verringert fielen gefallen zurückging"
    " zurückgingen zurückgegangen zurück diminue diminuent diminué diminuée baisse baissent baissé baissée"
    " recule reculent reculé"
    " disminuye disminuyen disminuyó disminuyeron disminución baja bajan bajó bajaron bajar bajada redujo"
    " redujeron reducido descendió cayó"
)
CHANGES = frozenset(f"{_OPPOSITES[0]} {_UP_AND_DOWN} passe passé passée passent pasó".split()) - {"|"}
"""Words of a change from one number to another."""

_MODALS = (
    "may can could might able allowed permitted kann können könnte könnten darf dürfen dürfte erlaubt peut"
    " peuvent pourrait puede pueden podría podrán podrá permitido"
    " | must shall will need needs needed required requires require necessary obliged mandatory muss müssen"
    " musste mussten verpflichtet doit doivent devra debe deben deberá requiere necesario obligatoire"
    " | should ought encouraged recommended advised sollte sollten devrait devraient debería deberían"
)
MODALS = frozenset(_MODALS.split()) | frozenset("interdit interdite verboten prohibido forbidden".split())
TIMES = frozenset(
    "after once when nach nachdem sobald bei après lorsque quand dès tras cuando partir".split()
)
"""Words before a time that can be the condition of what may, must or must not be done."""
CONDITIONS_OR_TIMES = CONDITIONS | TIMES
ENDLESS = EXCEPTIONS | TIMES
"""Words before a condition that can end without a mark."""
_ORDINALS = (
    "first 1st erste ersten erster erstes premier première primer primera primero"
    " | second 2nd zweite zweiten zweiter zweites deuxième segundo segunda"
    " | third dritte dritten dritter drittes troisième tercer tercera tercero"
    " | fourth vierte vierten vierter quatrième cuarto cuarta | fifth fünfte fünften cinquième quinto quinta"
    " | next nächste nächsten prochain próximo próxima | previous vorige vorigen précédent anterior"
    " | last letzte letzten letzter dernier dernière último última"
)
ORDINALS = frozenset(_ORDINALS.split()) - {"|"}
_UNITS = (
    "μg mcg microgram micrograms | mg milligram milligrams | g gram grams gramm gramme gramos"
    " | kg kilogram kilograms kilogramm kilos | t ton tons tonne tonnes tonnen toneladas"
    " | pound pounds lb lbs | ounce ounces oz | ml millilitre millilitres milliliter milliliters | cl | dl"
    " | litre litres liter liters litros | gallon gallons",
    "mm | cm | m metre metres meter meters mètre mètres metro metros"
    " | km kilometre kilometres kilometer kilometers kilomètres kilómetros | mile miles millas"
    " | foot feet | inch inches | yard yards",
    "w watt watts | kw kilowatt kilowatts | mw megawatt megawatts | gw | kwh | mwh | gwh",
    "mv | v volt volts | kv",
    "hz | khz | mhz | ghz",
    "pa | kpa | mpa | mbar | bar",
    "kb | mb | gb | tb",
)
UNIT_OF = {name: names.split()[0] for group in _UNITS for names in group.split("|") for name in names.split()}
"""The names of units with one name for each: `grams` is `g`."""
_CONTRASTS = (
    # What one may, should or must do; what was done and what is planned; how sure it is.
    _MODALS,
    "was were had wurde wurden était étaient fue fueron | will shall sera seront será serán",
    "planned proposed requested expected estimated forecast budgeted draft"
    " | approved completed final actual reported measured adopted",
    "if when wenn falls sofern si cuando | unless",
    # How many, and how often.
    "all every each alle allen aller jede jeder jedes jeden tous toutes chaque todos todas cada"
    " | some several einige manche certains certaines quelques algunos algunas varios"
    " | most majority meisten plupart mayoría | many viele beaucoup muchos muchas | few wenige peu"
    " pocos pocas",
    "both beide beiden ambos ambas | either",
    "always immer toujours siempre | usually generally typically normally normalerweise meist généralement"
    " normalmente | often frequently häufig oft souvent | sometimes occasionally manchmal parfois",
    "once einmal | twice zweimal | thrice dreimal",
    # Order and time.
    _ORDINALS,
    "before prior vor vorher avant antes | after nach nachher après después",
    "from since ab seit dès depuis desde | until till bis jusqu hasta",
    "already bereits schon déjà ya | still",
    "early earlier früh früher tôt temprano | late later spät später tard tarde",
    "am | pm",
    "morning mornings morgens vormittags matin mañana | afternoon afternoons nachmittags"
    " | evening evenings abends soir | noon midday mittags midi mediodía | midnight mitternacht minuit"
    " | night nights nachts nuit noche",
    "monday mondays montag montags lundi lunes | tuesday tuesdays dienstag dienstags mardi martes"
    " | wednesday wednesdays mittwoch mittwochs mercredi miércoles"
    " | thursday thursdays donnerstag donnerstags jeudi jueves"
    " | friday fridays freitag freitags vendredi viernes"
    " | saturday saturdays samstag samstags sonnabend samedi sábado"
    " | sunday sundays sonntag sonntags dimanche domingo",
    "weekday weekdays werktags | weekend weekends wochenende",
    "spring frühling frühjahr printemps primavera | summer sommer été verano"
    " | autumn fall herbst automne otoño | winter hiver invierno",
    # Units.
    "ms milliseconds | second seconds sec secs sekunde sekunden"
    " | minute minutes min mins minuten minuto minutos"
    " | hour hours hourly h hr hrs stunde stunden heure heures hora horas"
    " | day days daily tag tage tagen jour jours día días"
    " | week weeks weekly woche wochen semaine semaines semana semanas"
    " | month months monthly monat monate monaten mois mes meses"
    " | year years yearly annual annually jahr jahre jahren ans année año años"
    " | decade decades | century centuries siglo siglos siècle siècles",
    *_UNITS,
    # Direction, size and kind.
    "left links gauche izquierda | right rechts droite derecha",
    "north northern nord nördlich norte | south southern süd südlich sud"
    " | east eastern ost östlich | west western westlich ouest oeste",
    "inside innerhalb within | outside außerhalb dehors",
    "top upper oben haut | bottom lower unten bas abajo",
    "front vorne avant delantero | rear hinten arrière trasero",
    "high higher hoch höher élevé alto | low lower niedrig niedriger bas bajo",
    "large larger big größer groß grand | small smaller kleiner klein petit",
    "long longer länger | short shorter kürzer",
    "old older oldest | new newer newest | young younger youngest",
    _UP_AND_DOWN,
    "täglich quotidien diario | wöchentlich hebdomadaire semanal | monatlich mensuel mensual"
    " | vierteljährlich trimestriel trimestral | jährlich annuel anual",
    "recover recovers recovered survive survives survived | die dies died",
    "better best besser mieux mejor | worse worst schlechter pire peor",
    "red rot rote roten rouge rojo roja | green grün grüne grünen vert verte verde"
    " | blue blau blaue blauen bleu bleue azul | yellow gelb gelbe gelben jaune amarillo"
    " | black schwarz schwarze schwarzen noir noire negro negra"
    " | white weiß weiße weißen blanc blanche blanco blanca",
    "gross brutto brut bruto | net netto neto",
    "input | output",
    "domestic inländisch national | international foreign ausländisch étranger",
    "public öffentlich öffentliche publique público | private privat private privé privado",
    "primary | secondary",
    "same | different",
    "loss losses deficit deficits verlust verluste perte pertes pérdida | income profit profits gain gains"
    " surplus surpluses gewinn gewinne bénéfice bénéfices ganancia beneficio",
    "positive | negative",
    "granted grants grant approved accepted agreed adopted genehmigt bewilligt angenommen stattgegeben"
    " accordé aprobado | denied denies deny refused refuses rejected dismissed withdrawn abgelehnt"
    " abgewiesen refusé rejeté rechazado",
    "gestattet erlaubt zulässig autorisé permis permitido | untersagt verboten unzulässig interdit prohibido",
    "beginnt beginnen begann commence commencent empieza comienza | endet enden endete termine terminent"
    " termina acaba",
    "inklusive inkl einschließlich | zuzüglich zzgl exklusive exkl",
    "compris comprise comprises | hors",
    "cover covers covered include includes included | exclude excludes excluded",
    "for für pour | against gegen contre contra",
    "on | off",
    "born birth | died dead death deceased",
    "improve improves improved | worsen worsens worsened deteriorate deteriorated",
    "supported | deprecated unsupported",
    "advance | arrears",
    "clockwise | counterclockwise anticlockwise",
    "licensor | licensee",
    "assignor | assignee",
    "arrive arrives arrived arrival | leave leaves left depart departs departed departure",
    "double doubles doubled twofold verdoppelt | triple triples tripled threefold"
    " | halve halves halved halbiert",
    "mean average | median",
    "widen widened widens | narrow narrowed narrows shrink shrank shrinks",
    "debit debits debited | credit credits credited",
    "plaintiff plaintiffs claimant claimants kläger | defendant defendants beklagter beklagte",
    "mother mutter mère madre | father vater père padre",
    "husband | wife",
    "brother brothers | sister sisters",
    "son sons | daughter daughters",
    "mr herr monsieur señor | mrs ms frau madame señora",
    "cheap cheaper cheapest billiger | expensive dearer teurer",
    "fast faster fastest schneller | slow slower slowest langsamer",
    "heavy heavier heaviest | light lighter lightest",
    "wet | dry",
    "vertical | horizontal",
    "acute | chronic",
    "benign | malignant",
    "urban | rural",
    "onshore | offshore",
    "asset assets | liability liabilities",
    "passed | failed",
    "adult adults erwachsene erwachsenen adultes adultos | child children kinder kindern enfants niños",
    "male men man männer hommes hombres | female women woman frauen femmes mujeres",
    "patient patients | doctor doctors physician physicians",
    "teacher teachers lehrer enseignant enseignants profesor profesores"
    " | student students pupil pupils schüler élève élèves alumno alumnos",
    "mieter locataire locataires inquilino | vermieter bailleur propriétaire arrendador",
    "käufer acheteur comprador | verkäufer vendeur vendedor",
    "arbeitnehmer salarié salariés empleado | arbeitgeber employeur empleador",
)
"""Words of one group exclude each other, but a text may leave them out or use others."""
_MONTHS = " | ".join(
    " ".join(name for name, number in MONTHS.items() if number == month and name != "may")
    for month in range(1, 13)
)
PREFIXES = ("un", "in", "im", "il", "ir", "dis", "mis", "non")
QUALIFIERS = frozenset(
    "non ex vice deputy former acting interim assistant alleged attempted ehemalige ehemaliger ehemaligen"
    " stellvertretende stellvertretender stellvertretenden mutmaßliche mutmaßlicher ancien ancienne"
    " anciens anciennes antiguo antigua antiguos antiguas".split()
)
"""Words that make the next one mean something else, as a prefix does: `vice president`, `non refundable`."""
DENIALS = dict.fromkeys(
    "fail fails failed failing failure refuse refuses refused decline declines declined forgot neglected"
    " unable unlikely".split(),
    "to",
) | dict.fromkeys("deny denies denied denying false untrue".split(), "that")
"""Words that negate with the next one: `failed to pay`, `denied that he paid`, see denies."""
MAYBE = frozenset(
    "may might could possibly perhaps probably allegedly reportedly presumably könnte könnten"
    " möglicherweise vielleicht angeblich vermutlich peut-être pourrait pourraient"
    " podría podrían quizás".split()
)
"""Words of a page that leave open whether its sentence is true; a claim keeps one of them, or of POSSIBLE."""
POSSIBLE = MAYBE | frozenset(
    "can able allowed permitted entitled possible option optional likely kann können darf dürfen peut peuvent"
    " puede pueden erlaubt permis".split()
)
_SHORTEST_PREFIXED = 4

Sides = frozenset[tuple[str, str]]
"""Groups of words that exclude each other, each with the side of it that a text has."""

_CONTRASTED: dict[str, set[tuple[str, str]]] = {}
for _number, _group in enumerate((*_CONTRASTS, _MONTHS)):
    for _side, _words in enumerate(_group.split("|")):
        for _word in _words.split():
            _CONTRASTED.setdefault(_word, set()).add((str(_number), str(_side)))


def denies(word: str, following: str) -> bool:
    """Whether a word negates what follows: `failed to pay`, `denied that he paid`, `denied paying`."""
    wanted = DENIALS.get(word)
    return wanted is not None and (following == wanted or (wanted == "that" and following.endswith("ing")))


@lru_cache(4096)
def sides_of(word: str) -> Sides:
    """The sides of a word in lower case: `paid` excludes `unpaid`, `must` excludes `may`."""
    found = {(word, ""), *_CONTRASTED.get(word, ())}
    for prefix in PREFIXES:
        if word.startswith(prefix) and len(word) >= len(prefix) + _SHORTEST_PREFIXED:
            found.add((word.removeprefix(prefix), prefix))
    return frozenset(found)


def exclude(one: Sides, other: Sides) -> bool:
    """Whether each text has a side that the other lacks, both of one group."""
    return not {group for group, _ in one - other}.isdisjoint(group for group, _ in other - one)
