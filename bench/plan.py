"""How much is measured: samples and rounds of a full run and of a short one."""

from dataclasses import dataclass

CONCURRENT = 16
EARLY_TURN = 10
EARLY_CONVERSATIONS = 2


@dataclass(frozen=True)
class Plan:
    """Sample counts. Rounds repeat everything that is compared, so that a drift of the machine cancels."""

    rounds: int
    turns_per_round: int
    busy_rounds: int
    busy_turns: int
    streams: int
    late_turn: int
    growth_window: int
    ingestion_rounds: int
    ingested_files: int
    drawn_documents: int
    opened_turns: int
    context_documents: int
    grants: int
    context_searches: int
    context_searches_for_memory: int
    context_calls: int
    report_pages: int
    report_uploads: int
    report_turns_per_round: int
    report_searches: int
    imports: int
    starts: int

    @property
    def first_questions(self) -> int:
        """Conversations that turns one at a time need: a first question can be asked only once."""
        return 1 + self.rounds * self.turns_per_round

    @property
    def busy_questions(self) -> int:
        """The same for turns at the same time."""
        return self.busy_rounds * self.busy_turns

    @property
    def report_questions(self) -> int:
        """Conversations that turns about the long document need, and as many with the handbook: one shows the
        prompt, one is searched, and a round warms up."""
        return 2 + (1 + self.rounds) * self.report_turns_per_round

    @property
    def report_steps(self) -> int:
        """Parts of the measurements of the long document and of the handbook."""
        return 2 * (self.report_uploads + self.report_questions + 2 * (1 + self.rounds))

    @property
    def growth_turns(self) -> int:
        """All turns of the long conversation and of the short ones that are held against it."""
        short = EARLY_CONVERSATIONS * (EARLY_TURN + self.growth_window)
        return self.late_turn - self.growth_window + short + EARLY_CONVERSATIONS * 2 * self.growth_window

    @property
    def conversations(self) -> int:
        """Conversations that need their own document."""
        apart = self.streams + 1 + EARLY_CONVERSATIONS
        return self.first_questions + self.busy_questions + apart


FULL = Plan(
    rounds=8,
    turns_per_round=12,
    busy_rounds=3,
    busy_turns=48,
    streams=10,
    late_turn=500,
    growth_window=5,
    ingestion_rounds=2,
    ingested_files=20,
    drawn_documents=12,
    opened_turns=1000,
    context_documents=10_000,
    grants=100_000,
    context_searches=200,
    context_searches_for_memory=1000,
    context_calls=200,
    report_pages=160,
    report_uploads=3,
    report_turns_per_round=4,
    report_searches=20,
    imports=5,
    starts=3,
)
QUICK = Plan(
    rounds=3,
    turns_per_round=8,
    busy_rounds=2,
    busy_turns=32,
    streams=3,
    late_turn=60,
    growth_window=3,
    ingestion_rounds=1,
    ingested_files=9,
    drawn_documents=3,
    opened_turns=200,
    context_documents=1_000,
    grants=20_000,
    context_searches=40,
    context_searches_for_memory=40,
    context_calls=40,
    report_pages=160,
    report_uploads=1,
    report_turns_per_round=2,
    report_searches=8,
    imports=2,
    starts=1,
)
