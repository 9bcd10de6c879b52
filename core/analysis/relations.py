"""From a name to the pages that it is connected with, by what the pages say of it."""

from collections.abc import Iterator
from typing import Literal, NamedTuple

from core.analysis.aliases import PagesByDocument, ShortForms, key
from core.analysis.models import Connection, PageAnalysis, Relation
from core.text.terms import DEFAULT_LANGUAGE, stems, words

Direction = Literal["source", "target", "both"]

LEAST_PART = 4
"""Characters of a name that may be a part of longer ones."""


class _Wanted(NamedTuple):
    """The keys of what is looked for. `is_whole`: a name has to be one of them, not just hold one."""

    keys: frozenset[str]
    is_whole: bool

    def is_named_by(self, name: str) -> bool:
        found = key(name)
        if found in self.keys:
            return True
        padded = f" {found} "
        return not self.is_whole and any(
            f" {each} " in padded for each in self.keys if len(each) >= LEAST_PART
        )


def follow(
    pages: PagesByDocument,
    entity_value: str,
    relation_type: str | None = None,
    direction: Direction = "both",
    limit: int | None = None,
) -> list[Connection]:
    """The pages where `entity_value` is the source or the target of a relation, then those that name it.

    Its other names count as itself, and letter case does not matter; where no page has the whole name,
    longer names that hold it do. Pages that only name it have no relation. Does no I/O.
    """
    short_forms = ShortForms(pages)
    for is_whole in (True, False):
        wanted = {
            document_id: _Wanted(frozenset(short_forms.spellings(entity_value, document_id)), is_whole)
            for document_id in pages
        }
        related = list(_related(wanted, relation_type, direction, pages))
        if found := [*related, *_naming(wanted, related, pages)]:
            return found[:limit]
    return []


def _related(
    wanted: dict[str, _Wanted], relation_type: str | None, direction: Direction, pages: PagesByDocument
) -> Iterator[Connection]:
    for document_id, analyses in pages.items():
        for page in analyses:
            for relation in page.relations:
                named = _end_that_is(wanted[document_id], relation, direction)
                if named is not None and _is_of_type(relation, relation_type):
                    yield Connection(
                        document_id=document_id,
                        page=page.page,
                        relation=relation,
                        named=named,
                        target_page=_page_of_target(relation, page),
                    )


def _naming(
    wanted: dict[str, _Wanted], related: list[Connection], pages: PagesByDocument
) -> Iterator[Connection]:
    known = {(connection.document_id, connection.page) for connection in related}
    for document_id, analyses in pages.items():
        for page in analyses:
            if (document_id, page.page) not in known and (named := _name_on(page, wanted[document_id])):
                yield Connection(document_id=document_id, page=page.page, named=named)


def _end_that_is(wanted: _Wanted, relation: Relation, direction: Direction) -> str | None:
    if direction != "target" and wanted.is_named_by(relation.source):
        return relation.source
    if direction != "source" and wanted.is_named_by(relation.target):
        return relation.target
    return None


def _is_of_type(relation: Relation, wanted: str | None) -> bool:
    return wanted is None or not wanted.strip() or _root(wanted) == _root(relation.type)


def _root(relation_type: str) -> tuple[str, ...]:
    """`acquires` and `acquired` are one type."""
    found = tuple(stem for stem in stems(words(relation_type), DEFAULT_LANGUAGE) if stem)
    return found or (relation_type.casefold().strip(),)


def _page_of_target(relation: Relation, page: PageAnalysis) -> int | None:
    places = (anchor.target_page for anchor in page.anchors if anchor.text == relation.target)
    return next((place for place in places if place), None)


def _name_on(page: PageAnalysis, wanted: _Wanted) -> str | None:
    names = (
        *(entity.name for entity in page.entities),
        *page.topics,
        *(anchor.text for anchor in page.anchors),
    )
    return next((name for name in names if wanted.is_named_by(name)), None)
