"""Searches, listings and rights over 10,000 documents of 50 contexts, in a tenant with 100,000 grants.

`python -m bench.contexts` measures this part alone.
"""

import asyncio
import gc
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from pathlib import Path
from random import Random
from typing import NamedTuple

import psutil
from rich.console import Console

from bench.client import Advance
from bench.deployment import MIB, clean_surroundings
from bench.made_texts import Texts
from bench.plan import FULL, Plan
from bench.report import as_table
from bench.statistics import Figure, percentile, summary
from devkit.reports import Target
from devkit.store_pairs import items_here
from mcp_server.tools.documents import DocumentContents
from mcp_server.tools.search import DocumentSearch
from orc.contexts.ids import new_id, parent_of
from orc.contexts.models import (
    GROUP,
    USER,
    Action,
    AuditEntry,
    Context,
    ContextType,
    Member,
    Role,
)
from orc.contexts.store import ContextStore, _member_item
from orc.contexts.turn_scope import TurnScope, TurnScopes
from orc.conversations.models import TurnContext
from orc.identity import Principal
from orc.turns.contexts import context_block, count_documents, mint_token, near_and_far, scope_of
from orc_core.bootstrap import Documents, open_documents
from orc_core.documents.scope import Scope
from orc_core.infra.items import upsert
from orc_core.infra.settings import CoreSettings
from orc_core.infra.sqlite import Database
from orc_core.models import Document, DocumentStatus, Page, Passage
from orc_core.names import BlobPath, Owner
from orc_core.storage.sqlite.tables import TABLES

PASSAGES = 10
"""Passages of each document."""
COPIES = 20
"""So many documents share a text, each with its own rows."""
GROUPS = 200
NAMED = 50
"""The contexts that one question names: use cases, each in a separate folder."""
MEMBERS = 10
"""Members of each context but the organization, which has CROWD."""
CROWD = 10_000
SECONDS = 260
TENANT, CALLER = "tenant", "ann"
ONE, MANY, WHOLE = "1 context", f"{NAMED} contexts", "1 organization"
_NOW = datetime(2026, 1, 1, tzinfo=UTC)


async def measure_contexts(folder: Path, plan: Plan, advance: Advance) -> list[Figure]:
    """What contexts cost: searches, listings, the rights of a turn, and all that a turn does for them."""
    async with open_documents(CoreSettings(data_dir=folder / "contexts")) as documents:
        database = documents.clients.file
        await database.migrate(TABLES["contexts"].schema)
        world, texts = await _build(database, plan.grants), Texts(Random(1))
        await _fill(documents, world.usecases, texts, plan.context_documents, advance)
        bench = _Bench(world, texts, documents, ContextStore(items_here(database, "contexts")), plan)
        return [
            *await bench.search(),
            *await bench.listings(),
            *await bench.rights(),
            *await bench.turns(),
        ]


class _World(NamedTuple):
    """The contexts that questions name, and who asks."""

    organization: str
    usecases: list[str]
    caller: Principal


