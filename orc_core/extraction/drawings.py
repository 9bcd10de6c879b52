"""Text of Office files outside of paragraphs: fractions, charts and descriptions of pictures."""

import re
from collections.abc import Callable, Iterator

from lxml.etree import _Element

from orc_core.extraction.docx_styles import value
from orc_core.extraction.number_formats import show_dated
from orc_core.extraction.packages import attribute, local

_SCRIPTS = {"sup": "^", "sub": "_"}
"""The signs of exponents and indices of equations."""
_PARTS = {"f": ("num", "den"), "rad": ("deg", "e"), "d": ("e",)}
_SIGNS = {
    **dict.fromkeys(("msup", "mover"), ("", "^")),
    **dict.fromkeys(("msub", "munder"), ("", "_")),
    **dict.fromkeys(("msubsup", "munderover"), ("", "_", "^")),
}
_ONE_TERM = re.compile("\\(?[\\w.,%′°∘\u2061-\u2064]*\\)?")
_SIGNED = re.compile(r"[+\u2212-]\w+")
_FILE_NAME = re.compile(r"\S+\.(?:png|jpe?g|gif|bmp|tiff?|emf|wmf|svg|webp)|https?:\S+", re.IGNORECASE)
_GENERATED = re.compile(
    r"\s*(?:Description|Beschreibung) automatically generated.*|\s*AI-generated content.*", re.DOTALL
)


def formula(node: _Element, text_of: Callable[[_Element], str]) -> str | None:
    """A part of an equation (OMML) of which more is seen than its text; None for other elements."""
    name = local(node)
    if name in _SCRIPTS:
        return script(_SCRIPTS[name], text_of(node))
    if name == "nary":
        return (value(node, "{*}naryPr/{*}chr") or "∫") + text_of(node)
    wanted = _PARTS.get(name, ())
    texts = [text_of(part) for each in wanted for part in node.iterfind(f"{{*}}{each}")]
    if name == "f" and len(texts) == 2 and value(node, "{*}fPr/{*}type") != "noBar":
        return _apart(node, "/".join(map(_term, texts)))
    if name == "rad" and texts:
        return f"{script('', ''.join(texts[:-1]))}√{_term(texts[-1])}"
    if name == "d" and texts:
        edges = (value(node, f"{{*}}dPr/{{*}}{edge}") for edge in ("begChr", "sepChr", "endChr"))
        begin, between, end = (
            sign if given is None else given for given, sign in zip(edges, "(|)", strict=True)
        )
        return f"{begin}{between.join(texts)}{end}"
    return "".join(texts) if texts else None


def _apart(node: _Element, fraction: str) -> str:
    """The fraction with blanks between it and what it multiplies: 3 1/4 is not 31/4, nor 3/8 t is 3/(8t)."""
    before, after = (
        "" if other is None else "".join(map(str, other.itertext()))
        for other in (node.getprevious(), node.getnext())
    )
    return f"{' ' * before[-1:].isalnum()}{fraction}{' ' * after[:1].isalnum()}"


def _term(text: str) -> str:
    text = text.strip()
    return text if _ONE_TERM.fullmatch(text) else f"({text})"


def script(sign: str, text: str) -> str:
    """An exponent or index of an equation behind its sign: `^2`, `_(n+1)`."""
    text = text.strip()
    if not any(map(str.isalnum, text)):  # a prime, or the circle of degrees
        return text
    return f"{sign}{text if _SIGNED.fullmatch(text) else _term(text)}"


def equation(node: _Element) -> str:
    """The text of MathML on one line: `10^6`, `(a+b)/2`, `√16`."""
    if local(node).startswith("annotation"):
        return ""
    name, parts = local(node), [equation(child) for child in node]
    if signs := _SIGNS.get(name):
        return "".join(script(sign, part) if sign else part for sign, part in zip(signs, parts, strict=False))
    if name == "mfrac":
        return _apart(node, "/".join(map(_term, parts)))
    if name in {"msqrt", "mroot"}:
        degree = parts[1:] if name == "mroot" else []
        return f"{script('', ''.join(degree))}√{_term(''.join(parts[: len(parts) - len(degree)]))}"
    if name == "mfenced":
        return f"{node.get('open', '(')}{', '.join(parts)}{node.get('close', ')')}"
    tails = (part + (child.tail or "").strip() for part, child in zip(parts, node, strict=True))
    return (node.text or "").strip() + "".join(tails)


def description(properties: _Element) -> str:
    """The description of a picture (`descr`); "" if it is hidden, or if a program wrote a file name there."""
    if attribute(properties, "hidden") in {"1", "true"}:
        return ""
    text = _GENERATED.sub("", " ".join((attribute(properties, "descr") or "").split()))
    return "" if _FILE_NAME.fullmatch(text) else text


def chart_lines(root: _Element) -> Iterator[str]:
    """The titles of a chart, and a line for each category with the values that the file last showed."""
    for paragraph in root.iter("{*}p"):
        if text := "".join(node.text or "" for node in paragraph.iter("{*}t")).strip():
            yield text
    for plot in root.iterfind(".//{*}plotArea/*"):
        yield from _rows(plot.findall("{*}ser"))


def _rows(series: list[_Element]) -> Iterator[str]:
    """`Category | Name: value | Name: value` for each category of some series."""
    names = [" ".join(_points(each, "tx").values()) for each in series]
    columns = [_points(each, "val", "yVal") for each in series]
    categories: dict[int, str] = {}
    for each in series:
        categories = _points(each, "cat", "xVal") | categories
    for index in sorted(categories.keys() | {index for column in columns for index in column}):
        pairs = zip(names, columns, strict=True)
        values = (
            f"{name}: {column[index]}" if name else column[index] for name, column in pairs if index in column
        )
        yield " | ".join(filter(None, [categories.get(index, ""), *values]))


def _points(series: _Element, *names: str) -> dict[int, str]:
    """The cached values of the first of these parts that a series has, by their index."""
    part = next((found for name in names if (found := series.find(f"{{*}}{name}")) is not None), None)
    if part is None:
        return {}
    if (plain := part.find("{*}v")) is not None:
        return {0: plain.text or ""}
    code = next((node.text or "" for node in part.iter("{*}formatCode")), "")
    found = ((attribute(point, "idx") or "", point.findtext("{*}v") or "") for point in part.iter("{*}pt"))
    return {int(index): _shown(value, code) for index, value in found if index.isdecimal()}


def _shown(value: str, code: str) -> str:
    """A number in the form of its format code; other text as it is."""
    try:
        number = float(value)
    except ValueError:
        return value
    return show_dated(number, code, since_1904=False)
