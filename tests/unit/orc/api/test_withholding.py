"""Answers that drew on a context which is not readable any more are withheld everywhere, if set so."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from devkit.context_chat import EASYAUTH, Chat, chatting
from orc.contexts.withholding import WITHHELD
from orc.settings import Settings


@pytest.fixture
async def chat(tmp_path: Path) -> AsyncIterator[Chat]:
    settings = Settings(data_dir=tmp_path, critic="off", revoked_answers="withhold", **EASYAUTH)
    async with chatting(settings) as chat:
        yield chat


async def test_views_and_exports_withhold_revoked_answers_if_the_setting_says_so(chat: Chat) -> None:
    ferries = await chat.create("workspace", "Ferries")
    await chat.grant(ferries)
    chat.searches.found = {"": [await chat.upload(ferries, "a.txt", "The ferry costs ten crowns.")]}
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
    ferries = await chat.create("workspace", "Ferries")
    await chat.grant(ferries)
    chat.searches.found = {"": [await chat.upload(ferries, "a.txt", "The ferry costs ten crowns.")]}
    contexts = [{"type": "workspace", "id": ferries}]
    asked = {"question": "What does the ferry cost?", "contexts": contexts}
    named = {"accept": "text/event-stream", "idempotency-key": "once"}
    first = await chat.call("bob", "POST", "/orc", json=asked, headers=named)
    turn = f"/conversations/{first.headers['x-conversation-id']}/turns/{first.headers['x-turn-id']}"
    messages = {"messages": [{"role": "user", "content": "What does the ferry cost?"}], "contexts": contexts}
    await chat.call("bob", "POST", "/chat", json=messages, headers={"idempotency-key": "chat"})
    if is_forgotten:
        (await chat.app.state.provider.get()).orchestrator._recent._logs.clear()
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
