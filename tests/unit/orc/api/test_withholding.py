"""Answers that drew on a context which is not readable any more are withheld everywhere, if set so."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from devkit.context_chat import EASYAUTH, Chat, chatting
from orc.contexts.withholding import WITHHELD
from orc.conversations.models import Turn, TurnOutcome
from orc.settings import Settings
from orc_core.names import Owner

pytestmark = pytest.mark.slow


@pytest.fixture
async def chat(tmp_path: Path) -> AsyncIterator[Chat]:
    settings = Settings(data_dir=tmp_path, critic="off", revoked_answers="withhold", **EASYAUTH)
    async with chatting(settings) as chat:
        yield chat


async def test_views_and_exports_withhold_revoked_answers_if_the_setting_says_so(chat: Chat) -> None:
    ferries = await chat.ferries()
    first = await chat.ask(ferries)
    path = f"/conversations/{first['conversation_id']}"
    for withdrawn in (False, True, False):
        await (chat.withdraw(ferries) if withdrawn else chat.grant(ferries))
        turn = f"{path}/turns/{first['turn_id']}/events"
        for each in (path, f"{path}/export?format=markdown", turn):
            shown = (await chat.call("bob", "GET", each)).text
            assert ("ten crowns" in shown, WITHHELD[1:-1] in shown) == (not withdrawn, withdrawn), each


@pytest.mark.parametrize("is_forgotten", [False, True])
async def test_no_replay_shows_a_revoked_answer_if_the_setting_says_so(
    chat: Chat, is_forgotten: bool
) -> None:
    ferries = await chat.ferries()
    contexts = [{"type": "workspace", "id": ferries}]
    asked = {"question": "What does the ferry cost?", "contexts": contexts}
    named = {"accept": "text/event-stream", "idempotency-key": "once"}
    first = await chat.call("bob", "POST", "/orc", json=asked, headers=named)
    turn = f"/conversations/{first.headers['x-conversation-id']}/turns/{first.headers['x-turn-id']}"
    messages = {"messages": [{"role": "user", "content": "What does the ferry cost?"}], "contexts": contexts}
    await chat.call("bob", "POST", "/chat", json=messages, headers={"idempotency-key": "chat"})
    if is_forgotten:
        (await chat.app.state.provider.get()).turn_service._recent._logs.clear()
    for withdrawn in (False, True, False):
        await (chat.withdraw(ferries) if withdrawn else chat.grant(ferries))
        replies = [
            await chat.call("bob", "POST", "/orc", json=asked, headers=named),
            await chat.call("bob", "POST", "/orc", json=asked, headers={"idempotency-key": "once"}),
            await chat.call("bob", "POST", "/orc", json=asked, headers={**named, "last-event-id": "1"}),
            await chat.call("bob", "POST", "/chat", json=messages, headers={"idempotency-key": "chat"}),
            await chat.call("bob", "GET", f"{turn}/events"),
            await chat.call("bob", "GET", f"{turn}/events", headers={"last-event-id": "2"}),
            await chat.call("bob", "GET", f"{turn}/events", headers={"last-event-id": "1000001"}),
        ]
        for number, each in enumerate(replies):
            assert each.status_code == 200, (number, each.text)
            found = ("ten crowns" in each.text, "a.txt" in each.text, WITHHELD[1:-1] in each.text)
            assert found == (not withdrawn, not withdrawn, withdrawn), (number, each.text)


@pytest.mark.parametrize("is_lost", [False, True], ids=["confirmed", "confirmation lost"])
async def test_a_stopped_retry_ends_without_a_revoked_answer_if_the_setting_says_so(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, is_lost: bool
) -> None:
    """A stop without any text makes the answer of an earlier attempt the turn's again."""
    harbours, ferries = await chat.create("workspace", "Harbours"), await chat.create("workspace", "Ferries")
    await chat.grant(harbours)
    await chat.grant(ferries)
    found = [await chat.upload(ferries, "a.txt", "The ferry costs ten crowns.")]
    chat.searches.found = {"": found, "focus": found, "others": found}
    await chat.upload(harbours, "b.txt", "The harbour opens at seven.")
    app = await chat.app.state.provider.get()
    commit = app.log.commit

    async def stopped(owner: Owner, turn_id: str, attempt: str, outcome: TurnOutcome) -> Turn:
        result = {**outcome.result, "status": "stopped"}
        part = outcome.model_copy(update={"stopped": True, "result": result})
        stored: Turn = await commit(owner, turn_id, attempt, part)
        return stored

    async def stored_unknown(*attempt: Any) -> Turn:
        await commit(*attempt)
        raise RuntimeError("the confirmation was lost")

    async def stop_all(*_: Any, **__: Any) -> None:
        for stop in app.turn_service._stops.values():
            stop.ask()
        await asyncio.Event().wait()

    monkeypatch.setattr(app.log, "commit", stopped)
    first = await chat.ask(harbours, ferries)
    monkeypatch.setattr(app.log, "commit", stored_unknown if is_lost else commit)
    monkeypatch.setattr(chat.searches.tools, "call", stop_all)
    path = f"/conversations/{first['conversation_id']}/turns/{first['turn_id']}/retry"
    for withdrawn in (False, True):
        await (chat.withdraw(ferries) if withdrawn else chat.grant(ferries))
        for accept in ("application/json", "text/event-stream"):
            reply = await chat.call("bob", "POST", path, headers={"accept": accept})
            shown = ("ten crowns" in reply.text, WITHHELD[1:-1] in reply.text, '"stopped"' in reply.text)
            assert shown == (not withdrawn, withdrawn, True), (accept, reply.text)
    await chat.grant(ferries)
    events = await chat.call("bob", "GET", path.replace("/retry", "/events"))
    assert ("ten crowns" in events.text, WITHHELD[1:-1] in events.text) == (True, False)
