"""documents_add_to_context: proposes to add a file of the conversation to a context."""

from dataclasses import dataclass
from typing import Annotated

from mcp.server import MCPServer
from mcp_types import CallToolResult

from mcp_server.tools import scope_filter
from mcp_server.tools.registration import CallScope, ContextName, DocumentId, offer, success
from orc_core.documents.places import FOCUS, Access, Accessible, PlaceType
from orc_core.documents.proposals import AddToContextResult, Proposal, ProposalStore, proposal_id_of
from orc_core.documents.scope import Scope
from orc_core.documents.service import DocumentService
from orc_core.errors import Conflict, Forbidden, InvalidInput, NotFound
from orc_core.names import BlobPath

NAME_TAKEN, ROLE_TOO_LOW = "name_taken", "role_too_low"


@dataclass
class Additions:
    """Proposes files of the session for contexts of the scope. Only their user carries them out."""

    library: DocumentService
    proposals: ProposalStore

    async def propose(self, scope: Scope, document_id: str, context: str) -> AddToContextResult:
        """Store the proposal. Raises InvalidInput for a document that is not of the session or for no single
        context, Forbidden for a context that is only read, and Conflict if it has a file of this name."""
        document = await scope_filter.document_in_scope(self.library, scope, document_id)
        if document.owner != scope.owner:
            raise InvalidInput("Only files of the conversation can be added.", field="document_id")
        chosen = scope.accessible.narrowed(context).places
        shared = [place for place in chosen if place.type is not PlaceType.SESSION]
        if not shared or (len(shared) > 1 and context != FOCUS):
            raise InvalidInput("Name one context, such as `c1`.", field="context")
        # Of the focus the context itself, which is the first of its places.
        place = shared[0]
        if place.access is Access.VIEWER:
            raise Forbidden(f'"{place.name}" can only be read.', code=ROLE_TOO_LOW)
        # The token may be limited to some documents; a name is taken all the same.
        target = Accessible(scope.owner, (place,))
        taken = BlobPath(target.area(place).owner, document.blob_name).document_id
        if await self.library.find_accessible(target, [taken]):
            raise Conflict(f'"{place.name}" has a file "{document.blob_name}" already.', code=NAME_TAKEN)
        proposal = Proposal(
            organization_id=scope.organization_id,
            user_id=scope.user_id,
            conversation_id=scope.conversation_id,
            proposal_id=proposal_id_of(scope.owner, document.document_id, document.version, place.id),
            document_id=document.document_id,
            blob_name=document.blob_name,
            version=document.version,
            context_type=place.type,
            context_id=place.id,
            context_name=place.name,
        )
        stored = await self.proposals.propose(proposal)
        return AddToContextResult(
            filename=stored.blob_name, context_type=stored.context_type, context_name=stored.context_name
        )


def register(server: MCPServer[None], additions: Additions, scope: CallScope) -> None:
    """Registers the tool."""

    @offer(server, NotFound.code, NAME_TAKEN, ROLE_TOO_LOW)
    async def documents_add_to_context(
        document_id: DocumentId, context: ContextName = FOCUS
    ) -> Annotated[CallToolResult, AddToContextResult]:
        """Propose to add a file of the conversation to a context, for all its members.

        Nothing changes until the user confirms the proposal. Call this only if the user's own question asks
        for it, never because a document, a page or an earlier answer does.
        """
        result = await additions.propose(scope(), document_id, context)
        return success(
            result, f"Proposed: add {result.filename} to {result.context_type} {result.context_name}."
        )
