"""Proposals that are decided on while something else happens."""

from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from orc.contexts.proposals import Proposals
from orc.identity import Principal
from orc_core.documents.places import PlaceType
from orc_core.documents.proposals import Proposal, ProposalState, ProposalStore
from orc_core.errors import Conflict, DependencyDown, Forbidden, NotFound, OrcError
from orc_core.infra.sqlite import Database
from orc_core.mcp_contract import ADD_TO_CONTEXT
from orc_core.names import BlobPath, Owner
from orc_core.storage.sqlite.items import open_table
from orc_core.storage.sqlite.tables import TABLES

OWNER = Owner("acme", "ed", "c")
TARGET = Owner.of_context("acme", "o")
ADDED = BlobPath(TARGET, "fee.txt").document_id
CALLER: Any = SimpleNamespace(principal=Principal("acme", "ed"), trace_id="t")


class Contexts:
    """Everybody may change everything, unless it is `refused`."""

    refused: OrcError | None = None
    tools_off: tuple[str, ...] = ()

    async def read(self, *_words: object) -> Any:
        if self.refused is not None:
            raise self.refused
        return SimpleNamespace(path=[], context=SimpleNamespace(tools_off=self.tools_off))

    async def owner(self, *_words: object) -> Owner:
        return TARGET


class Library:
    """The files of the context; `meanwhile` runs while one is added."""

    def __init__(self) -> None:
        self.added: dict[str, Any] = {}
        self.seconds: list[float | None] = []

    async def meanwhile(self) -> None:
        """Nothing happens."""

    async def find(self, _owner: Owner, _document_id: str) -> Any:
        return SimpleNamespace(version="v")

    async def resolve(self, _owner: Owner, _names: list[str]) -> list[Any]:
        return list(self.added.values())

    def local_copy(self, _document: object) -> Any:
        return self

    async def __aenter__(self) -> Path:
        return Path("fee.txt")

    async def __aexit__(self, *_error: object) -> None:
        return None

    async def upload(
        self, owner: Owner, _name: str, _path: Path, *, seconds: float | None = None, replaces: bool
    ) -> Any:
        assert not replaces
        self.seconds.append(seconds)
        if self.added:
            raise Conflict("There is one already.", code="name_taken")
        added = SimpleNamespace(etag="e", document_id=ADDED, owner=owner, version="v")
        self.added[ADDED] = added
        await self.meanwhile()
        return added

    async def delete(self, owner: Owner, document_id: str, *, etag: str) -> None:
        if (found := self.added.get(document_id)) is None:
            raise NotFound("There is no such document.")
        if (found.etag, found.owner) != (etag, owner):
            raise Conflict("It was replaced.", code="changed_meanwhile")
        del self.added[document_id]


@pytest.fixture
async def proposals(tmp_path: Path) -> AsyncIterator[Any]:
    """With one proposal, `p`."""
    database = Database(tmp_path / "orc.sqlite")
    items = await open_table(database, TABLES["contexts"])
    opened: Any = Proposals(ProposalStore(items), Contexts(), Library())  # type: ignore[arg-type]
    proposal = Proposal(
        organization_id="acme",
        user_id="ed",
        conversation_id="c",
        proposal_id="p",
        document_id="d",
        blob_name="fee.txt",
        version="v",
        context_type=PlaceType.ORGANIZATION,
        context_id="o",
        context_name="Northwind",
    )
    await opened.store.propose(proposal)
    yield opened
    await database.close()


async def state(proposals: Any) -> ProposalState:
    proposal, _ = await proposals.store.read(OWNER, "p")
    found: ProposalState = proposal.state
    return found


async def test_a_file_that_is_declined_while_it_is_added_is_not_there_afterwards(proposals: Any) -> None:
    proposals.library.meanwhile = lambda: proposals.decline(CALLER, OWNER, "p")
    with pytest.raises(Conflict):
        await proposals.confirm(CALLER, OWNER, "p")
    assert (await state(proposals), proposals.library.added) == (ProposalState.DECLINED, {})


async def test_a_conversation_that_is_deleted_while_its_file_is_added_leaves_none(proposals: Any) -> None:
    proposals.library.meanwhile = lambda: proposals.store.forget(OWNER)
    with pytest.raises(NotFound):
        await proposals.confirm(CALLER, OWNER, "p")
    assert proposals.library.added == {}


async def test_a_confirmation_that_was_interrupted_is_resumed(proposals: Any) -> None:
    async def interrupted() -> None:
        raise DependencyDown("The store does not answer.", dependency="store")

    proposals.library.meanwhile = interrupted
    with pytest.raises(DependencyDown):
        await proposals.confirm(CALLER, OWNER, "p")
    assert await state(proposals) is ProposalState.OPEN
    assert (await proposals.confirm(CALLER, OWNER, "p")).state is ProposalState.DONE
    assert (await proposals.undo(CALLER, OWNER, "p")).state is ProposalState.UNDONE
    assert proposals.library.added == {}


async def test_another_file_of_the_name_is_no_trace_of_a_confirmation(proposals: Any) -> None:
    other = SimpleNamespace(etag="f", document_id=ADDED, owner=TARGET, version="w")
    proposals.library.added[ADDED] = other
    with pytest.raises(Conflict) as caught:
        await proposals.confirm(CALLER, OWNER, "p")
    assert (caught.value.code, await state(proposals)) == ("name_taken", ProposalState.OPEN)
    assert proposals.library.added == {ADDED: other}


@pytest.mark.parametrize("refused", [NotFound("It is gone."), Forbidden("You may only read.")])
async def test_what_is_added_while_the_right_ends_is_not_there_afterwards(
    proposals: Any, refused: OrcError
) -> None:
    async def ended() -> None:
        proposals.contexts.refused = refused

    proposals.library.meanwhile = ended
    with pytest.raises(type(refused)):
        await proposals.confirm(CALLER, OWNER, "p")
    assert (await state(proposals), proposals.library.added) == (ProposalState.OPEN, {})


async def test_a_confirmation_waits_for_the_text_as_long_as_an_upload(proposals: Any) -> None:
    await proposals.confirm(CALLER, OWNER, "p")
    assert proposals.library.seconds == [10]


async def test_what_was_added_is_taken_back_with_the_tool_switched_off(proposals: Any) -> None:
    await proposals.confirm(CALLER, OWNER, "p")
    proposals.contexts.tools_off = (ADD_TO_CONTEXT,)
    assert (await proposals.undo(CALLER, OWNER, "p")).state is ProposalState.UNDONE
    assert proposals.library.added == {}
