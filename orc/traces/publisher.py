"""Sees every event of a turn as it is published, and when."""

import time
from collections.abc import Callable
from datetime import datetime

from core.llm.chat_model import Meter
from core.llm.model_catalog import ModelCatalogue
from orc.conversations.listing import utc_now
from orc.events import Event, Token, Tool
from orc.traces.models import TurnIds, TurnTrace
from orc.traces.trace import Seen, Sight, trace_of

Clock = Callable[[], float]
"""Seconds, of the same clock as those of ModelCall."""


class TurnRecorder:
    """Hands every event on as it is and notes when it came.

    Of a stretch of text the first and the last token are noted, of a tool's progress nothing.
    `tools_model` names the model that the tools are taken to ask where the turn was given no other.
    """

    def __init__(
        self,
        publish: Callable[[Event], None],
        ids: TurnIds,
        *,
        catalogue: ModelCatalogue,
        tools_model: str,
        clock: Clock = time.perf_counter,
        today: Callable[[], datetime] = utc_now,
    ) -> None:
        self._publish = publish
        self._ids = ids
        self._catalogue = catalogue
        self._tools_model = tools_model
        self._clock = clock
        self._started_at = today()
        self._began = clock()
        self._seen: list[Seen] = []

    def emit(self, event: Event) -> None:
        """Publish the event."""
        self._publish(event)
        if isinstance(event, Tool) and event.status == "progress":
            return
        if isinstance(event, Token) and [type(seen.event) for seen in self._seen[-2:]] == [Token, Token]:
            self._seen.pop()
        self._seen.append(Seen(self._elapsed_ms(), event))

    def timings(self) -> dict[str, float]:
        """Milliseconds from the turn's beginning to its first text, where there was any, and to now."""
        first = next((seen.at_ms for seen in self._seen if isinstance(seen.event, Token)), None)
        told = {} if first is None else {"first_token": first}
        return {**told, "answer": self._elapsed_ms()}

    def finish(self, meter: Meter) -> TurnTrace:
        """The trace of the turn, whose last event was published."""
        sight = Sight(self._ids, self._started_at, self._began, self._seen)
        return trace_of(sight, meter, self._catalogue, self._tools_model)

    def _elapsed_ms(self) -> float:
        return round((self._clock() - self._began) * 1000, 1)
