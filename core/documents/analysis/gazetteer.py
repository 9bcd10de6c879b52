"""Names of countries and of their largest parts: the only places that are known by name alone."""

_ENGLISH = (
    "Afghanistan|Albania|Algeria|Angola|Argentina|Armenia|Australia|Austria|Azerbaijan|Bahrain|Bangladesh|"
    "Belarus|Belgium|Bolivia|Botswana|Brazil|Bulgaria|Cambodia|Cameroon|Canada|Chile|China|Colombia|"
    "Costa Rica|Croatia|Cuba|Cyprus|Czech Republic|Czechia|Denmark|Dominican Republic|Ecuador|Egypt|"
    "El Salvador|Estonia|Ethiopia|Finland|France|Germany|Ghana|Greece|Guatemala|Haiti|Honduras|Hong Kong|"
    "Hungary|Iceland|India|Indonesia|Iran|Iraq|Ireland|Israel|Italy|Jamaica|Japan|Kazakhstan|Kenya|Kuwait|"
    "Laos|Latvia|Lebanon|Libya|Lithuania|Luxembourg|Madagascar|Malaysia|Malta|Mexico|Moldova|Mongolia|"
    "Montenegro|Morocco|Mozambique|Myanmar|Namibia|Nepal|Netherlands|New Zealand|Nicaragua|Nigeria|"
    "North Korea|Norway|Oman|Pakistan|Panama|Paraguay|Peru|Philippines|Poland|Portugal|Puerto Rico|Qatar|"
    "Romania|Russia|Rwanda|Saudi Arabia|Senegal|Serbia|Singapore|Slovakia|Slovenia|Somalia|South Africa|"
    "South Korea|Spain|Sri Lanka|Sudan|Sweden|Switzerland|Syria|Taiwan|Tanzania|Thailand|Tunisia|Turkey|"
    "Uganda|Ukraine|United Arab Emirates|United Kingdom|United States|United States of America|U.S.|U.K.|"
    "USA|UK|Uruguay|Uzbekistan|Venezuela|Vietnam|Yemen|Zambia|Zimbabwe|"
    "Europe|Asia|Africa|North America|South America|Latin America|Middle East|European Union|"
    "Alabama|Alaska|Arizona|Arkansas|California|Southern California|Colorado|Connecticut|Delaware|Florida|"
    "Hawaii|Idaho|Illinois|Indiana|Iowa|Kansas|Kentucky|Louisiana|Maine|Maryland|Massachusetts|Michigan|"
    "Minnesota|Mississippi|Missouri|Montana|Nebraska|Nevada|New Hampshire|New Jersey|New Mexico|New York|"
    "North Carolina|North Dakota|Ohio|Oklahoma|Oregon|Pennsylvania|Rhode Island|South Carolina|South Dakota|"
    "Tennessee|Texas|Utah|Vermont|Virginia|Wisconsin|Wyoming|England|Scotland|Wales|Northern Ireland"
)
_OTHERS = (
    "Deutschland|Österreich|Schweiz|Frankreich|Italien|Spanien|Polen|Niederlande|Belgien|Großbritannien|"
    "Vereinigte Staaten|Vereinigtes Königreich|Russland|Griechenland|Türkei|Ungarn|Schweden|Norwegen|"
    "Dänemark|Europa|Kalifornien|Südkalifornien|Japan|"
    "Alemania|Francia|España|Italia|Polonia|Suiza|Bélgica|Países Bajos|Reino Unido|Estados Unidos|Rusia|"
    "Grecia|Turquía|Hungría|Suecia|Noruega|Dinamarca|Brasil|México|Perú|Japón|Inglaterra|Escocia|Irlanda|"
    "Allemagne|Espagne|Italie|Pologne|Suisse|Belgique|Pays-Bas|Royaume-Uni|États-Unis|Russie|Grèce|Turquie|"
    "Hongrie|Suède|Norvège|Danemark|Brésil|Mexique|Japon|Angleterre|Écosse|Irlande|Europe|"
    "Germania|Spagna|Svizzera|Belgio|Paesi Bassi|Regno Unito|Stati Uniti|Alemanha|França|Espanha|Duitsland|"
    "Nederland|België|Frankrijk|Spanje"
)

PLACES = frozenset(_ENGLISH.split("|") + _OTHERS.split("|"))
