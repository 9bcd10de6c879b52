"""The documents that a turn may access: all in certain places, or only some of them by id. Pure code."""

import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

from pydantic import ConfigDict, field_validator

from orc_core.errors import InvalidInput
from orc_core.models import Document, Record
from orc_core.names import Owner

NAME_BYTES = 72
"""The longest name of a context in a scope token."""
ALL, FOCUS, OTHERS = "all", "focus", "others"
"""Selections of places: all; the session with what belongs to the focus; the other contexts."""
SELECTIONS = (ALL, FOCUS, OTHERS)


_CURSOR = re.compile(r"(\d{1,4}):([\w-]{0,100})", re.ASCII)


class PlaceType(StrEnum):
    """What a place is: the session itself, or a context of one of four types."""

    SESSION = "session"
    ORGANIZATION = "organization"
    FOLDER = "folder"
    USECASE = "usecase"
    WORKSPACE = "workspace"


class Access(StrEnum):
    """What the caller may do in a place."""

    VIEWER = "viewer"
    EDITOR = "editor"
    ADMIN = "admin"


class Place(Record):
    """The session or a context whose documents are accessible.

    `deep`: with all contexts below it, except those in `without`. `near`: the session, or a context that
    belongs to the focus of the turn. `name` is what people call the context; it is cut to 72 bytes.
    """

    model_config = ConfigDict(extra="forbid")

    type: PlaceType
    id: str
    deep: bool = False
    near: bool = True
    access: Access = Access.VIEWER
    name: str = ""
    without: tuple[str, ...] = ()

    @field_validator("name")
    @classmethod
    def _cut(cls, name: str) -> str:
        return name.encode()[:NAME_BYTES].decode(errors="ignore")


class Area(NamedTuple):
    """The documents of one owner; `deep`: and those of all contexts below it."""

    owner: Owner
    deep: bool = False

    def holds(self, owner: Owner) -> bool:
        """Whether documents of `owner` are here."""
        if self.owner == owner:
            return True
        return (
            self.deep
            and owner.context_id is not None
            and self.owner.context_id is not None
            and owner.organization_id == self.owner.organization_id
            # With the dash: an id that only begins alike is that of another context.
            and owner.context_id.startswith(f"{self.owner.context_id}-")
        )

    def overlaps(self, other: "Area") -> bool:
        """Whether a document can be in both."""
        return self.holds(other.owner) or other.holds(self.owner)


class Portion(NamedTuple):
    """The documents of one place that belong to no place before it: those in `area`, and not in `outside`."""

    place: Place
    area: Area
    outside: tuple[Area, ...]


