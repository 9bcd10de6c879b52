"""Words by which patterns know what a phrase is: legal forms, titles, roles, months, units, verbs."""

WEEKDAYS = frozenset(
    "monday tuesday wednesday thursday friday saturday sunday "
    "montag dienstag mittwoch donnerstag freitag samstag sonntag".split()
)

CURRENCY_WORDS = (
    "dollars dollar euros euro pounds pound yen yuan francs franc pesos peso cents cent "
    "dólares dólar libras libra dollari sterline"
).split()
CURRENCY_CODES = "USD EUR GBP CHF JPY CNY CAD AUD SEK NOK DKK INR BRL MXN".split()
SCALES = (
    "thousand million billion trillion tausend millionen million milliarden milliarde mio mrd "
    "mil millones millón millardos mille millions milliards miles milioni miliardi milhões bilhões bn"
).split()
UNITS = (
    "days day hours hour minutes minute seconds weeks week months month years year miles km kg mg ml gb mb "
    "kwh mwh gwh kw mw gw mhz ghz cm mm ha hectares acres tonnes tons meters metres kilometers kilometres "
    "tage tagen stunden minuten wochen monate monaten jahre jahren kilometer meter tonnen hektar "
    "días horas minutos semanas meses años kilómetros metros toneladas hectáreas "
    "jours heures semaines mois ans années kilomètres mètres tonnes "
    "giorni ore mesi anni chilometri metri dias dagen uren maanden jaar"
).split()

SHORTENED_FORMS = frozenset("inc ltd corp co ltda lda pty pte bros".split())
LEGAL_FORMS = frozenset(
    "inc corp corporation co llc ltd limited plc lp llp gmbh mbh ag kg kgaa se ug ohg ev sa spa sl sarl srl "
    "sas bv nv ab as aps oy oyj kk pty pte lda ltda".split()
)
ORGANIZATION_WORDS = frozenset(
    "university institute association bank ministry department commission agency council company foundation "
    "committee airlines airways union federation society academy college school hospital bureau authority "
    "office board court parliament senate congress organization organisation group holdings partners "
    "universität hochschule institut verband ministerium bundesministerium behörde gesellschaft stiftung "
    "verein bundestag gericht bundesrat kommission "
    "universidad instituto asociación banco ministerio departamento comisión agencia consejo fundación "
    "comité federación sociedad academia empresa compañía "
    "université association banque ministère département commission agence conseil fondation société "
    "università istituto associazione banca ministero fondazione società universidade associação".split()
)
PLACE_TYPES = frozenset(
    "street avenue boulevard road river lake mountain mountains island islands airport county city valley "
    "bay ocean sea desert peninsula district province beach "
    "straße strasse flughafen fluss insel bezirk provincia calle río isla ciudad aeropuerto rue avenue "
    "rivière île ville aéroport lago fiume isola".split()
)
TITLES = frozenset(
    "mr mrs ms miss dr prof professor sir lady lord judge senator herr frau señor señora sr sra "
    "monsieur madame mme don doña dott signor signora".split()
)
ROLES = frozenset(
    "chairman chairwoman chairperson chair chief president vice-president director ceo cfo coo cto officer "
    "secretary treasurer manager professor minister counsel founder co-founder partner head "
    "vorstand geschäftsführer geschäftsführerin präsident präsidentin direktor direktorin ministerin "
    "leiter leiterin presidente presidenta directora gerente ministro ministra président présidente "
    "directeur directrice ministre direttore direttrice".split()
)
PARTIES = frozenset(
    "company corporation group bank buyer seller purchaser vendor lender borrower landlord tenant lessor "
    "lessee employer employee contractor client customer supplier provider licensor licensee issuer trustee "
    "agent guarantor insurer insured parent subsidiary registrant "
    "gesellschaft käufer verkäufer vermieter mieter auftraggeber auftragnehmer arbeitgeber arbeitnehmer "
    "empresa sociedad comprador vendedor arrendador arrendatario société acheteur vendeur bailleur locataire "
    "employeur salarié società acquirente venditore".split()
)
"""What contracts call those who make them."""
ROLE_LEAD_INS = frozenset(
    "executive vice senior deputy general former our its the a and managing stellvertretender".split()
)

JOINED_BY = {
    "en": frozenset({"of"}),
    "de": frozenset({"von", "van"}),
    "es": frozenset({"de", "del", "la", "las", "los"}),
    "fr": frozenset({"de", "du", "des", "la"}),
    "it": frozenset({"di", "de", "del", "della"}),
    "pt": frozenset({"de", "da", "do", "dos", "das"}),
    "nl": frozenset({"van", "de", "der", "den"}),
}
"""What may stand between the capitalised words of one name, by language."""

NOUNS_ARE_CAPITALISED = frozenset({"de"})

