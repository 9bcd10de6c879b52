"""Which part of a dependency's state is public, and which only the operator sees."""

from types import SimpleNamespace

import pytest

from orc.api.schemas import DependencyView
from orc.readiness import ONLY_SECOND_KEY, _ping_of_tools, check
from orc_core.documents.scope import ScopeTokens
from orc_core.errors import DependencyDown, NotAuthenticated
from orc_core.infra.keys import Keys


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


@pytest.mark.parametrize(
    ("accepted", "second", "says"),
    [
        ("n" * 32, "f" * 32, None),
        ("f" * 32, "f" * 32, ONLY_SECOND_KEY),
        ("f" * 32, None, "The tools server refused the call."),
        ("x" * 32, "f" * 32, "The tools server refused the call."),
    ],
)
async def test_a_tools_server_that_was_started_before_a_change_of_keys_is_named_so(
    accepted: str, second: str | None, says: str | None
) -> None:
    class Gateway:
        async def ping(self) -> None:
            """It answers."""

        async def list_tools(self, token: str) -> None:
            try:
                ScopeTokens(Keys(accepted)).verify(token)
            except NotAuthenticated as exc:
                refused = "The tools server refused the call."
                raise DependencyDown(refused, dependency="mcp_server", code="tool_refused") from exc

    keys = Keys("n" * 32, second, "f" * 32)
    documents = SimpleNamespace(keys=keys, tokens=ScopeTokens(keys))
    ping = _ping_of_tools(Gateway(), documents)  # type: ignore[arg-type]
    state = await check("mcp_server", "MCP over HTTP", "", ping)()
    assert (state.ok, state.detail) == (says is None, says)