class _Bench:
    """Measures in a world that is there."""

    def __init__(
        self, world: _World, texts: Texts, documents: Documents, store: ContextStore, plan: Plan
    ) -> None:
        self._world, self._texts, self._documents, self._plan = world, texts, documents, plan
        self._scopes = TurnScopes(store)
        self._owner = Owner(TENANT, CALLER, "session")
        self._group = f"{plan.context_documents:,} documents of {NAMED} contexts"

    async def search(self) -> list[Figure]:
        """`semantic_search` over all documents: below one organization, and in 50 contexts."""
        search = DocumentSearch(self._documents.library, self._documents.retriever, self._documents.analyses)
        figures = list[Figure]()

        async def ask(scope: Scope) -> None:
            found = await search.passages(scope, self._texts.question(), 8, lambda *_: None)
            # In few documents the words of a question may not occur.
            assert found.counts is not None and found.counts.documents == self._plan.context_documents

        scopes = {WHOLE: await self._scope(WHOLE), MANY: await self._scope(MANY)}
        for name, scope in scopes.items():
            times = await _timed(partial(ask, scope), self._plan.context_searches)
            figures += times.figures(self._group, f"semantic_search, {name}", p95=300)
        before = _resident_mib()
        for _ in range(self._plan.context_searches_for_memory):
            await ask(scopes[WHOLE])
        grown = Figure(
            self._group,
            f"memory after {self._plan.context_searches_for_memory} more searches",
            _resident_mib() - before,
            "MiB more",
            1,
            target=Target(50),
        )
        return [*figures, grown]

    async def listings(self) -> list[Figure]:
        """The first page of 50 documents, which counts those of each context, and a later one."""
        contents, figures = DocumentContents(self._documents.library, self._documents.analyses), []
        for name in (WHOLE, MANY):
            scope = await self._scope(name)
            first = await contents.documents(scope)
            assert first.next_cursor
            assert first.total == self._plan.context_documents
            times = await _timed(partial(contents.documents, scope), self._plan.context_calls)
            figures += times.figures(self._group, f"documents_list, first page, {name}", p95=60)
            later = partial(contents.documents, scope, cursor=first.next_cursor)
            times = await _timed(later, self._plan.context_calls)
            figures += times.figures(self._group, f"documents_list, later page, {name}", p95=30)
        return figures

    async def rights(self) -> list[Figure]:
        """The evaluation of a turn's rights: of one context, and of 50."""
        figures = []
        for name, most in ((ONE, 1.0), (MANY, 3.0)):
            times = await _timed(partial(self._turn_scope, name), self._plan.context_calls)
            figures += times.figures(self._group, f"rights of a turn, {name}", median=most)
        return figures

    async def turns(self) -> list[Figure]:
        """What a turn does for contexts and not without any, its searches apart."""
        figures = []
        for name, most in ((ONE, 3.0), (MANY, 10.0)):
            times = await _timed(partial(self._overhead, name), self._plan.context_calls)
            figures += times.figures(self._group, f"what a turn adds, {name}", median=most)
        return figures

    async def _overhead(self, name: str) -> None:
        """The rights, the counts, the block for the model, and the token with its check."""
        scope = await self._turn_scope(name)
        session = scope_of(self._owner, [], scope)
        counts = await count_documents(self._documents.library, session.accessible)
        near_and_far(scope, counts)
        context_block(scope, counts, self._documents.counter.count)
        tokens = self._documents.tokens
        tokens.verify(mint_token(tokens, session, SECONDS))

    async def _scope(self, name: str) -> Scope:
        return scope_of(self._owner, [], await self._turn_scope(name))

    async def _turn_scope(self, name: str) -> TurnScope:
        usecases = self._world.usecases
        asked = {WHOLE: [self._world.organization], ONE: usecases[:1], MANY: usecases}[name]
        kind = ContextType.ORGANIZATION if name == WHOLE else ContextType.USECASE
        contexts = [TurnContext(type=kind, id=each) for each in asked]
        scope = await self._scopes.of_turn(self._world.caller, contexts, None)
        assert scope is not None
        assert len(scope.refs) == len(asked)
        return scope


class _Times(NamedTuple):
    """Milliseconds of each call, on the clock and on the processor."""

    clock: list[float]
    processor: list[float]

    def figures(
        self, group: str, name: str, *, median: float | None = None, p95: float | None = None
    ) -> list[Figure]:
        """The median and the 95th percentile, with the target of the one or of the other."""
        count = len(self.clock)
        return [
            summary(group, f"{name}, median", self.clock, target=Target(median) if median else None),
            Figure(
                group,
                f"{name}, p95",
                percentile(self.clock, 95),
                "ms",
                count,
                target=Target(p95) if p95 else None,
            ),
            summary(group, f"{name}, median of CPU", self.processor),
        ]


