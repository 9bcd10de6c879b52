"""What a file says of itself, as one sentence: its title, its author, and how many pages or sheets it has."""

from lxml.etree import _Element

from orc_core.extraction.packages import ABSENT, Package
from orc_core.extraction.tables import span

_LONGEST = 300


def sentence_of(title: str = "", author: str = "", counted: str = "") -> str:
    """`Properties of the file: title “Tariff”; author Tove Dahl; 4 pages.`; "" if nothing is known."""
    said = [" ".join(each.split())[:_LONGEST] for each in (title, author)]
    known = [f"title “{said[0]}”" if said[0] else "", f"author {said[1]}" if said[1] else "", counted]
    return f"Properties of the file: {'; '.join(filter(None, known))}." if any(known) else ""


def count_of(number: int, part: str) -> str:
    """`4 pages`; "" if there are none."""
    return f"{number} {part}{'s' * (number != 1)}" if number else ""


def of_elements(root: _Element, counted: str) -> str:
    """The sentence for the elements `title` and `creator` below a root, in any namespace."""
    found = {
        name: next((each.text or "" for each in root.iter(f"{{*}}{name}")), "")
        for name in ("title", "initial-creator", "creator")
    }
    return sentence_of(found["title"], found["initial-creator"] or found["creator"], counted)


def of_office(package: Package, counted: str) -> str:
    return of_elements(next(package.related("", "core-properties"), ABSENT), counted)


def pages_when_saved(number: object) -> str:
    """The number of pages that a text says it had; "" for 1, which programs write that lay out no pages."""
    pages = span(number)
    return f"{count_of(pages, 'page')} when it was saved" if pages > 1 else ""
