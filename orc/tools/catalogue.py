"""The tools as people see them, and whether the tools server offers each now."""

import asyncio
import logging

from orc.tools.ports import ToolGateway
from orc_core.documents.scope import Scope, ScopeTokens
from orc_core.errors import OrcError
from orc_core.mcp_contract import ADD_TO_CONTEXT, TOOL_FACTS, ToolFacts

LISTING_SECONDS = 2.0
"""A page does not wait longer for a tools server that is away: its tools are then not available."""
TOKEN_SECONDS = 60
_NOWHERE = Scope(organization_id="orc", user_id="catalogue", conversation_id="none")

NEED_A_MODEL = frozenset({"follow_relation", "get_ontology", ADD_TO_CONTEXT})
"""Tools over what a model has found in documents, and those that a model alone would call."""

logger = logging.getLogger(__name__)


class ToolCatalogue:
    """Every tool that a tools server can have."""

    def __init__(self, gateway: ToolGateway, tokens: ScopeTokens, *, has_model: bool) -> None:
        self._gateway = gateway
        self._has_model = has_model
        self._tokens = tokens

    async def listed(self) -> list[tuple[ToolFacts, bool]]:
        """The tools by title, and whether each is offered now: none is while the tools server is away."""
        offered: set[str] = set()
        try:
            async with asyncio.timeout(LISTING_SECONDS):
                token = self._tokens.mint(_NOWHERE, seconds=TOKEN_SECONDS)
                offered = {tool.name for tool in await self._gateway.list_tools(token)}
        except (OrcError, TimeoutError) as exc:
            logger.warning("the tools could not be listed: %s", type(exc).__name__)
        if not self._has_model:
            offered -= NEED_A_MODEL
        known = sorted(TOOL_FACTS.values(), key=lambda facts: facts.title)
        return [(facts, facts.name in offered) for facts in known]
