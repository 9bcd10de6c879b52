"""What a turn did and showed follows from its events, also when it was stopped in the middle."""

from orc.events import Correction, Critique, Event, Reset, Revised, Token, Tool
from orc.turns.results import shown_text, steps_of

VERDICT = Critique(grounded=False, coverage=0.5, issues=["No source."], action="revise")
EVENTS: list[Event] = [
    Tool(name="semantic_search", status="started"),
    Tool(name="semantic_search", status="progress", message="reading"),
    Tool(name="semantic_search", status="finished", duration_ms=12.5),
    Token(text="At "),
    Token(text="six."),
    VERDICT.model_copy(update={"citations": []}),
    Reset(reason="More is looked up for the answer."),
    Tool(name="get_page", status="started"),
    Tool(name="get_page", status="started"),
    Tool(name="get_page", status="failed", message="No such page.", code="not_found"),
    Token(text="At "),
]


def test_text_before_a_reset_is_not_shown() -> None:
    assert shown_text(EVENTS) == "At "
    assert shown_text(EVENTS[:6]) == "At six."


def test_steps_are_the_calls_verdicts_and_withdrawals() -> None:
    steps = steps_of(EVENTS)
    assert [(each.name, each.status, each.duration_ms, each.code) for each in steps["tools"]] == [
        ("semantic_search", "finished", 12.5, None),
        ("get_page", "failed", None, "not_found"),
        ("get_page", "unfinished", None, None),
    ]
    assert steps["critiques"] == [VERDICT], "the result has the citations"
    assert steps["withdrawn"] == ["More is looked up for the answer."]


def test_a_revision_is_the_whole_text_until_more_follows() -> None:
    correction = Correction(before="At six.", after="At ten.")
    revised = Revised(answer="At ten.", citations=[], corrections=[correction])
    events = [*EVENTS[:6], revised, Token(text=" (b.txt is not there.)")]
    assert shown_text(events) == "At ten. (b.txt is not there.)"
    assert steps_of(events)["corrections"] == [correction]
    assert steps_of([*events, Reset(reason="More is looked up.")])["corrections"] == []
