"""The runner of a turn, from its stored question to its stored answer."""

import asyncio
import logging
import random
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from http import HTTPStatus

from orc.conversations.models import ChatMessage, Turn, TurnOutcome
from orc.events import ClosestPassages, Done, Event, Failed, Stopped, TurnResult
from orc.graphs.graph import build_graph, run_graph
from orc.graphs.models import ConversationState, RunContext
from orc.graphs.plan_rules import fit_as_a_whole, intents_of
from orc.graphs.prompts import shrink_to_window
from orc.memory.models import Memory
from orc.problems import problem_of, status_of
from orc.settings import TurnSettings
from orc.tools.ports import DOCUMENT_CHAT, WEB_SEARCH
from orc.turns import contexts
from orc.turns.results import end_of, outcome_of, result_of, shown_text, stopped_result_of, telemetry_of
from orc.turns.running_turn import RunningTurn, StoppedByUser, TurnDependencies, watched
from orc.turns.spans import observe
from orc.turns.titles import WAIT_SECONDS, Titles
from orc_core.documents.not_searched import NotSearched
from orc_core.documents.scope import Scope
from orc_core.documents.unknown_files import unknown_files
from orc_core.errors import INTERNAL, DeadlineExceeded, DependencyDown, OrcError, Unavailable
from orc_core.grounding.citations import as_said
from orc_core.infra.exhaustion import exhausted
from orc_core.infra.resilience import held
from orc_core.llm.chat_model import CallBudget
from orc_core.llm.errors import MODEL
from orc_core.llm.model_catalog import REPLY
from orc_core.models import Document
from orc_core.names import Owner

logger = logging.getLogger(__name__)

COMMIT_WAIT_SECONDS = (0.1, 0.5)
"""The shortest and the longest wait before an answer is stored again."""
TRACE_SECONDS = 5.0
"""The time limit for storing a trace."""
INTERRUPTED_SECONDS = 2.0
"""The time limit for storing that a turn was interrupted, while the process stops."""
CLOSEST_SECONDS = 5.0
"""The time limit for passages that are shown with the error of an absent model."""
TOKEN_GRACE_SECONDS = 60
MOST_NAMED = 20
"""Documents whose names a planner has."""
UNNAMED = "The request names no session, so only the messages that were sent are known."
SWITCHED_OFF = "The request switches the memory off."
IMPROVEMENT_SHARE = 0.9
"""The share of the turn's time after which the answer is given without further improvement."""


def unexpected() -> OrcError:
    """What the user is shown of a bug."""
    return OrcError("The turn failed unexpectedly. It can be asked again.", code=INTERNAL)


