"""The same product on Azure's services, as far as emulators go: what a turn takes, and what it costs."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from bench.client import Advance, BareModel, ask, prepare_conversations, timed
from bench.connection import connected
from bench.cosmos_proxy import Exchange, Exchanges, noting
from bench.deployment import Stage, new_system
from bench.plan import EARLY_TURN, Plan
from bench.request_units import charge
from bench.statistics import Figure, flat, overheads, summary
from devkit.azure.services import azure_services
from devkit.reports import Target

GROUP = "On Azure's emulators"
KIB = 1024
ITEM = Target(100)
SAME = Target(1.1)
NONE = Target(0)


async def measure_azure(
    stage: Stage, bare: BareModel, plan: Plan, folder: Path, own: Sequence[str], advance: Advance
) -> list[Figure]:
    """Document turns of the running product and of one on emulators, in turn; then the cost of a long talk.

    `own` are conversations of the running product, each for one turn.
    """
    with ExitStack() as stack:
        services = stack.enter_context(azure_services())
        exchanges = stack.enter_context(noting(services["AZURE_COSMOS_ENDPOINT"]))
        system = new_system(folder / "azure", stage.double_port)
        system.environment.update(services, AZURE_COSMOS_ENDPOINT=exchanges.url)
        stack.callback(system.stop)
        system.start()
        others = await prepare_conversations(system.api_port, len(own) + 1, advance)
        figures = await _measure_turns(stage, bare, plan, system.api_port, (own, others[1:]), advance)
        return figures + await _measure_cost(system.api_port, others[0], plan, exchanges, advance)


async def _measure_turns(
    stage: Stage,
    bare: BareModel,
    plan: Plan,
    port: int,
    conversations: tuple[Sequence[str], Sequence[str]],
    advance: Advance,
) -> list[Figure]:
    embedded, azure = map(iter, conversations)
    times: dict[str, list[list[float]]] = defaultdict(list)
    async with connected(stage.system.api_port) as here, connected(port) as there:
        for _ in range(plan.rounds):
            turns = range(plan.azure_turns_per_round)
            times["bare"].append([await timed(bare.call()) for _ in turns])
            times["embedded"].append([await timed(ask(here, next(embedded))) for _ in turns])
            times["Azure's"].append([await timed(ask(there, next(azure))) for _ in turns])
            advance()
    bare_median = median(flat(times["bare"]))
    over = {name: overheads(times[name], times["bare"]) for name in ("embedded", "Azure's")}
    ratio = median(over["Azure's"]) / median(over["embedded"])
    return [
        summary(
            GROUP, "document turn, embedded stores, overhead", over["embedded"], bare=bare_median, tail=True
        ),
        summary(
            GROUP, "document turn, Azure's stores, overhead", over["Azure's"], bare=bare_median, tail=True
        ),
        Figure(GROUP, "the latter to the embedded", ratio, "x", len(over["Azure's"])),
    ]


async def _measure_cost(
    port: int, conversation_id: str, plan: Plan, exchanges: Exchanges, advance: Advance
) -> list[Figure]:
    """The turns of one conversation, in what they ask of Cosmos DB."""
    turns: list[list[Exchange]] = []
    exchanges.take()
    async with connected(port) as connection:
        for _ in range(plan.costed_turns):
            await ask(connection, conversation_id)
            turns.append(exchanges.take())
            advance()
    window = plan.growth_window
    early, late = turns[EARLY_TURN - window : EARLY_TURN + window], turns[-2 * window :]
    units = {
        turn: [charge(each) for each in some] for turn, some in ((EARLY_TURN, early), (len(turns), late))
    }
    largest = max(size for turn in turns for exchange in turn for size in exchange.written)
    astray = sum(exchange.over_partitions for turn in turns for exchange in turn)
    growth = median(units[len(turns)]) / median(units[EARLY_TURN])
    return [
        *(summary(GROUP, f"turn {turn}, estimated", values, "RU") for turn, values in units.items()),
        Figure(GROUP, f"cost of turn {len(turns)} to turn {EARLY_TURN}", growth, "x", len(late), target=SAME),
        *_requests(late),
        Figure(GROUP, "largest item", largest / KIB, "KiB", len(turns), target=ITEM),
        Figure(GROUP, "queries over several partitions", astray, "", len(turns), target=NONE),
    ]


def _requests(turns: Sequence[Sequence[Exchange]]) -> list[Figure]:
    counts = Counter(exchange.kind for turn in turns for exchange in turn)
    return [
        Figure(GROUP, f"requests of a turn, {kind}", count / len(turns), "", len(turns))
        for kind, count in sorted(counts.items())
    ]
