"""Splits an answer into claims; headings and introductions that state nothing need no source."""

import re
from collections import deque
from dataclasses import dataclass, field

from core.grounding.closest import LABEL_SENTENCES, NOT_FOUND_SENTENCES
from core.grounding.closest import NOT_FOUND_ANSWER as NOT_FOUND_ANSWER
from core.grounding.effort import LONGEST_CHECKED, Effort
from core.grounding.opposites import ALL_NEGATIONS
from core.grounding.sentence_facts import has_content, has_row
from core.text.sentences import sentences, split_pieces
from core.text.terms import STOP_WORDS

MOST_ABOVE = 50
"""Headings and leads, directly below each other, that a marker below them can prove."""
MOST_IN_TITLE = 3
MOST_IN_LEAD = 2
"""Content words without a verb. More may include one: `The contract allows smoking:`."""
MOST_BEFORE_VERB = 4
"""Content words before a final verb: `To end the lease, the tenant must:`."""

VERBS = frozenset(
    "is are was were be been am isn't aren't has have had may might can could must shall should will would do"
    " does did need needs"
    " ist sind waren wird werden wurde wurden hat haben hatte hatten darf dürfen kann können muss müssen soll"
    " sollen sollte sollten"
    " est sont était étaient sera seront ont avait peut peuvent doit doivent faut"
    " son está están fue será ha han puede pueden debe deben hay tiene tienen".split()
)
"""Auxiliary verbs: a sentence that goes on after one of them states something."""
PREDICATES = frozenset(
    "allowed permitted forbidden prohibited banned required mandatory optional free welcome included excluded"
    " due valid erlaubt gestattet verboten untersagt zulässig unzulässig kostenlos frei inbegriffen"
    " autorisé autorisée autorisés autorisées permis permise interdit interdite interdits interdites"
    " obligatoire gratuit gratuite inclus permitido permitida permitidos prohibido prohibida prohibidos"
    " obligatorio obligatoria gratis incluido incluida".split()
)
"""Words that state something even without a verb: `Smoking permitted`."""
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
"""Words of headings and leads that refer to the answer itself."""

_NUMBERING = re.compile(r"^\(?(?:\d+|[ivxIVX]+)(?:\.\d+)*[.)]\s*")
_HERE_ARE = re.compile(
    r"(?:here|below|there|these|this|hier|dies|voici|voilà|il y|aquí|estos|estas)\b(?:(?:\s+|')[^\W\d_]+)?",
    re.I,
)
_WORD = re.compile(r"[\u0e00-\u109f\u1780-\u17ff\u3040-\ud7af]{1,2}|[^\W\d_]+(?:['’][^\W\d_]+)*")
"""A script without spaces gives pairs of characters."""
_POINTS_ON = ("follow", "folg", "suivant", "siguiente")
_WITHOUT_CONTENT = VERBS.union(LEADING_WORDS, *STOP_WORDS.values())

BULLET = re.compile(r"^(?:[•●▪◦‣·*–-]|\(?\d{1,2}[.)])\s+")
_ABBREVIATED = re.compile(r"(?<![\w.])\w{1,6}\.$")
_CONTINUATION = re.compile(r"[\d§a-z]")
LONGEST_ABBREVIATED = 8
LONGEST_JOINED = 4000
"""Characters of a claim to which numbers and the parts of a sentence are still added."""
_MARKUP = re.compile(r"[*`#]+|(?<!\w)_++|(?<!_)_++(?!\w)")
_MAX_SHORT = 200
_ENDS, _AFTER_END = (".", "!", "?", "。", "！", "？"), "\"'”’)]"


