"""What a dependency's state says to everybody, and what to the operator alone."""

from core.errors import DependencyDown
from orc.api.schemas import DependencyView
from orc.readiness import check


async def answers() -> None:
    return None


async def fails() -> None:
    raise DependencyDown("It does not answer.", dependency="model")


async def test_the_operator_sees_where_a_dependency_is_and_others_do_not() -> None:
    for name, backend, shown in (
        ("turn_log", "SQLite at .orc/orc.db", "SQLite"),
        ("blobs", "folder .orc/blobs", "folder"),
        ("mcp_server", "http://tools.internal:7072/mcp", "MCP over HTTP"),
        ("model", "gpt-4o and gpt-4o-mini at model.internal", "gpt-4o and gpt-4o-mini"),
        ("model", "offline extractive model (no OPENAI_API_KEY)", "offline extractive model"),
    ):
        state = await check(name, backend, answers)()
        assert state.backend == backend
        assert DependencyView.of(state).backend == shown


async def test_a_dependency_that_fails_says_why() -> None:
    view = DependencyView.of(await check("model", "gpt-4o at model.internal", fails)())
    assert (view.ok, view.detail) == (False, "It does not answer.")
