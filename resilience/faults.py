"""`python -m resilience.faults`: conversations under faults; no turn is lost, doubled or stuck."""

import argparse
import asyncio
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from devkit.faults.proxy import Proxy
from devkit.system import interrupted_by_sigterm
from resilience.clients import Asker, Encounters, open_client
from resilience.deployment import INSTANCE, Store, conversation_with
from resilience.history_check import KINDS, QUAY, Conversation, examine, new_question
from resilience.proxied_system import Arena, arena, entrances, faults
from resilience.report import Advance, Check, StepsOf, Verdict, conclude, steps, wide_console

UPLOADS_AT_ONCE = 4


@dataclass(frozen=True)
class Plan:
    """How much is asked, and how much goes wrong."""

    conversations: int = 32
    turns: int = 20
    seeds: int = 5
    faults: float = 0.2
    store: Store = Store.SQLITE
    instances: int = 2
    patience_seconds: float = 60.0


async def fight(arena: Arena, plan: Plan, steps_of: StepsOf, command: Sequence[str] = INSTANCE) -> Verdict:
    """Ask by the plan through faults, then read everything back without. `command` starts an instance."""
    started, met, conversations = time.perf_counter(), Encounters(), list[Conversation]()
    async with entrances(arena, plan.instances, command) as clients:
        proxies = [*arena.proxies, *clients]
        for seed in range(1, plan.seeds + 1):
            prepared = await _prepare(arena, plan, steps_of(f"Seed {seed}: documents", plan.conversations))
            conversations += prepared
            advance = steps_of(f"Seed {seed}: turns", plan.conversations * plan.turns)
            with faults(proxies, plan.faults, seed):
                await _ask_all(arena, plan, prepared, _Entry(clients, met, seed), advance)
        await arena.read_back(conversations)
    checks = [*examine(conversations), *_checks_of(met, arena)]
    figures = _figures(plan, conversations, met, proxies)
    return Verdict(
        "Turns through faults", checks, [*figures, ("seconds", f"{time.perf_counter() - started:.0f}")]
    )


@dataclass(frozen=True)
class _Entry:
    """How the clients of one seed come in."""

    clients: Sequence[Proxy]
    met: Encounters
    seed: int


async def _prepare(arena: Arena, plan: Plan, advance: Advance) -> list[Conversation]:
    """Conversations that hold a document, which is indexed."""
    at_once = asyncio.Semaphore(UPLOADS_AT_ONCE)

    async def prepare() -> Conversation:
        async with at_once:
            conversation_id = await asyncio.to_thread(conversation_with, arena.system, QUAY)
        advance()
        return Conversation(conversation_id)

    return await asyncio.gather(*(prepare() for _ in range(plan.conversations)))


async def _ask_all(
    arena: Arena, plan: Plan, conversations: Sequence[Conversation], entry: _Entry, advance: Advance
) -> None:
    addresses = [client.address for client in entry.clients]
    async with open_client() as http:

        async def converse(number: int, conversation: Conversation) -> None:
            random = Random(f"{entry.seed} {number}")
            asker = Asker(http, addresses, random, entry.met, plan.patience_seconds)
            for turn in range(plan.turns):
                question, names = KINDS[(turn + number) % len(KINDS)]
                asked = new_question(question)
                conversation.asked.append(asked)
                arena.witness.expect(asked, conversation)
                await asker.ask_until_answered(conversation, asked, names)
                advance()

        await asyncio.gather(*(converse(*each) for each in enumerate(conversations)))


def _checks_of(met: Encounters, arena: Arena) -> list[Check]:
    return [
        Check("streams unlike their answer", met.streams, met.unlike),
        Check("answers that no client may get", met.tries, met.wrong),
        Check("questions asked before they were stored", arena.witness.seen, arena.witness.missing),
    ]


def _figures(
    plan: Plan, conversations: Sequence[Conversation], met: Encounters, proxies: Sequence[Proxy]
) -> list[tuple[str, str]]:
    turns = sum(len(each.asked) for each in conversations)
    requests = sum(proxy.requests for proxy in proxies)
    faulty = sum(proxy.counts.total() for proxy in proxies)
    return [
        ("store", plan.store.value),
        ("conversations", str(len(conversations))),
        ("turns", str(turns)),
        ("tries per turn", f"{met.tries / max(turns, 1):.2f}"),
        ("tries that failed", ", ".join(f"{times} x {what}" for what, times in met.failed.most_common())),
        ("faults", f"{faulty} in {requests} requests"),
    ]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m resilience.faults", description=__doc__)
    parser.add_argument("--store", type=Store, choices=list(Store), default=Plan.store)
    parser.add_argument("--conversations", type=int, default=Plan.conversations, help="at a time")
    parser.add_argument("--turns", type=int, default=Plan.turns, help="in each conversation")
    parser.add_argument("--seeds", type=int, default=Plan.seeds, help="rounds of conversations")
    parser.add_argument("--faults", type=float, default=Plan.faults, help="share of requests that have one")
    parser.add_argument("--instances", type=int, default=Plan.instances, help="of the API")
    return parser


async def run(plan: Plan, steps_of: StepsOf) -> Verdict:
    """The whole campaign."""
    async with arena(plan.store) as prepared:
        return await fight(prepared, plan, steps_of)


@interrupted_by_sigterm()
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit code is 1 if something was found."""
    plan = Plan(**vars(_parser().parse_args(arguments)))
    console = wide_console()
    with steps(console) as steps_of:
        verdict = asyncio.run(run(plan, steps_of))
    return conclude(verdict, console)


if __name__ == "__main__":
    sys.exit(main())
