"""Stored turns as later versions read them."""

import json

from devkit.remembered_turns import answered, citation
from orc.conversations.models import Turn
from orc.events import TurnResult
from orc.turns.results import replay_log

OPEN = '[Page 6 of Document "handbook.pdf", not checked]'


def test_an_answer_of_an_earlier_version_says_which_citations_were_not_checked() -> None:
    turn = answered(1, "How long?", f"Long. {OPEN}")
    cited = [citation(5), citation(6, verified=False)]
    stored = json.loads(turn.model_dump_json())
    earlier = [each.model_dump(mode="json", exclude={"checked"}) for each in cited]
    stored["assistant"]["citations"] = stored["result"]["citations"] = earlier
    stored["result"] |= {"conversation_id": "c-1", "turn_id": "t-1", "metadata": {"trace_id": "t"}}
    for read in (Turn.model_validate(stored), Turn.model_validate_json(json.dumps(stored))):
        assert read.assistant
        assert read.result
        assert [each.checked for each in read.assistant.citations] == [True, False]
        assert TurnResult.model_validate(read.result).citations == read.assistant.citations
        [*_, ending] = replay_log(read, after=0, trace_id="t").so_far()
        assert [each.get("checked", True) for each in ending.data()["citations"]] == [True, False]
    assert "checked" not in earlier[1], "the stored row is not changed"
