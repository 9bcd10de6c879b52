"""Text to search terms: the same analysis for indexed text and for queries."""

import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import TypeVar

import Stemmer

from orc_core.text.normal_forms import normalized

Version = TypeVar("Version")

_STOP_WORDS = (
    "en a about all an and any are as at be been between but by can could did do does during each for from "
    "had has have he her his how i if in into is it its may might my no not of on or our per s she should "
    "so t than that the their them then there these they this those to us was we were what when where which "
    "who whom why will with would you your;"  # prose: data
    "de aber alle als am an auch auf aus bei bis das dass dem den der des die diese dieser durch ein eine "
    "einem einen einer eines er es für gab gibt haben hat hatte ich ihr ihre im in ist kann man mit nach "
    "nicht noch nur oder seine sich sie sind so sowie um und unter vom von vor war waren warum was welche "
    "welchem welchen welcher welches wenn wer werden wie wird wo wurde wurden zu zum zur über;"
    "es a al como con cual cuales cuando cuál cuáles cuándo cómo de del desde donde durante dónde e el en "
    "entre era es esta este estos está fue fueron ha han hasta hay la las le les lo los muy más no o para "
    "pero por porque que quien quién qué se ser si sin sobre son su sus también tiene un una uno unos y ya;"
    "fr a au aux avec ce ces cette comme d dans de des donc du elle elles en est et eu il ils j je l la le "
    "les leur leurs lui m mais même n ne nous on ont ou où par pas plus pour qu quand que quel quelle "
    "quelles quels qui s sa se ses son sont sur un une vous y à était été être;"
    "it a ad ai al alla alle anche che chi ci come con cosa da dal dalla degli dei del della delle dello di "
    "dove e ed era gli ha hanno i il in io l la le lo ma nel nella nelle non o per perché più quale quali "
    "quando quanto questa questo se si sia sono su sua sul sulla suo tra un una uno è;"
    "pt a ao aos as com como da das de do dos e ela ele em entre era essa esta este está eu foi foram há "
    "isso já mais mas na nas no nos não o onde os ou para pela pelo por porque quais qual quando que quem "
    "se sem ser seu seus sobre sua suas são também tem um uma à às é;"
    "nl aan als bij dan dat de der deze die dit door een en er had heeft het hij hoe hun "  # prose: data
    "ik in is je kan maar meer met naar niet nog of om onder ook op over te tot uit van veel voor waar "
    "waarom was wat we welke werd wie worden wordt zij zijn zo zou;"
    "ru а без был была были было быть в вы для до его ее если есть еще же за и из или им их к как какая "
    "какие какой когда которые который кто ли мы на не него нет но о об он она они от по почему при с со "
    "так также то только у чего что чтобы это этот я;"
    "sv att av de den det detta där efter eller en ett från för ha hade han har hon hur här i in inte jag "
    "kan man med mellan men och om på sig ska som till under upp vad var vara varför vid vilka vilken "
    "vilket än är över;"
    "da af at blev blive da de den der det dette du efter eller en er et for fra han har havde hun hvad "
    "hvem hvilke hvilken hvor hvordan hvorfor i ikke jeg kan man med mellem men og også om over på sig skal "
    "som til var ved være;"
    "no at av ble blir da de den der det dette du eller en er et etter for fra ha hadde han har hun hva "
    "hvem hvilke hvilken hvor hvordan hvorfor i ikke jeg kan man med mellom men og også om over på seg skal "
    "som til var ved være;"
    "fi ei eli että hän ja joka jos jotka kanssa kuin kuka kun me miksi mikä missä miten mitkä mitä mutta "
    "myös ne niin oli olivat olla on ovat se sekä sen siitä tai tämä vain voi;"
    "pl a ale był była było były co czy dla do gdzie go i ich ile jak jaki jakie jako jego jej jest już "
    "kiedy kto która które który lub ma na nie o od oraz po pod przez przy się są tak to tym w we z za ze "
    "że;"
    "cs a aby ale ani by byl byla byli bylo být co do i jak jako je jeho jejich její jsem jsou k kde kdo "
    "kdy která které který mezi na nebo o od po pro proč před při s se si ta tak také to u v ve z za ze že;"
    "ro a ai al ale au au care ce cele cu cum când că da de despre din ei el era este fi fost la lor lui "
    "mai nu o pe pentru prin sau se sunt să un una unde unei unui în într și;"
    "hu a amely az azt csak de egy ez ha hogy hol is ki között meg mely mi mikor milyen mint mit miért már "
    "még nem szerint után vagy van volt által és;"
    "tr ama bir bu da daha de değil en gibi hangi ile ise için kadar kim mi mu mü mı nasıl ne neden nerede "
    "olan olarak olduğu sonra ve veya ya çok;"
    "el ένα ήταν από αυτό για δεν είναι η και με μια να ο οι ποια ποιο ποιος που πού πως πότε στη στην στο "
    "στον τα τη την της τι τις το τον του των ως;"
    "ar أن أو إلى التي الذي الذين ثم على عن عند في قد كان كانت كم كما كيف لا لم لماذا ما متى مع من هذا هذه "
    "هل هو هي و وقد ولا;"
    "hi इस एक और कब कहाँ का कि कितने किस की के को कौन क्या जो तो था थी थे नहीं ने पर भी में यह लिए वह से ही "
    "है हैं हो"
)
"""Each language: its ISO 639-1 code and its stop words."""