DULL_WORDS = frozenset(
    "also however such more most other only some many same use used uses using make makes made need needs "
    "provide provides provided providing include includes including included based within without must new "
    "first one two three get show shows shown see given give well even like just much very often usually "
    "generally typically order example way ways take taken please sure additional addition various different "
    "several following able ensure help helps available any every because although whether e.g i.e etc due "
    "after before under over than then while however therefore thus still yet ever never always both "
    "want know find found come go going around another thing things number important contact "
    "require requires required consider offer offers visit paying pay depend depends depending note "
    "et al being except through across among along today already almost instead rather above below per out "
    "jedoch wurde wurden mehr viele sehr beim sowie zwischen gegen etwa bereits dabei damit dann sondern "
    "andere anderen siehe bezug ersten erste zwei drei könnte können konnte müssen sollen seit bzw "
    "además sino según todo todos toda todas otro otros otra otras cada muy mientras sólo solo tras "
    "ahora entonces aquí allí tan tanto casi siempre nunca mejor peor juega "
    "así puede pueden debe deben hacer parte años año bastantes menos mismo luego aunque fuera ser sido "
    "tous toutes tout toute autre autres aussi ainsi alors après avant bien cela chaque entre fait faire "
    "leur moins peut peuvent très sans selon encore altri altre anche ancora dopo prima molto ogni".split()
)
WEAK_OPENINGS = frozenset(
    "this that these those it they he she however but and or also additionally furthermore therefore "
    "thus finally if generally conclusion both dies diese dieser dieses er sie es jedoch aber und auch daher "
    "außerdem esto esta este estos estas además pero sin también su sus ce cette ces il elle mais".split()
)
"""A sentence that opens with one of these leans on the one before."""

ARTICLES = (
    "the a an its their our der die das den dem ein eine einen el la los las un una le les l’ l' lo il gli i"
).split()
HELPERS = (
    "is are was were has have had been also currently recently jointly fully directly now then "
    "ist sind war wurde hat es son fue ha est sont été è"
).split()
CONDITIONS = frozenset(
    "if whether unless could would might may should wenn falls ob könnte würde si podría pourrait".split()
)

ACTIVE_VERBS: dict[str, str] = {
    "acquired": "acquired|acquires|übernahm|erwarb|adquirió|compró|acquit|racheta|bought|purchased",
    "owns": "owns|own|owned|besitzt|posee|possède|possiede",
    "founded": "founded|established|gründete|fundó|fonda|fondò",
    "approves": "approves|approve|approved|genehmigt|genehmigte|aprueba|aprobó|approuve",
    "reports to": "reports to|report to|reported to|berichtet an|reporta a|rend compte à",
    "is part of": "is part of|are part of|was part of|belongs to|is a division of|is a subsidiary of"
    "|gehört zu|ist Teil von|forma parte de|fait partie de|fa parte di",
    "is located in": "is located in|are located in|is based in|is headquartered in|lies in|liegt in"
    "|befindet sich in|se encuentra en|está en|se trouve à|se trouve en|si trova in",
    "costs": "costs|cost|kostet|kosten|cuesta|cuestan|coûte|coûtent|costa",
    "employs": "employs|employ|beschäftigt|emplea|emploie",
    "supplies": "supplies|supply|supplied|delivers to|liefert|suministra|fournit",
    "provides": "provides|provide|provided|offers|offer|offered|bietet|ofrece|offre",
    "covers": "covers|cover|covered|deckt|cubre|couvre",
    "includes": "includes|include|comprises|contains|umfasst|enthält|incluye|comprend",
    "requires": "requires|require|required|verlangt|erfordert|requiere|exige",
    "leads": "leads|lead|led|heads|manages|manage|managed|leitet|dirige|diriges",
    "appointed": "appointed|appoints|ernannte|nombró|nomma",
    "signed": "signed|signs|unterzeichnete|firmó|signa",
    "outperforms": "outperforms|outperform|outperformed|übertrifft|supera|surpasse",
    "won": "won|wins|gewann|ganó|gagna|remporta",
    "replaced": "replaced|replaces|succeeded|ersetzt|reemplazó|remplace",
}
PASSIVE_VERBS: dict[str, str] = {
    "acquired": "acquired by|bought by|purchased by|adquirido por|adquirida por|racheté par",
    "owns": "owned by|propiedad de",
    "founded": "founded by|established by|fundado por|fundada por|fondé par|fondée par",
    "approves": "approved by|aprobado por|aprobada por|approuvé par",
    "leads": "led by|headed by|managed by|dirigido por|dirigida por|dirigé par|geleitet von",
    "provides": "provided by|offered by|supplied by",
    "employs": "employed by|empleado por",
    "covers": "covered by|covered under",
    "signed": "signed by|firmado por|signé par",
    "appointed": "appointed by|nombrado por|nommé par",
    "replaced": "replaced by|succeeded by",
}
"""By type, the wordings whose subject is the relation's target."""
