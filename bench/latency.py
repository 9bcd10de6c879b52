"""Turns as a user notices them: how soon the first word comes, and whether long conversations slow down."""

import json
from collections.abc import Sequence
from statistics import median

from bench.client import Advance, BareModel, ask, first_token, question_about, timed
from bench.connection import Connection, connected
from bench.deployment import Stage
from bench.plan import EARLY_TURN, Plan
from bench.statistics import Figure, summary
from devkit.reports import Target

SLOW_MODEL = {"tokens": 50, "delay_ms": 20}
GROWTH = Target(1.2)


async def measure_first_token(
    stage: Stage, bare: BareModel, conversations: Sequence[str], advance: Advance
) -> list[Figure]:
    """The first words of a streamed document turn, with a model that takes a second for fifty tokens."""
    own, turns = [], []
    async with connected(stage.double_port) as double:
        await double.post_json("/_script", SLOW_MODEL)
    for conversation_id in conversations:
        own.append(await bare.first_token())
        async with connected(stage.system.api_port) as connection:
            turn = json.dumps(question_about(conversation_id)).encode()
            turns.append(await first_token(connection, turn))
        advance()
    async with connected(stage.double_port) as double:
        await double.post_json("/_script", {})
    over = [turn - median(own) for turn in turns]
    return [
        summary("First token", "bare model stream", own),
        summary("First token", "streamed document turn", turns, bare=median(own)),
        summary("First token", "streamed document turn, overhead", over, bare=median(own)),
    ]


async def measure_growth(
    stage: Stage, plan: Plan, long: str, short: Sequence[str], advance: Advance
) -> tuple[list[Figure], list[float]]:
    """How much longer a late turn takes than the tenth, and every turn time of the long conversation.

    The late turns of the long conversation are measured in turn with those around the tenth of short
    ones, which are the same but for the conversation's length: so a drift of the machine cancels.
    """
    window = plan.growth_window
    async with connected(stage.system.api_port) as connection:
        times = [await _turn(connection, long, advance) for _ in range(plan.late_turn - window)]
        late, early = [], []
        for conversation_id in short:
            for _ in range(EARLY_TURN - window):
                await _turn(connection, conversation_id, advance)
            for _ in range(2 * window):
                early.append(await _turn(connection, conversation_id, advance))
                late.append(await _turn(connection, long, advance))
    name = f"document turn {EARLY_TURN}"
    growth = median(late) / median(early)
    return [
        summary("Growth", name, early),
        summary("Growth", f"document turn {plan.late_turn}", late),
        Figure(
            "Growth", f"turn {plan.late_turn} to turn {EARLY_TURN}", growth, "x", len(late), target=GROWTH
        ),
    ], [*times, *late]


async def _turn(connection: Connection, conversation_id: str, advance: Advance) -> float:
    milliseconds = await timed(ask(connection, conversation_id))
    advance()
    return milliseconds