async def _timed(work: Callable[[], Awaitable[object]], count: int) -> _Times:
    """The times of `count` calls, after two that warm up."""
    clock, processor = [], []
    for number in range(count + 2):
        started, used = time.perf_counter(), time.process_time()
        await work()
        if number > 1:
            clock.append(1000 * (time.perf_counter() - started))
            processor.append(1000 * (time.process_time() - used))
    return _Times(clock, processor)


def _resident_mib() -> float:
    gc.collect()
    return psutil.Process().memory_info().rss / MIB


async def _build(database: Database, grants: int) -> _World:
    """An organization with a folder for each use case, and as many other contexts as there are grants for."""
    organization = new_id()
    usecases = [new_id(new_id(organization)) for _ in range(NAMED)]
    tree = [organization, *filter(None, map(parent_of, usecases)), *usecases]
    others = [new_id() for _ in range((grants - CROWD) // MEMBERS)]
    items = items_here(database, "contexts")
    store = ContextStore(items)
    groups = [f"{number:08x}-6f4e-4c1e-9d2a-0f3b8a1c5e7d" for number in range(2 * GROUPS)]
    caller = Principal(TENANT, CALLER, groups=frozenset(groups[:GROUPS]))
    members = [(organization, f"{USER}someone-{number}") for number in range(CROWD)]
    members += [(organization, GROUP + groups[0])]
    for number, each in enumerate([*tree[1:], *others]):
        # Roles of the caller's groups and of others, as in a tenant that works with groups.
        named = islice((groups * 2)[number % len(groups) :], MEMBERS)
        members += [(each, GROUP + group) for group in named]
    for each in [*tree, *others]:
        await store.create(_context(each), None, None, _entry(each))
    await items.write([TENANT], *(upsert(_member_item(_member(*each))) for each in members))
    return _World(organization, usecases, caller)


def _context(context_id: str) -> Context:
    kinds = (ContextType.ORGANIZATION, ContextType.FOLDER, ContextType.USECASE)
    return Context(
        organization_id=TENANT,
        context_id=context_id,
        type=kinds[context_id.count("-")],
        name=f"Context {context_id[-6:]}",
        created_by=CALLER,
        created_at=_NOW,
        updated_at=_NOW,
    )


def _entry(context_id: str) -> AuditEntry:
    return AuditEntry(
        organization_id=TENANT, at=_NOW, actor=CALLER, action=Action.CREATED, context_id=context_id
    )


def _member(context_id: str, principal: str) -> Member:
    return Member(
        organization_id=TENANT,
        context_id=context_id,
        principal=principal,
        role=Role.VIEWER,
        granted_by=CALLER,
        granted_at=_NOW,
    )


async def _fill(
    documents: Documents, usecases: Sequence[str], texts: Texts, count: int, advance: Advance
) -> None:
    """Indexed documents, as many in each use case."""
    index, pages = documents.stores.index, documents.stores.pages
    shared: list[Passage] = []
    for number in range(count):
        owner = Owner.of_context(TENANT, usecases[number % len(usecases)])
        path = BlobPath(owner, f"report-{number}.pdf")
        target = path.document_id
        if number % COPIES == 0:
            shared = texts.passages(target, PASSAGES)
            await pages.save(target, [Page(number=1, text=shared[0].text)])
        passages = [passage.model_copy(update={"document_id": target}) for passage in shared]
        await index.save(target, path.file, passages, owner)
        await documents.stores.catalog.save(_record(path))
        advance()


def _record(path: BlobPath) -> Document:
    return Document(
        **asdict(path.owner),
        document_id=path.document_id,
        blob_name=path.file,
        etag="1",
        size=1,
        sha256=path.document_id,
        status=DocumentStatus.COMPLETED,
        readable=True,
        pages=3,
    )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name, clean_surroundings(Path(name)):
        Console(width=120).print(as_table(asyncio.run(measure_contexts(Path(name), FULL, lambda: None))))
