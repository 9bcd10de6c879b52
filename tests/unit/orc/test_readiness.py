"""Which part of a dependency's state is public, and which only the operator sees."""

from orc.api.schemas import DependencyView
from orc.readiness import check
from orc_core.errors import DependencyDown


async def answers() -> None:
    return None


async def fails() -> None:
    raise DependencyDown("It does not answer.", dependency="model")


async def test_the_operator_sees_where_a_dependency_is_and_others_do_not() -> None:
    state = await check("mcp_server", "MCP over HTTP", "http://tools.internal:7072/mcp", answers)()
    assert state.where == "http://tools.internal:7072/mcp"
    shown = DependencyView.of(state).model_dump_json()
    assert "MCP over HTTP" in shown
    assert "internal" not in shown


async def test_a_dependency_that_fails_says_why() -> None:
    view = DependencyView.of(await check("model", "gpt-4o", "model.internal", fails)())
    assert (view.ok, view.detail) == (False, "It does not answer.")


async def test_an_optional_dependency_does_not_block_turns() -> None:
    state = await check("ocr", "Tesseract", "here", fails, needed=False)()
    assert not state.ok
    assert state.allows_turns
    assert not (await check("model", "gpt-4o", "there", fails)()).allows_turns
