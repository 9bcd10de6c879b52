"""documents_add_to_context: what is proposed, and what is refused at once."""

from typing import Any

import pytest

from mcp_server.tools.additions import NAME_TAKEN, Additions
from orc_core.documents.places import Access, Place, PlaceType
from orc_core.documents.proposals import Proposal
from orc_core.errors import Conflict
from orc_core.names import Owner
from tests.unit.mcp_server.stand_ins import FakeLibrary, scope_of


class Proposals:
    async def propose(self, proposal: Proposal) -> Proposal:
        return proposal


async def test_a_name_is_taken_whatever_documents_the_token_is_limited_to(library: FakeLibrary) -> None:
    stored: Any = Proposals()
    additions, document = Additions(library, stored), library.add("fee.txt")
    place = Place(type=PlaceType.ORGANIZATION, id="o1", name="Northwind", access=Access.EDITOR)
    limited = scope_of(document)
    limited = limited.model_copy(update={"places": (*limited.places, place)})
    assert (await additions.propose(limited, document.document_id, "c1")).context_name == "Northwind"
    library.add("fee.txt", owner=Owner.of_context("acme", "o1"))
    for scope in (limited, limited.model_copy(update={"document_ids": None})):
        with pytest.raises(Conflict) as caught:
            await additions.propose(scope, document.document_id, "c1")
        assert caught.value.code == NAME_TAKEN
