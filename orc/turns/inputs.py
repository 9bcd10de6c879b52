"""What the graph of a turn starts with: its state, and the values of its run."""

import asyncio
from collections.abc import Mapping

from orc.conversations.models import ChatMessage
from orc.graphs.meant import fit_as_a_whole
from orc.graphs.models import ConversationState, RunContext
from orc.graphs.plan_rules import intents_of
from orc.graphs.prompts import shrink_to_window
from orc.memory.models import Memory
from orc.settings import TurnSettings
from orc.turns import contexts
from orc.turns.dependencies import TurnDependencies
from orc.turns.running_turn import RunningTurn
from orc_core.documents.not_searched import NotSearched
from orc_core.documents.scope import Scope
from orc_core.documents.unknown_files import unknown_files
from orc_core.grounding.citations import as_said
from orc_core.llm.model_catalog import REPLY
from orc_core.models import Document

TOKEN_GRACE_SECONDS = 60
MOST_NAMED = 20
"""Documents whose names a planner has."""
UNNAMED = "The request names no session, so only the messages that were sent are known."
SWITCHED_OFF = "The request switches the memory off."
IMPROVEMENT_SHARE = 0.9
"""The share of the turn's time after which the answer is given without further improvement."""


class TurnInputs:
    """Reads what the graphs of turns start with."""

    def __init__(self, parts: TurnDependencies) -> None:
        self._parts = parts
        # The smallest window and the longest answer of any model that a turn may use.
        names = (*parts.models.names, parts.models.planner.name, parts.models.critic.name)
        self._names = names
        caps = (kind.max_output_tokens for kind in intents_of(parts.settings).values())
        self._longest_answer = max([REPLY, *filter(None, caps)])

    async def read(self, running: RunningTurn) -> tuple[ConversationState, RunContext]:
        """The state in which the graph starts, and the values of its run. Sets the turn's `memory`."""
        await self._parts.catalogue.learn()
        if running.documents or running.is_in_new_conversation:
            accessible, memory = running.documents, await self._memory(running)
        else:
            # Without names, the tools may read every document of the conversation.
            listing = self._parts.library.list_documents(running.owner)
            accessible, memory = await asyncio.gather(listing, self._memory(running))
        running.memory = memory
        state = _initial_state(running, accessible, memory, self._parts.settings)
        owner, parts = running.owner, self._parts
        scope = contexts.scope_of(owner, running.documents, running.scope).switched(running.request.tools)
        state = await contexts.state_with_contexts(
            state, running.scope, scope.accessible, owner, parts.library, parts.counter
        )
        off = {name: "you" for name, is_on in running.request.tools.items() if not is_on}
        by_contexts = state.scope.tools_off if state.scope else []
        off |= {each.tool: f'{each.context_type} "{each.context_name}"' for each in by_contexts}
        return state, self._context(running, scope, off)

    async def _memory(self, running: RunningTurn) -> Memory:
        if running.request.flags.memory is False:
            return Memory(unread=SWITCHED_OFF)
        if not running.request.recalls:
            return Memory(unread=UNNAMED)
        sent = running.request.history
        sent_turns = None if sent is None else sum(message.role == "user" for message in sent)
        return await self._parts.memory.read(running.begun.head, sent_turns, running.blocked)

    def _context(self, running: RunningTurn, scope: Scope, off: Mapping[str, str]) -> RunContext:
        parts, request, seconds = self._parts, running.request, self._parts.settings.turn_deadline_seconds
        settings = shrink_to_window(
            request.flags.applied(parts.settings),
            parts.settings.context_window or parts.catalogue.window(self._names),
            request.question,
            parts.counter,
            self._longest_answer,
        )
        return RunContext(
            scope_token=contexts.mint_token(parts.scope_tokens, scope, int(seconds) + TOKEN_GRACE_SECONDS),
            settings=settings,
            stream=request.stream,
            asked_model=request.model,
            ends_at=asyncio.get_running_loop().time() + seconds * IMPROVEMENT_SHARE,
            accessible=scope.accessible,
            tools_off=frozenset(scope.tools_off),
            off_by=off,
            update_tools=frozenset(name for name in scope.tools_on if scope.allows(name, only_reads=False)),
            budget=running.budget,
            origins=running.origins,
        )


def _as_said(message: ChatMessage) -> ChatMessage:
    """An answer as the model wrote it; one with nothing else keeps its notes."""
    said = as_said(message.content) if message.role == "assistant" else ""
    return message.model_copy(update={"content": said}) if said else message


def _initial_state(
    running: RunningTurn, accessible: list[Document], memory: Memory, settings: TurnSettings
) -> ConversationState:
    """The state in which the graph starts."""
    head, request = running.begun.head, running.request
    refs = head.uploaded_file_refs
    if not running.documents:
        # Documents may have been deleted since. A turn that names documents overwrites the references.
        present = {document.blob_name for document in accessible}
        refs = [ref for ref in refs if ref.blob_name in present]
    if running.blocked:
        # A reference may be to a file that an answer which is not shown has used.
        refs = []
    stored = contexts.shown_history(running.begun.history, running.blocked)
    return ConversationState(
        question=request.question,
        conversation_id=running.turn.conversation_id,
        blob_names=[contexts.name_for(document, running.owner) for document in running.documents],
        has_documents=bool(accessible),
        shelf={contexts.name_for(document, running.owner): document for document in accessible},
        documents=[(each.document_id, each.blob_name) for each in accessible[:MOST_NAMED]],
        reads_whole=fit_as_a_whole(running.documents, settings),
        not_searched=NotSearched() if running.documents else NotSearched.among(accessible),
        unknown_files=unknown_files(request.question, [document.blob_name for document in accessible]),
        history=list(map(_as_said, stored if request.history is None else request.history)),
        memory=memory,
        uploaded_file_refs=refs,
        last_mcp_tool_used=head.last_mcp_tool_used,
    )
