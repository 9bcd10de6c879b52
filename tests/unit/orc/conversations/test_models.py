"""Stored turns as later versions read them."""

import json

from devkit.remembered_turns import answered, citation
from orc.conversations.models import Turn
from orc.events import TurnResult
from orc.turns.results import replay_log

CHECKS = ["quoted", "reworded", "reworded", "picture"]


def test_citations_of_an_earlier_version_have_a_check() -> None:
    turn = answered(1, "How long?", "Long.")
    stored = json.loads(turn.model_dump_json())
    facts: list[dict[str, object]] = [
        {"verified": True},
        {"verified": False, "checked": True, "read_from": "text"},
        {"verified": False, "checked": False},
        {"verified": False, "checked": False, "read_from": "picture"},
    ]
    earlier = [citation().model_dump(mode="json", exclude={"check", "missing", "reason"}) | f for f in facts]
    stored["assistant"]["citations"] = stored["result"]["citations"] = earlier
    stored["result"] |= {"conversation_id": "c-1", "turn_id": "t-1", "metadata": {"trace_id": "t"}}
    for read in (Turn.model_validate(stored), Turn.model_validate_json(json.dumps(stored))):
        assert read.assistant
        assert read.result
        assert [each.check for each in read.assistant.citations] == CHECKS
        assert TurnResult.model_validate(read.result).citations == read.assistant.citations
        [*_, ending] = replay_log(read, after=0, trace_id="t").so_far()
        assert [each["check"] for each in ending.data()["citations"]] == CHECKS
    assert "check" not in earlier[1], "the stored row is not changed"
