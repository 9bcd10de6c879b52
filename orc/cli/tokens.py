"""Scope tokens for MCP clients on this machine: over a conversation, a context, or both."""

import json
import sys
import uuid
from collections.abc import Sequence
from typing import NamedTuple

from orc.contexts.models import ContextType
from orc.contexts.store import ContextStore
from orc.contexts.turn_scope import TurnScopes
from orc.conversations.models import TurnContext
from orc.identity import LOCAL_ORGANIZATION, LOCAL_USER, Principal
from orc.settings import Settings
from orc.turns.contexts import mint_token, scope_of
from orc_core.bootstrap import open_documents
from orc_core.errors import InvalidInput, NotFound
from orc_core.infra.data_directory import is_there
from orc_core.mcp_contract import TOOLS


class Wanted(NamedTuple):
    """What a token is to cover. `tools` are those that change something, to be switched on."""

    conversation: uuid.UUID | None = None
    context: str | None = None
    documents: Sequence[str] = ()
    tools: Sequence[str] = ()

    @property
    def words(self) -> list[str]:
        """The options of the command line that say this."""
        one = {"--conversation": self.conversation, "--context": self.context}
        words = [word for option, value in one.items() if value for word in (option, str(value))]
        many = {"--document": self.documents, "--tool": self.tools}
        return words + [word for option, each in many.items() for value in each for word in (option, value)]


async def mint(settings: Settings, wanted: Wanted, seconds: int) -> str:
    """A token of the local user. Raises NotFound for a context that is not there or a conversation without
    documents, and InvalidInput for options that do not fit."""
    if wanted.conversation is None and wanted.context is None:
        raise InvalidInput("Name a conversation, a context, or both.")
    if wanted.documents and wanted.conversation is None:
        raise InvalidInput("The documents that a token is for are of a conversation. Name it, too.")
    if unknown := set(wanted.tools) - TOOLS:
        raise InvalidInput(f"There is no tool {min(unknown)}.")
    if not settings.azure_services and not is_there(settings.database_path):
        raise NotFound(
            f"There is no data in {settings.data_dir.absolute()}. Set ORC_DATA_DIR to the data directory of"
            " `orc serve`, or start in the same folder."
        )
    user = Principal(LOCAL_ORGANIZATION, LOCAL_USER)
    owner = user.owner_of(str(wanted.conversation or uuid.uuid4()))
    async with open_documents(settings) as documents:
        library, scope = documents.library, None
        if wanted.context is not None:
            scopes = TurnScopes(ContextStore(await documents.clients.items("contexts")))
            asked = [TurnContext(type=ContextType.WORKSPACE, id=wanted.context)]
            scope = await scopes.of_turn(user, asked, None)
            if scope is None or scope.focus is None:
                raise NotFound("There is no such context.")
        elif not (wanted.documents or await library.list_documents(owner)):
            raise NotFound(f"The conversation {wanted.conversation} has no documents. Upload one first.")
        named = await library.resolve(owner, wanted.documents)
        token_scope = scope_of(owner, named, scope).switched(dict.fromkeys(wanted.tools, True))
        return mint_token(documents.tokens, token_scope, seconds)


def client_entry(settings: Settings, wanted: Wanted) -> str:
    """JSON for a client that starts `orc mcp` in a folder of its choice."""
    entry = {
        "command": sys.executable,
        "args": ["-m", "orc", "mcp", *wanted.words],
        "env": {"ORC_DATA_DIR": str(settings.data_dir.absolute())},
    }
    return json.dumps({"mcpServers": {"orc": entry}}, indent=2, ensure_ascii=False)