class TurnRunner:
    """Runs turns. JSON and streaming responses consume the same events; the only difference here is whether
    the model streams."""

    def __init__(
        self, parts: TurnDependencies, titles: Titles, changed: Callable[[Owner], None] = lambda _owner: None
    ) -> None:
        """`changed` is called when a turn has begun, and when it has ended."""
        self._parts = parts
        self._titles = titles
        self._changed = changed
        self.graph = build_graph(parts)
        self.offline = build_graph(replace(parts, models=away)) if (away := parts.models.stand_in) else None
        # The smallest window and the longest answer of any model that a turn may use.
        self._names = (*parts.models.names, parts.models.planner.name, parts.models.critic.name)
        caps = (kind.max_output_tokens for kind in intents_of(parts.settings).values())
        self._longest_answer = max([REPLY, *filter(None, caps)])

    async def run(self, running: RunningTurn) -> None:
        """Answer the turn until its `stop` is asked. Its log always ends, so that no reader waits forever."""
        request, begun = running.request, running.begun
        ending: Event | None = None
        try:
            title = self._titles.begin(running.owner, begun, running.log.publish)
            self._changed(running.owner)
            ending = await observe(running.span, self._ending(running))
            await title.settle(WAIT_SECONDS if request.stream and not isinstance(ending, Stopped) else 0)
        finally:
            if ending is None:
                # The task is cancelled: the turn can be asked again at once, not after its lease.
                error = Unavailable("Orc is shutting down. Ask again in a moment.", code="interrupted")
                ending = Failed(problem=problem_of(error, request.trace_id))
                # In a task that is cancelled, asyncio.timeout of Python 3.11.2 raises no TimeoutError.
                with suppress(TimeoutError):
                    ending = await asyncio.wait_for(self._failure(running, error), INTERRUPTED_SECONDS)
            running.recorder.emit(ending)
            self._changed(running.owner)
            # Concurrently, so that neither store delays the other.
            head, memory = running.begun.head, self._parts.memory
            remembered = [memory.update(head, running.blocked)] if isinstance(ending, Done) else []
            await asyncio.gather(self._keep_trace(running), *remembered)

    async def _keep_trace(self, running: RunningTurn) -> None:
        """Store the trace. An error here does not change the end of the turn, which the caller has."""
        try:
            async with asyncio.timeout(TRACE_SECONDS):
                await self._parts.traces.save(running.recorder.finish(running.budget))
                if await self._parts.log.head(running.owner) is None:
                    # The conversation was deleted while the turn ran.
                    await self._parts.traces.delete(running.owner)
        except Exception as exc:
            logger.warning(
                "the trace of turn %s was not stored: %s", running.turn.turn_id, type(exc).__name__
            )

    async def _ending(self, running: RunningTurn) -> Event:
        turn, settings = running.turn, self._parts.settings
        deadline = asyncio.timeout(settings.turn_deadline_seconds)
        lease = settings.turn_lease_seconds
        renew = partial(self._parts.log.renew, running.owner, turn.turn_id, turn.attempt, lease_seconds=lease)
        try:
            async with held(renew, seconds=lease):
                result, outcome = await self._answer_until_stopped(running, deadline)
                stored = await self._commit(running, outcome)
            return await self._stored_end(running, stored) if outcome.stopped else end_of(result)
        except OrcError as exc:
            error = exc
        except Exception as exc:
            if isinstance(exc, TimeoutError) and deadline.expired():
                error = DeadlineExceeded(f"No answer within {settings.turn_deadline_seconds:.0f} s.")
            elif (known := exhausted(exc)) is not None:
                error = known
            else:
                logger.exception("turn %s failed", turn.turn_id)
                error = unexpected()
        ending = await self._failure(running, error)
        if isinstance(ending, Failed):
            place = getattr(error, "dependency", "the turn")
            logger.warning("turn %s failed: %s in %s", turn.turn_id, error.code, place)
        return ending

    async def _answer_until_stopped(
        self, running: RunningTurn, deadline: asyncio.Timeout
    ) -> tuple[TurnResult, TurnOutcome]:
        """The answer, or what there is of it when the user stops the turn, here or through the turn log."""
        turn, seconds = running.turn, self._parts.stop_poll_seconds

        async def is_asked() -> bool:
            stored = await self._parts.log.turn(running.owner, turn.turn_id)
            return stored is not None and stored.stop_asked and stored.attempt == turn.attempt

        try:
            async with watched(is_asked, running.stop, seconds=seconds), running.stop.ends(), deadline:
                state, context = await self._inputs(running)
                try:
                    final = await run_graph(self.graph, state, context, running.recorder.emit)
                except DependencyDown as exc:
                    if (exc.dependency, exc.code) == (MODEL, DependencyDown.code):
                        await self._show_closest(running, state, context)
                    raise
                result, recalled = result_of(final, running), final.recalled
                running.recorder.emit(telemetry_of(final, result.metadata))
                outcome, library = outcome_of(final, result), self._parts.library
                return await contexts.result_with_contexts(result, outcome, running, recalled, library)
        except StoppedByUser:
            result = stopped_result_of(running)
            outcome = TurnOutcome(
                answer=result.answer,
                result=result.model_dump(mode="json"),
                citations=result.citations,
                stopped=True,
            )
            library = self._parts.library
            return await contexts.result_with_contexts(result, outcome, running, None, library)

    async def _show_closest(
        self, running: RunningTurn, state: ConversationState, context: RunContext
    ) -> None:
        """Emit the closest passages if they were asked for and nothing is shown yet."""
        request = running.request
        is_wanted = request.stream and request.closest_passages and not shown_text(running.log.so_far())
        if self.offline is None or not is_wanted:
            return
        # A search finds them, also in named documents, which exclude the web: to read through asks the model.
        state = state.model_copy(update={"blob_names": []})
        # What it uses is not of the model that is asked.
        budget = CallBudget(max_calls=self._parts.settings.max_model_calls)
        context = replace(context, budget=budget, tools_off=context.tools_off | {DOCUMENT_CHAT, WEB_SEARCH})
        try:
            async with asyncio.timeout(CLOSEST_SECONDS):
                result = result_of(await run_graph(self.offline, state, context, lambda _: None), running)
        except Exception as exc:
            # The caller is given the reason of the turn's failure all the same.
            logger.warning("turn %s has no closest passages: %s", running.turn.turn_id, type(exc).__name__)
            return
        if result.answer_kind == "closest_passages":
            running.log.publish(ClosestPassages(answer=result.answer, citations=result.citations))

    async def _inputs(self, running: RunningTurn) -> tuple[ConversationState, RunContext]:
        """The state in which the graph starts, and the values of its run."""
        await self._parts.catalogue.learn()
        if running.documents or running.is_in_new_conversation:
            accessible, memory = running.documents, await self._memory(running)
        else:
            # Without names, the tools may read every document of the conversation.
            listing = self._parts.library.list_documents(running.owner)
            accessible, memory = await asyncio.gather(listing, self._memory(running))
        state = _initial_state(running, accessible, memory, self._parts.settings)
        scope = contexts.scope_of(running.owner, running.documents, running.scope)
        scope = scope.switched(running.request.tools)
        state = await contexts.state_with_contexts(state, running, scope.accessible, self._parts)
        off = {name: "you" for name, is_on in running.request.tools.items() if not is_on}
        by_contexts = state.scope.tools_off if state.scope else []
        off |= {each.tool: each.by for each in by_contexts}
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

    async def _commit(self, running: RunningTurn, outcome: TurnOutcome) -> Turn:
        """Store the answer. It may have been shown, so a store that is down is retried, even past the
        deadline. An attempt may succeed although it timed out; `_failure` detects that."""
        turn, seconds = running.turn, self._parts.commit_seconds

        async def commit() -> Turn:
            try:
                async with asyncio.timeout(seconds):
                    return await self._parts.log.commit(running.owner, turn.turn_id, turn.attempt, outcome)
            except TimeoutError as exc:
                raise DependencyDown("The answer could not be stored in time.", dependency="store") from exc

        clock = asyncio.get_running_loop().time
        ends_at = clock() + seconds
        while True:
            try:
                return await commit()
            except Unavailable:
                if clock() >= ends_at:
                    raise
                await asyncio.sleep(random.uniform(*COMMIT_WAIT_SECONDS))

    async def _stored_end(self, running: RunningTurn, stored: Turn) -> Event:
        """The end of a turn with its stored result.

        If the user stopped before any text arrived, the stored result is that of the previous attempt. The
        caller may have lost access to its sources since.
        """
        earlier = running.turn.earlier
        if earlier is not None and stored.result == earlier.result:
            [stored] = await self._parts.revoked.shown(running.caller, running.begun.head, [stored])
        return end_of(TurnResult.model_validate(stored.result))

    async def _failure(self, running: RunningTurn, error: OrcError) -> Event:
        """The end of a failed turn; that of its result if it was stored although no confirmation arrived."""
        turn = running.turn
        attempt = (running.owner, turn.turn_id, turn.attempt)
        try:
            stored = await self._parts.log.fail(*attempt, error.code, error.message)
            if stored.status.has_result and stored.failure is None:
                return await self._stored_end(running, stored)
            if status_of(error) >= HTTPStatus.INTERNAL_SERVER_ERROR:
                # What we or the model broke costs the user nothing: docs/decisions/limits-of-use.md.
                await self._parts.messages.give_back_failed(running.caller)
        except OrcError as exc:
            logger.warning("turn %s could not be closed: %s", turn.turn_id, exc.code)
        except Exception:
            # The outermost edge of a turn: it counts as failed once its lease expires.
            logger.exception("turn %s could not be closed", turn.turn_id)
        return Failed(problem=problem_of(error, running.request.trace_id))


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