STOP_WORDS = {
    language: frozenset(stop_words)
    for language, *stop_words in (entry.casefold().split() for entry in _STOP_WORDS.split(";"))
}
_LANGUAGES_OF = {
    word: [code for code, stop_words in STOP_WORDS.items() if word in stop_words]
    for word in frozenset[str]().union(*STOP_WORDS.values())
}
DEFAULT_LANGUAGE = "en"
LANGUAGE_SAMPLE_WORDS = 2000

_INSTRUCTION_WORDS = frozenset(
    "please answer answering tell explain describe list summarize summarise according based relying rely "
    "mentioned stated shown given following document documents file files page pages text".split()
)

_FORMS = (
    "arise arose arisen;become became;begin began begun;bind bound;break broke broken;bring brought;"
    "build built;buy bought;catch caught;choose chose chosen;come came;deal dealt;draw drew drawn;"
    "drive drove driven;eat ate eaten;fall fell fallen;feed fed;feel felt;fight fought;find found;"
    "fly flew flown;forbid forbade forbidden;forget forgot forgotten;freeze froze frozen;"
    "get got gotten;give gave given;go went gone;grow grew grown;hear heard;hide hid hidden;"
    "hold held;keep kept;know knew known;lay laid;lead led;leave left;lend lent;lose lost;make made;"
    "mean meant;meet met;pay paid payable;ride rode ridden;ring rang rung;rise rose risen;run ran;"
    "say said;see seen;seek sought;sell sold;send sent;shake shook shaken;show shown;sing sang sung;"
    "sink sank sunk;sit sat;sleep slept;speak spoke spoken;spend spent;stand stood;"
    "steal stole stolen;strike struck;swim swam swum;take took taken;teach taught;tear tore torn;"
    "tell told;think thought;throw threw thrown;understand understood;"  # prose: data
    "undertake undertook undertaken;"
    "wear wore worn;win won;withdraw withdrew withdrawn;write wrote written;child children;foot feet;"
    "man men;person people;tooth teeth;woman women"
)
_BASES = {form: base for base, *forms in map(str.split, _FORMS.split(";")) for form in forms}
"""English words with the word that they are irregular forms of."""
_PARTICIPLE = re.compile(r"(ab|an|auf|aus|ein|mit|nach|vor|zu)?ge(\w{4,}?)e?t")
"""A German participle such as `gegrillt` or `abgerechnet`."""

