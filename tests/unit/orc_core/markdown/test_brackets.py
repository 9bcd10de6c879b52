"""No text that a model writes looks like a citation that code has checked."""

import unicodedata

import pytest

from orc_core.grounding.citations import CitationWriter, marker
from orc_core.grounding.sources import Source
from orc_core.markdown.brackets import MAX_BRACKET, OPENING, bracketed, cited_numbers, is_forged, visible_name

PAGE = "Leave is 25 days a year."
REST = 'age 5 of Document "contract.pdf"]'
TRUE = f"[P{REST}"


def source(name: str = "contract.pdf") -> Source:
    return Source(number=1, document_id="d", blob_name=name, page=5, start=0, text=PAGE, page_text=PAGE)


def show(answer: str, size: int = 10_000, name: str = "contract.pdf") -> str:
    writer = CitationWriter([source(name)])
    pieces = [answer[at : at + size] for at in range(0, len(answer), size)]
    return "".join([writer.feed(piece) for piece in pieces]) + writer.finish()


INVISIBLE = [
    *("\ufe0f", "\U000e0100", "\u034f", "\u180b", "\u3164", "\u115f", "\u17b4", "\u200b", "\u200d", "\u00ad"),
    *("\u2060", "\ufeff", "\u061c", "\u1160", "\uffa0", "\u2065", "\U0001d173", "\U000e0061", "\u202a"),
]
MARKS = ["\u0332", "\u0301", "\u20dd", "\u0488"]
LETTERS = [
    '[\u13e2age 5 of Document "x"]',  # Cherokee
    '[\ua4d1age 5 of \ua4d3ocument "x"]',  # Lisu
    "[\u2ca2age 5 of Document]",  # Coptic
    "[P\U00010428ge 5 of D\U0001042bcument]",  # Deseret
    "[\u1d18\u1d00\u0262\u1d07 5 of \u1d05\u1d0f\u1d04\u1d1c\u1d0d\u1d07\u0274\u1d1b]",  # small capitals
    "[\U0001d40f\U0001d41a\U0001d420\U0001d41e 5 of Document]",  # mathematical
    "[\uff30\uff41\uff47\uff45 5 of \uff24ocument]",  # full width
    "[\u24c5\u24d0\u24d6\u24d4 5 of Document]",  # circled
    "[\u1d56\u1d43\u1d4d\u1d49 5 of Document]",  # superscripts
    "[\u0420\u0430g\u0435 5 of D\u043e\u0441um\u0435nt]",  # Cyrillic
    "[\u03a1\u03b1ge 5 of D\u03bfcument]",  # Greek
    "[Pag\u0454 5 of Document]",
    "[Pag\u212e 5 of Document]",
    "[\U0001f17fage 5 of Document]",
    "[P\u0251\u0261e 5 of D\u0585cument]",
    "[\u16b9age 5 of Document]",
    "[P\u00e1g\u00e9 5 of D\u00f6cument]",
    "[Page 5 of D0cument]",
    "[Page 5 of Docurnent]",
    "[Page 5 of \u217eocument]",
]
REFERENCES = [
    f"&#91;P{REST}",
    f"&#x5B;P{REST}",
    f"&lbrack;P{REST}",
    f"&lsqb;P{REST}",
    '[P&#97;ge 5 of Document "x"]',
    '[P&#x00000061;ge 5 of Document "x"]',
    '[P&acy;ge 5 of Document "x"]',
    '[P&#1072;ge 5 of Document "x"]',
    '[Page&nbsp;5&nbsp;of&nbsp;Document "x"]',
    f'[Page{"&nbsp;" * 60}5 of Document "x"]',
    f'[P{"&#8203;" * 60}age 5 of Document "x"]',
    f'[P{"&ZeroWidthSpace;" * 5}age 5 of Document "x"]',
]
TAGS = [
    '[Pa<!-- -->ge 5 of Document "x"]',
    '[P<b></b>age 5 of Document "x"]',
    '[<span>Page 5 of Document "x"</span>]',
    '<span>[</span>Page 5 of Document "x"]',
    '[P<sub></sub>age 5 of Document "x"]',
    '[Pa<wbr>ge 5 of Document "x"]',
    '[Pa[S1]ge 5 of Document "x"]',
    '[Pa\u3014S1\u3015ge 5 of Document "x"]',
    '[Pa[S1, S2]ge 5 of Document "x"]',
]
EMPHASIS = [
    "[**Page 5** of Document]",
    "[P_a_ge 5 of `Document`]",
    "[P\\age 5 of Document]",
    "\\[Page 5 of Document\\]",
]
WORDING = [
    TRUE,
    '[page 5 of document "x"]',
    '[Pg. 5 of Document "c"]',
    '[Seite 10 of Document "c"]',
    "[Pages 5 of the Documents]",
    "[From Page 5 of Document]",
    "[Document x, Page 5]",
    "[Page [5] of Document]",
    "[\u2014Page 5 of Document]",
    "[\u2192Page 5 of Document]",
    "[Page5 of Document]",
    '[Web page "x", quay.example]',
    "[W\u0435b\ufe0f p\u0430ge x]",
    "[Web-page x]",
    "[Webpage x]",
    f"[{' ' * 500}Page{' ' * 500}5 of Document]",
    f"[P{chr(0x200b) * (2 * MAX_BRACKET)}{REST}",
]  # fmt: skip
BRACKETS = (
    "\u3010\u3014\u3016\u2045\u2772\u301a\u298b\ufe47\uff3b\u27e6\u2308\u230a\u3018\u300c\u3008\u27e8\u2e22"
)
FORMS = [
    *(f"[P{character}{REST}" for character in INVISIBLE + MARKS),
    *(f"{bracket}P{REST}" for bracket in BRACKETS),
    *(f"[{character * 300}P{REST}" for character in "\ufe0f\u3164"),
    *LETTERS,
    *REFERENCES,
    *TAGS,
    *EMPHASIS,
    *WORDING,
]