def only_introduces(text: str) -> bool:
    """Whether a heading, or a lead that ends in a colon, says nothing that could be true or false.

    Strict, and by words alone: a text that has a number or a negation, that says something after its verb,
    or that is long, does state something.
    """
    plain, is_lead = _NUMBERING.sub("", text).strip(), text.endswith(":")
    if plain.endswith("?"):
        return True
    opening = _HERE_ARE.match(plain)
    found = [
        word.casefold().replace("’", "'") for word in _WORD.findall(plain[opening.end() if opening else 0 :])
    ]
    content = [at for at, word in enumerate(found) if word not in _WITHOUT_CONTENT]
    if any(character.isdigit() for character in plain) and (content or is_lead):
        return False
    if content and any(word in ALL_NEGATIONS or word.endswith("n't") for word in found):
        return False
    if found and found[-1].startswith(_POINTS_ON):
        return len(content) <= MOST_IN_LEAD
    verb = next((at for at, word in enumerate(found) if word in VERBS), None)
    if verb is not None:
        return len(content) <= MOST_BEFORE_VERB and all(at < verb for at in content)
    if any(found[at] in PREDICATES for at in content[1:]):
        return False
    return len(content) <= (MOST_IN_LEAD if is_lead else MOST_IN_TITLE)


@dataclass(slots=True)
class Claim:
    """A sentence, list item, table row or heading of an answer; `number` is its place in it, from 0.

    `is_pictured`: it is cited from the picture of a page without text, which code cannot read.
    """

    text: str
    kind: str
    number: int = 0
    is_cited: bool = False
    is_covered: bool = False
    is_unchecked: bool = False
    is_pictured: bool = False

    @property
    def short(self) -> str:
        return self.text[:_MAX_SHORT]

    @property
    def is_not_found(self) -> bool:
        """Whether it says that nothing was found."""
        return self.text.casefold() in NOT_FOUND_SENTENCES

    @property
    def is_label(self) -> bool:
        """Whether it is the label above closest passages."""
        return self.text.casefold() in LABEL_SENTENCES

    @property
    def is_numbering(self) -> bool:
        """Whether it is only a number or a code such as `A3.`, which begins what follows it."""
        is_short = len(self.text) <= LONGEST_ABBREVIATED and self.text.endswith(".")
        return is_short and not has_content(self.text)

    @property
    def is_row_of_numbers(self) -> bool:
        """Whether it is a table row that is checked without content words, and short enough to be checked."""
        return self.kind == "row" and len(self.text) <= LONGEST_CHECKED and has_row(self.text)

    @property
    def introduces(self) -> bool:
        """Whether it is a heading, or a lead such as `The limits are:`."""
        return self.kind in ("title", "heading") or self.text.endswith(":")

    @property
    def is_line(self) -> bool:
        """Whether it is a line without the end of a sentence, as in an address or a list of labels."""
        return self.kind == "sentence" and not self.text.rstrip(_AFTER_END).endswith(_ENDS)

    @property
    def needs_source(self) -> bool:
        """Whether it states something; a Markdown heading or a lead may only introduce."""
        may_introduce = self.kind == "title" or self.text.endswith(":")
        is_reply = self.is_not_found or self.is_label
        return not is_reply and not (may_introduce and only_introduces(self.text))