_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\U00020000-\U0003ffff"
)
_MARKS = "\u0300-\u036f\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff"
_FIRST_UNSPACED = "\u0e00"
_LETTER = rf"[^\W_{_UNSPACED}]"
_WORD = re.compile(rf"[{_UNSPACED}]+|\d+(?:\.\d+)+|{_LETTER}+(?:[{_MARKS}]+{_LETTER}*)*")
_UNSPACED_RUN = re.compile(f"[{_UNSPACED}]")
_NEEDS_CARE = re.compile(f"[{_UNSPACED}{_MARKS}]")
_PLAIN_WORD = re.compile(r"\d+(?:\.\d+)+|[^\W_]+")
"""The words of a text without any character of _NEEDS_CARE."""
TYPESET_MARKS = "“”–—•…\xa0"
"""The marks without which most text is ASCII, but for apostrophes."""
_POINT = "\x01"
"""A decimal point while other points are taken out."""
_ONLY_WORDS = {code: " " for code in range(128) if not chr(code).isalnum()} | {ord(_POINT): "."}

_LINE_END_HYPHEN = re.compile(r"[-\u2010](?<=[^\W\d_].)[ \t]*\r?\n[ \t]*(?=[^\W\d_])")
_LINE_END_HYPHENS = ("-\n", "-\r", "- ", "-\t", "\u2010")
"""How each match of _LINE_END_HYPHEN begins."""
_HYPHEN_OF_PDFIUM = "\x02"
"""In the place of a hyphen that PDFium took out."""
_INVISIBLE = re.compile(f"[{_HYPHEN_OF_PDFIUM}\u00ad\ufffe\u200b\u2060\ufeff]+")
_FISCAL_YEAR = re.compile(r"\bfy[ \t]?['’]?(\d{4}|\d{2})(?!\d)")
_NUMBER = re.compile(r"\d(?<![^\W_].)\d*+(?:[.,'’]\d+)+")
_USUAL_NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+\.(?:\d{1,2}|\d{4,})")
_SEPARATOR = re.compile(r"[.,'’]")
_DIGIT = re.compile(r"\d")
_CENTURY_TURN = 70


def words(text: str) -> list[str]:
    """The words of a text in order, normalised but not stemmed.

    Thousands separators are removed, fiscal years become years, words hyphenated at a line end are joined,
    and scripts without spaces become overlapping pairs of characters.
    """
    clean = text if text.isascii() and _HYPHEN_OF_PDFIUM not in text else _INVISIBLE.sub("", text)
    if any(map(clean.__contains__, _LINE_END_HYPHENS)):  # looking for these takes a tenth of the time
        clean = _LINE_END_HYPHEN.sub("", clean)
    clean = normalized("NFKC", clean).casefold()
    if "fy" in clean:
        clean = _FISCAL_YEAR.sub(_full_year, clean)
    clean = _NUMBER.sub(_marked_number, clean.replace(_POINT, " "))
    clean = without_marks(clean, TYPESET_MARKS + "’‘")
    if clean.isascii():  # splitting takes a third of the time of searching
        return clean.translate(_ONLY_WORDS).split()
    clean = clean.replace(_POINT, ".")
    if _NEEDS_CARE.search(clean) is None:
        return _PLAIN_WORD.findall(clean)
    found: list[str] = []
    for word in _WORD.findall(clean):
        if len(word) > 2 and word >= _FIRST_UNSPACED and _UNSPACED_RUN.match(word):
            found.extend(word[i : i + 2] for i in range(len(word) - 1))
        else:
            found.append(word)
    return found


def without_marks(text: str, marks: str) -> str:
    """The text with a blank for each of these marks, none of which is in ASCII."""
    if not text.isascii():
        for mark in marks:
            text = text.replace(mark, " ")
    return text


