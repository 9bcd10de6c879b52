"""The documents that a request names: of its conversation, or of a context that the turn covers."""

from collections.abc import Sequence

from orc.contexts.ids import is_context_id
from orc.contexts.models import ContextType
from orc.contexts.turn_scope import TurnScope
from orc.conversations.models import TurnContext
from orc.turns.contexts import scope_of
from orc.turns.requests import TurnRequest
from orc_core.documents.service import DocumentService
from orc_core.models import Document
from orc_core.names import BlobPath, Owner, missing_document, path_named


def with_named_documents(request: TurnRequest, owner: Owner) -> TurnRequest:
    """The request with one name for each document, and with the contexts of documents that it does not name.

    Raises UnsafeName, and NotFound for the path of another conversation or organization.
    """
    paths = dict.fromkeys(_path_of(name, owner) for name in request.blob_names)
    names = [path.file if path.owner == owner else str(path) for path in paths]
    known = {context.id for context in request.contexts}
    homes = dict.fromkeys(path.owner.context_id for path in paths)
    added = [TurnContext(type=ContextType.WORKSPACE, id=each) for each in homes if each and each not in known]
    return request.model_copy(update={"blob_names": names, "contexts": [*request.contexts, *added]})


def contexts_named(documents: Sequence[Document]) -> list[TurnContext]:
    """The contexts of these documents, each once: a prompt has their text, whether or not it is cited."""
    homes = dict.fromkeys(document.owner.context_id for document in documents)
    return [TurnContext(type=ContextType.WORKSPACE, id=each) for each in homes if each]


async def named_documents(
    library: DocumentService, owner: Owner, names: Sequence[str], scope: TurnScope | None
) -> list[Document]:
    """The records of these documents, in order.

    Raises NotFound for a document that is not there, and for one of a context that the turn does not cover.
    """
    paths = {name: path_named(name, owner) for name in names}
    own = await library.resolve(owner, [name for name, path in paths.items() if path.owner == owner])
    shared = [path.document_id for path in paths.values() if path.owner != owner]
    accessible = scope_of(owner, [], scope).accessible
    found = [*own, *(await library.find_accessible(accessible, shared) if shared else [])]
    known = {document.document_id: document for document in found}
    documents = []
    for name, path in paths.items():
        document = known.get(path.document_id)
        if document is None:
            raise missing_document(name)
        documents.append(document)
    return documents


def _path_of(name: str, owner: Owner) -> BlobPath:
    path = path_named(name, owner)
    is_shared = path.owner.organization_id == owner.organization_id and is_context_id(
        path.owner.context_id or ""
    )
    if path.owner != owner and not is_shared:
        raise missing_document(name)
    return path