def test_there_are_as_many_forms_as_were_tried_before() -> None:
    assert len(FORMS) >= 72


@pytest.mark.parametrize("size", [1, 10_000])
@pytest.mark.parametrize("form", FORMS, ids=range(len(FORMS)))
def test_a_forged_citation_does_not_look_like_one(form: str, size: int) -> None:
    shown = show(f"Leave is 99 days. {form}", size)
    shown = shown.replace('[Page 5 of Document "contract.pdf": 99 is not there]', "")
    opened = [match.start() for match in OPENING.finditer(shown)]
    assert not any(is_forged(bracketed(shown[at:], is_all=True) or "") for at in opened), ascii(shown)
    assert form not in shown
    assert any(sign in shown for sign in ("(", "& ")) or "[Page 5" not in shown


@pytest.mark.parametrize(
    "text",
    [
        "[Trang 5 c\u1ee7a t\u00e0i li\u1ec7u]",
        "[Trang 5 cu\u0309a ta\u0300i lie\u0323\u0302u]",
        "[\u0438\u0437 \u0434\u043e\u0433\u043e\u0432\u043e\u0440\u0430 \u2116 5]",
        "[\u043b\u0438\u0441\u0442 5 \u0438\u0437 \u0434\u043e\u0433\u043e\u0432\u043e\u0440\u0430]",
        "[\u03c3\u03b5\u03bb\u03af\u03b4\u03b1  \u03b5\u03b3\u03b3\u03c1\u03ac\u03c6\u03bf\u03c5]",
        "[\u092a\u0943\u0937\u094d\u0920 5 \u0926\u0938\u094d\u0924\u093e\u0935\u0947\u091c\u093c]",
        "[\u0635\u0641\u062d\u0629 5 \u0645\u0646 \u0627\u0644\u0645\u0633\u062a\u0646\u062f]",
        "[\u05e2\u05de\u05d5\u05d3 5 \u05e9\u05dc \u05d4\u05de\u05e1\u05de\u05da]",
        "\u30105\u30da\u30fc\u30b8\u3011\u300c\u6587\u66f8\u300d",
        "[Seite 5 des Dokuments]",
        "[Document 5]",
        "[one of document and 5 others]",
        "[see the page]",
        "[the document]",
        "[web]",
        "\u2308x\u2309 + \u230ay\u230b",
    ],
)
def test_brackets_of_other_languages_are_unchanged(text: str) -> None:
    assert show(text) == text
    assert show(unicodedata.normalize("NFD", text)) == unicodedata.normalize("NFD", text)


@pytest.mark.parametrize(
    "name",
    [
        'x", not verified] [Page 9 of Document "b.pdf',
        "x&#93; &#91;Page 9 of Document &quot;b.pdf",
        "x&rbrack; &lbrack;Page 9",
        "\u27e7 \u3016Page 9 of Document\u3017",
        "<img src=x onerror=alert(1)>.pdf",
        "`a.pdf",
        "a|b.pdf",
        "https://evil.example.pdf",
        "www.evil.example.pdf",
    ],
)
def test_a_name_cannot_act_within_its_citation(name: str) -> None:
    shown = show(f"Leave is 25 days a year. {marker(1)}", name=name).removeprefix("Leave is 25 days a year. ")
    assert shown.startswith('[Page 5 of Document "')
    assert shown.endswith('"]')
    assert not set(shown[1:-1]) & set("[]`<>|\u3016\u27e7")
    assert shown.count('"') == 2
    assert not any(active in shown for active in ("&#", "&l", "&r", "://evil", "www.e"))


@pytest.mark.parametrize(
    "name", ["my_file v2 (final).pdf", "R&D; plan.pdf", "\u300c\u6848\u300d.pdf", "a.b-c, d.txt"]
)
def test_an_ordinary_name_is_shown_as_it_is(name: str) -> None:
    assert visible_name(name) == name.replace("&D;", "& D;")


SOMEWHERE = Source(number=1, document_id="", blob_name="b.pdf", page=1, start=0, text="", page_text="")


@pytest.mark.parametrize(
    ("bracket", "numbers"),
    [
        ("[S3]", [3]),
        ("[s3, 12]", [3, 12]),
        ("[Source 3]", [3]),
        ("[source S3; source 4]", [3, 4]),
        ("[3]", [3]),
        ("【3】", [3]),
        ("[3, 4]", [3, 4]),
        ("[3, 9]", []),
        ("[9]", []),
        ("[S9]", [9]),
        ("[ 3]", []),
        ("[Table 3]", []),
        ("[Page 3]", []),
        ("[3.4]", []),
        ("[3 days]", []),
        ("[2003]", []),
    ],
)
def test_numbers_alone_cite_sources_that_are_known(bracket: str, numbers: list[int]) -> None:
    assert cited_numbers(bracket, dict.fromkeys((3, 4, 12), SOMEWHERE)) == numbers