@dataclass(frozen=True)
class Accessible:
    """The documents in `places`, with `document_ids` only those of them; nothing in `hidden` areas.

    The places are those of the session `owner` and of contexts of the same organization.
    """

    owner: Owner
    places: tuple[Place, ...]
    document_ids: frozenset[str] | None = None
    hidden: tuple[Area, ...] = ()

    @classmethod
    def of_owner(cls, owner: Owner) -> "Accessible":
        """The documents of one owner."""
        return cls(owner, (session_place(owner),))

    def area(self, place: Place) -> Area:
        """Where the documents of a place are stored."""
        if place.type is PlaceType.SESSION:
            # The id of the place cannot name another session.
            return Area(self.owner)
        return Area(Owner.of_context(self.owner.organization_id, place.id), place.deep)

    @cached_property
    def areas(self) -> list[Area]:
        """Where accessible documents are stored, each area once."""
        return list(dict.fromkeys(map(self.area, self.places)))

    @cached_property
    def portions(self) -> list[Portion]:
        """The places in the order of listings, each without what an earlier one has.

        Those of the focus are first, then those by themselves before those with all below, the lowest first.
        """

        def key(place: Place) -> tuple[bool, bool, int]:
            return not place.near, place.deep, -place.id.count("-") if place.deep else 0

        outside = list(self.hidden_areas)
        portions = []
        for place in sorted(self.places, key=key):
            area = self.area(place)
            # An engine compares every record with these, so those that have nothing in common are left out.
            portions.append(Portion(place, area, tuple(filter(area.overlaps, outside))))
            outside.append(area)
        return portions

    @cached_property
    def hidden_areas(self) -> list[Area]:
        """Areas whose documents are not accessible, although they are in `areas`."""
        without = dict.fromkeys(each for place in self.places for each in place.without)
        organization = self.owner.organization_id
        return [*self.hidden, *(Area(Owner.of_context(organization, each), deep=True) for each in without)]

    def holds(self, document: Document) -> bool:
        """Whether the document is accessible. Every adapter's result is compared with this."""
        return self.holds_in(document.document_id, document.owner)

    def holds_in(self, document_id: str, owner: Owner) -> bool:
        """Whether the document with this id and owner is accessible."""
        if self.document_ids is not None and document_id not in self.document_ids:
            return False
        if any(area.holds(owner) for area in self.hidden_areas):
            return False
        return any(area.holds(owner) for area in self.areas)

    def origin(self, document: Document) -> Place | None:
        """The place through which a document is accessible: the first in the order of listings."""
        if not self.holds(document):
            return None
        return next(each.place for each in self.portions if each.area.holds(document.owner))

    @property
    def has_contexts(self) -> bool:
        """Whether there are places besides the session."""
        return any(place.type is not PlaceType.SESSION for place in self.places)

    def described_origin(self, document: Document) -> "DocumentOrigin":
        """The origin of a document; empty without contexts, or if the document is not accessible."""
        place = self.origin(document) if self.has_contexts else None
        if place is None:
            return DocumentOrigin()
        return DocumentOrigin(
            context_type=place.type, context_id=place.id, context_name=place.name or None, focus=place.near
        )

    def in_order(self, documents: Iterable[Document]) -> list[Document]:
        """The accessible ones of these documents in the order of listings, in each place oldest first."""
        order = {id(each.place): number for number, each in enumerate(self.portions)}
        origins = ((self.origin(document), document) for document in documents)
        found = [(order[id(place)], document) for place, document in origins if place is not None]
        found.sort(key=lambda each: (each[0], each[1].created_at, each[1].blob_name))
        return [document for _, document in found]

    def narrowed(self, context: str = ALL) -> "Accessible":
        """The part of this that a call asks for; it is never more.

        `context` is `all`, `focus`, `others`, a handle such as `c1`, or the id of a context among the places.
        Raises InvalidInput for any other.
        """
        places, hidden = self._selected(context)
        return replace(self, places=places, hidden=(*self.hidden_areas, *hidden))

    @cached_property
    def handles(self) -> dict[str, Place]:
        """The contexts by handle: `c1` is the first."""
        contexts = [place for place in self.places if place.type is not PlaceType.SESSION]
        return {f"c{number}": place for number, place in enumerate(contexts, 1)}

    def _selected(self, context: str) -> tuple[tuple[Place, ...], Sequence[Area]]:
        near = tuple(place for place in self.places if place.near)
        if context == ALL:
            return self.places, ()
        if context == FOCUS:
            return near, ()
        if context == OTHERS:
            # A far context may have a near one below it.
            return tuple(each for each in self.places if not each.near), list(map(self.area, near))
        handles = self.handles
        by_id = {place.id: place for place in handles.values()}
        if (place := handles.get(context) or by_id.get(context)) is not None:
            return (place,), ()
        known = ", ".join((*SELECTIONS, *handles))
        raise InvalidInput(f"There is no such context. Known are: {known}.", field="context")


class DocumentOrigin(Record):
    """The place through which a document is accessible, as results of tools name it.

    A scope without contexts has one place, so nothing is said of it. `focus`: the session, or a context that
    belongs to the focus.
    """

    context_type: PlaceType | None = None
    context_id: str | None = None
    context_name: str | None = None
    focus: bool | None = None


class DocumentsPage(NamedTuple):
    """Some documents, and the cursor of the page that follows; None for the last page."""

    documents: list[Document]
    after: str | None


class PlaceCount(NamedTuple):
    """How many documents are accessible through a place; how many can be read, and are in the index."""

    place: Place
    total: int
    readable: int
    indexed: int = 0


ReadPortion = Callable[[Portion, str, int], Awaitable[list[Document]]]
"""Reads documents of a portion by id: the first behind an id, at most so many."""


async def read_page(accessible: Accessible, after: str, limit: int, read: ReadPortion) -> DocumentsPage:
    """The page behind a cursor, portion by portion. Raises InvalidInput for what is no cursor."""
    cursor = _CURSOR.fullmatch(after or "0:")
    if cursor is None:
        raise InvalidInput("The cursor is not one that a page gave.", field="cursor")
    number, behind = int(cursor[1]), cursor[2]
    found: list[tuple[int, Document]] = []
    while len(found) <= limit and number < len(accessible.portions):
        some = await read(accessible.portions[number], behind, limit + 1 - len(found))
        found += [(number, document) for document in some]
        number, behind = number + 1, ""
    shown = found[:limit]
    end = f"{shown[-1][0]}:{shown[-1][1].document_id}" if len(found) > limit else None
    return DocumentsPage([document for _, document in shown], end)


def session_place(owner: Owner) -> Place:
    """The place of a session's own documents."""
    return Place(type=PlaceType.SESSION, id=owner.conversation_id, access=Access.EDITOR)
