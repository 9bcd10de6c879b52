"""What a turn shows with the error of an absent model."""

from collections.abc import AsyncIterator
from typing import Any, cast

import pytest

from devkit.fakes import FakeTools
from devkit.held_turns import CALLER, Log, asking, ending, turn_service
from orc.events import Failed
from orc.graphs.graph import TurnGraph
from orc_core.llm.errors import model_down


class BrokenGraph:
    """A graph with a bug."""

    async def astream(self, *inputs: Any, **options: Any) -> AsyncIterator[tuple[Any, str, Any]]:
        raise ValueError("a bug")
        yield


@pytest.mark.slow
async def test_a_bug_in_what_finds_the_closest_passages_hides_no_failure_of_the_model(log: Log) -> None:
    turns = turn_service(log, FakeTools(document_chat=model_down("The model is away.")))
    turns._runner.offline = cast("TurnGraph", BrokenGraph())
    asked = asking("a.pdf").model_copy(update={"stream": True, "closest_passages": True})
    failed = await ending(await turns.start(asked, CALLER))
    assert isinstance(failed, Failed)
    assert (failed.problem.code, failed.problem.dependency) == ("dependency_down", "model")