def question_words(question: str) -> list[str]:
    """The content words of a question; all its words if it has none."""
    asked = words(question)
    dull = _INSTRUCTION_WORDS | STOP_WORDS[detect_language(asked)]
    return [word for word in asked if word not in dull] or asked


def is_stop_word(word: str) -> bool:
    """Whether a word in lower case is a stop word of any of the languages."""
    return word in _LANGUAGES_OF


def detect_language(sample: Iterable[str]) -> str:
    """The ISO 639-1 code of the language with the most frequent stop words; English if there are none."""
    counted = Counter(islice(sample, LANGUAGE_SAMPLE_WORDS))
    hits = dict.fromkeys(STOP_WORDS, 0)
    for word in counted.keys() & _LANGUAGES_OF.keys():
        for code in _LANGUAGES_OF[word]:
            hits[code] += counted[word]
    best = max(hits, key=hits.__getitem__)
    return best if hits[best] > hits[DEFAULT_LANGUAGE] else DEFAULT_LANGUAGE


def in_language_of(text: str, versions: Mapping[str, Version]) -> Version:
    """The version in the language of a text, by ISO 639-1 codes; in English if there is none."""
    return versions.get(detect_language(words(text)), versions[DEFAULT_LANGUAGE])


def stems(spelled: list[str], language: str) -> list[str]:
    """One stem for each word, in order; the stem of a stop word is empty."""
    stop_words = STOP_WORDS[language]
    if language not in _stemmers.by_language:
        _stemmers.by_language[language] = Stemmer.Stemmer(language).stemWords
    stemmed = _stemmers.by_language[language](spelled)
    return ["" if word in stop_words else stem for word, stem in zip(spelled, stemmed, strict=True)]


def base_stems(spelled: list[str], language: str) -> list[str]:
    """Stems as `stems` has them, but equal for forms of a verb: `paid` and `pay`, `gegrillt` and `grillen`.

    They compare a question with texts; an index of passages has those of `stems`.
    """
    if language == "en":
        spelled = [_BASES.get(word, word) for word in spelled]
    if language == "de":
        spelled = [
            f"{found[1] or ''}{found[2]}en" if (found := _PARTICIPLE.fullmatch(word)) else word
            for word in spelled
        ]
    return stems(spelled, language)


def has_digit(term: str) -> bool:
    """Whether a term is, or contains, a number."""
    return _DIGIT.search(term) is not None


class _Stemmers(threading.local):
    """Stemmers by thread: a stemmer has internal state."""

    def __init__(self) -> None:
        self.by_language: dict[str, Callable[[list[str]], list[str]]] = {}


_stemmers = _Stemmers()


def _full_year(match: re.Match[str]) -> str:
    century = "" if len(match[1]) == 4 else "19" if int(match[1]) >= _CENTURY_TURN else "20"
    return century + match[1]


def _marked_number(match: re.Match[str]) -> str:
    """The plain number with _POINT for each of its points; a word ends at its end if it has any."""
    plain = _plain_number(match[0])
    return plain.replace(".", _POINT) + " " if "." in plain else plain


def _plain_number(number: str) -> str:
    """`1,234.5` and `1.234,5` to `1234.5`, `3,5` to `3.5`; dates and lists to their parts."""
    if _USUAL_NUMBER.fullmatch(number):
        return number.replace(",", "")
    *leading, last = parts = _SEPARATOR.split(number)
    marks = _SEPARATOR.findall(number)
    if _grouped(parts) and len(set(marks)) == 1:
        return "".join(parts)
    if len(parts) == 2 or (_grouped(leading) and len(set(marks[:-1])) == 1 and marks[-1] not in marks[:-1]):
        return "".join(leading) + "." + last
    if set(marks) == {"."} and all(len(part) <= 2 for part in parts):
        return number
    return " ".join(parts)


def _grouped(parts: list[str]) -> bool:
    return len(parts[0]) <= 3 and all(len(part) == 3 for part in parts[1:])
