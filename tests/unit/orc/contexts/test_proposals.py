"""Proposals that are decided on twice at the same time."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from orc.contexts.proposals import Proposals
from orc.identity import Principal
from orc_core.documents.places import PlaceType
from orc_core.documents.proposals import Proposal, ProposalState, ProposalStore
from orc_core.errors import Conflict
from orc_core.infra.sqlite import Database
from orc_core.names import Owner
from orc_core.storage.sqlite.items import open_table
from orc_core.storage.sqlite.tables import TABLES

OWNER = Owner("acme", "ed", "c")
CALLER: Any = SimpleNamespace(principal=Principal("acme", "ed"), trace_id="t")


class Contexts:
    """Everybody may change everything."""

    async def read(self, *_words: object) -> Any:
        return SimpleNamespace(path=[], context=SimpleNamespace(tools_off=[]))


class Library:
    """The files of the context; `meanwhile` runs while one is added."""

    def __init__(self) -> None:
        self.added: list[str] = []
        self.meanwhile: Any = None

    async def find(self, _owner: Owner, _document_id: str) -> Any:
        return SimpleNamespace(version="v")

    def local_copy(self, _document: object) -> Any:
        return self

    async def __aenter__(self) -> Path:
        return Path("fee.txt")

    async def __aexit__(self, *_error: object) -> None:
        return None

    async def upload(self, _owner: Owner, name: str, _path: Path, *, replaces: bool) -> Any:
        assert not replaces
        self.added.append(name)
        await self.meanwhile()
        return SimpleNamespace(etag="e", document_id=name)

    async def delete(self, _owner: Owner, document_id: str) -> None:
        self.added.remove(document_id)


async def test_a_file_that_is_declined_while_it_is_added_is_not_there_afterwards(tmp_path: Path) -> None:
    database = Database(tmp_path / "orc.sqlite")
    items = await open_table(database, TABLES["contexts"])
    library = Library()
    proposals = Proposals(ProposalStore(items), Contexts(), library)  # type: ignore[arg-type]
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
    await proposals.store.propose(proposal)
    library.meanwhile = lambda: proposals.decline(CALLER, OWNER, "p")
    with pytest.raises(Conflict):
        await proposals.confirm(CALLER, OWNER, "p")
    [stored] = await proposals.store.of(OWNER)
    assert (stored.state, library.added) == (ProposalState.DECLINED, [])
    await database.close()