@dataclass(slots=True)
class Claims:
    """The claims so far. `cited` are those that a marker at this point refers to, the last one first.

    `effort` is what is left for the checks of the answer. `_above` are the headings and leads of the current
    passage or list. `lists_closest`: the label above closest passages was added, and what
    follows it is no answer.
    """

    all: list[Claim] = field(default_factory=list)
    cited: list[Claim] = field(default_factory=list)
    effort: Effort = field(default_factory=Effort)
    lists_closest: bool = False
    _above: deque[Claim] = field(default_factory=lambda: deque(maxlen=MOST_ABOVE))

    def add(self, text: str) -> None:
        """Add the text since the last marker; text without content changes nothing."""
        added: list[Claim] = []
        begins_line = text.lstrip(" ").startswith("\n")
        for claim in _claims_of(text):
            before = added[-1] if added else None
            # The previous claim may end in an abbreviation: `according to Art.` and `25`.
            if before and (_goes_on(before.text, claim.text) or before.is_numbering):
                before.text = f"{before.text} {claim.text}"
            elif has_content(claim.text) or ((added or begins_line) and claim.is_row_of_numbers):
                added.append(claim)
            elif re.search(r"\d", claim.text):
                self._append_number(added, claim)
        if added:
            above = [] if any(claim.introduces for claim in added) else self._unproven_above()
            self.cited = [*_cited_with_last(added), *above]
        for claim in added:
            follows = bool(self.all) and self.all[-1].introduces
            if claim.introduces and not follows:
                self._above.clear()
            if claim.introduces:
                self._above.append(claim)
            self.lists_closest = self.lists_closest or claim.is_label
            claim.number = self.all[-1].number + 1 if self.all else 0
            self.all.append(claim)

    def open_part(self) -> "Claims":
        """What can still change, or is needed to add more: the last claim, and those that may be cited."""
        kept = {claim.number: claim for claim in (*self._above, *self.cited, *self.all[-1:])}
        shown = [kept[number] for number in sorted(kept)]
        return Claims(shown, self.cited, self.effort, self.lists_closest, self._above)

    def take_back(self, part: "Claims") -> None:
        """Replace the open part by what came of it."""
        for claim in part.all:
            self.all[claim.number : claim.number + 1] = [claim]
        self.cited, self.effort, self._above = part.cited, part.effort, part._above
        self.lists_closest = part.lists_closest

    def _append_number(self, added: list[Claim], claim: Claim) -> None:
        """A bare number goes on with the claim before: `Leave is 25 days [S1], 30 [S2]`."""
        if added and added[-1].is_label:
            added.append(claim)
        elif added and len(added[-1].text) < LONGEST_JOINED:
            added[-1].text = f"{added[-1].text} {claim.text}"
        else:
            before = f"{self.cited[0].text} " if self.cited else ""
            added.append(Claim(before + claim.text, claim.kind))

    def _unproven_above(self) -> list[Claim]:
        """The headings and leads of the current passage or list that state something unsupported so far."""
        return [claim for claim in reversed(self._above) if claim.needs_source and not claim.is_covered]

    @property
    def uncovered(self) -> list[Claim]:
        return [claim for claim in self.all if claim.needs_source and not claim.is_covered]

    @property
    def coverage(self) -> float:
        stated = [claim for claim in self.all if claim.needs_source]
        return 1 - len(self.uncovered) / len(stated) if stated else 0.0

    @property
    def report_not_found(self) -> bool:
        """Whether the answer says that nothing was found, and all its other claims are supported."""
        return any(claim.is_not_found for claim in self.all) and not self.uncovered


def _goes_on(before: str, following: str) -> bool:
    """Whether a claim ends in an abbreviation and the next one continues it."""
    is_short = len(before) < LONGEST_JOINED and before.endswith(".")
    found = is_short and _ABBREVIATED.search(before, max(0, len(before) - LONGEST_ABBREVIATED))
    return bool(found) and _CONTINUATION.match(following) is not None


def _claims_of(text: str) -> list[Claim]:
    found: list[Claim] = []
    for piece in split_pieces(text):
        kind: str = "title" if piece.kind == "heading" and piece.text.startswith("#") else piece.kind
        bare = _MARKUP.sub("", BULLET.sub("", piece.text)).strip()
        found.extend(Claim(part, kind) for part in sentences(bare))
    return found


def _cited_with_last(added: list[Claim]) -> list[Claim]:
    """The last claim; the list items, rows or lines before it; and the heading or lead of them all."""
    first = len(added) - 1
    if added[first].kind in ("item", "row"):
        while first and added[first - 1].kind == added[-1].kind:
            first -= 1
    while first and (added[first - 1].introduces or added[first - 1].is_line):
        first -= 1
    *before, last = added[first:]
    return [last, *(claim for claim in reversed(before) if claim.kind != "title" or claim.needs_source)]
