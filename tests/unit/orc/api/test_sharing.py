"""Links to conversations: who reads what by them, what they leave out, and what ends them."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from devkit.context_chat import EASYAUTH, Chat, chatting
from devkit.remembered_turns import CITED, ask, begin, commit
from devkit.system import principal_headers
from orc.api.app import create_app
from orc.bootstrap import App
from orc.contexts.withholding import WITHHELD
from orc.conversations.models import Feedback, NewTurn, Retry, Started, TurnOutcome, utc_now
from orc.settings import AuthMode, Settings
from orc.sharing import MOST_LINKS
from orc_core.names import Owner

pytestmark = pytest.mark.slow

CONVERSATION = "3f0d8f5e-6f0e-4f5a-9d5f-0b1f8f6b2a11"
OWNER = Owner("acme", "ann", CONVERSATION)
PATH = f"/conversations/{CONVERSATION}"
SECRETS = ("How long is it?", "three months", "handbook.pdf")
ANN, BOB = ("acme", "ann"), ("acme", "bob")


@dataclass
class World:
    """A conversation of ann's with one question, and those who try to read it."""

    http: httpx.AsyncClient
    app: App
    folder: Path

    async def call(
        self, who: tuple[str, str] | None, method: str, path: str, **options: Any
    ) -> httpx.Response:
        roles = options.pop("roles", ())
        headers = principal_headers(*who, *roles) if who else {}
        return await self.http.request(method, path, headers=headers | options.pop("headers", {}), **options)

    async def share(self, **body: Any) -> dict[str, Any]:
        made = await self.call(ANN, "POST", f"{PATH}/links", json=body)
        assert made.status_code == 201, made.text
        link: dict[str, Any] = made.json()
        return link

    async def read(self, who: tuple[str, str] | None, secret: str, query: str = "") -> httpx.Response:
        return await self.call(who, "GET", f"/shared{query}", headers={"x-share-link": secret})

    async def leaks(self, who: tuple[str, str] | None, secret: str, status: int) -> list[str]:
        """What a reader learns who is to learn nothing."""
        answer = await self.read(who, secret)
        wrong = [] if answer.status_code == status else [f"{answer.status_code}: {answer.text}"]
        return wrong + [each for each in (*SECRETS, CONVERSATION, "ann") if each in answer.text]


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    app = create_app(Settings(data_dir=tmp_path, auth_mode=AuthMode.EASYAUTH, azure_auth_enabled=True))
    opened = await app.state.provider.get()
    await ask(opened.log, "How long is it?", CITED, OWNER)
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1/api") as http:
        yield World(http, opened, tmp_path)
    await app.state.provider.close()


async def test_owner_and_colleagues_read_it_and_no_one_else_does(world: World) -> None:
    secret = (await world.share())["secret"]
    for reader in (ANN, BOB):
        shown = await world.read(reader, secret)
        assert shown.status_code == 200, shown.text
        [turn] = shown.json()["turns"]
        assert (turn["question"], turn["answer"]) == ("How long is it?", CITED)
        [cited] = turn["citations"]
        assert (cited["quote"], cited["check"], cited["blob_name"]) == ("q", "quoted", "handbook.pdf")
        assert CONVERSATION not in shown.text
    assert await world.leaks(None, secret, 401) == []
    # The namesake of the owner in another organization, and a colleague who guesses.
    for who, guess in ((("umbra", "ann"), secret), (("umbra", "bob"), secret), (BOB, secret[:-1] + "_")):
        assert await world.leaks(who, guess, 404) == [], who
    # The link opens nothing of the owner's by itself.
    for path in (PATH, f"{PATH}/links", f"{PATH}/documents", f"{PATH}/export"):
        assert (await world.call(BOB, "GET", path)).status_code == 404
    document = cited["document_id"]
    assert (await world.call(BOB, "GET", f"{PATH}/documents/{document}/pages/5")).status_code == 404


async def test_a_link_ends_when_it_is_withdrawn_expires_or_its_conversation_is_deleted(world: World) -> None:
    withdrawn, expired, deleted = [await world.share(days=days) for days in (30, 7, 30)]
    ended = await world.call(ANN, "DELETE", f"{PATH}/links/{withdrawn['link_id']}")
    assert ended.status_code == 204
    assert await world.leaks(BOB, withdrawn["secret"], 404) == []
    later = utc_now() + timedelta(days=8)
    after_a_week = replace(world.app.sharing, clock=lambda: later)
    object.__setattr__(world.app, "sharing", after_a_week)
    assert await world.leaks(BOB, expired["secret"], 404) == []
    assert (await world.read(BOB, deleted["secret"])).status_code == 200
    listed = (await world.call(ANN, "GET", f"{PATH}/links")).json()["links"]
    assert [link["link_id"] for link in listed] == [deleted["link_id"]]
    assert (await world.call(ANN, "DELETE", PATH)).status_code == 204
    assert await world.leaks(BOB, deleted["secret"], 404) == []
    # Nor does it lead to another conversation with the same id.
    await ask(world.app.log, "How long is it?", CITED, OWNER)
    assert await world.leaks(BOB, deleted["secret"], 404) == []


async def test_a_link_that_outlived_the_deletion_does_not_lead_to_the_next_conversation(world: World) -> None:
    """A link that is made while its conversation is deleted, or whose deletion was cut short."""
    secret = (await world.share())["secret"]
    await world.app.log.delete(OWNER)
    await ask(world.app.log, "How long is it?", CITED, OWNER)
    assert await world.leaks(BOB, secret, 404) == []


async def test_an_administrator_ends_the_links_of_a_closed_account(world: World) -> None:
    secret = (await world.share())["secret"]
    closed = "/admin/links?user_id=ann"
    assert (await world.call(BOB, "DELETE", closed)).status_code == 403
    stranger = await world.call(("umbra", "root"), "DELETE", closed, roles=("orc.admin",))
    assert stranger.json() == {"withdrawn": 0}
    assert (await world.read(BOB, secret)).status_code == 200
    ended = await world.call(("acme", "root"), "DELETE", closed, roles=("orc.admin",))
    assert ended.json() == {"withdrawn": 1}
    assert await world.leaks(BOB, secret, 404) == []


async def test_what_comes_later_is_not_shown_and_neither_is_what_is_the_owners_alone(world: World) -> None:
    log = world.app.log
    first = (await log.turns(OWNER))[0]
    await log.rate(OWNER, first.turn_id, Feedback(rating="down", comment="my comment", given_at=utc_now()))
    edited = await begin(log, "How long exactly?", OWNER, replaces=first.turn_id)
    await commit(log, edited, "Exactly three months.")
    link = await world.share()
    secret = link.pop("secret")
    # Both versions are one question.
    assert link["turn_count"] == 1
    assert (await world.call(ANN, "GET", f"{PATH}/links")).json() == {"links": [link]}
    again = await begin(log, "A private edit?", OWNER, replaces=edited.turn.turn_id)
    await commit(log, again, "Private.")
    await ask(log, "A private question?", "Private.", OWNER)
    shown = await world.read(BOB, secret)
    assert [turn["question"] for turn in shown.json()["turns"]] == ["How long exactly?"]
    assert [turn["place"] for turn in shown.json()["turns"]] == [1]
    assert "rivate" not in shown.text and "my comment" not in shown.text
    for left_out in ("feedback", "trace_id", "usage", "user_id", "conversation_id", "turn_id"):
        assert f'"{left_out}"' not in shown.text


@pytest.mark.parametrize("before", ["failed", "stopped", "pending"])
async def test_an_answer_that_came_after_the_link_is_not_shown(world: World, before: str) -> None:
    """A failed or stopped turn has the same place when it is answered again, and a pending one ends later."""
    log, begun = world.app.log, await begin(world.app.log, "A question?", OWNER)
    turn = begun.turn
    if before == "failed":
        await log.fail(OWNER, turn.turn_id, turn.attempt, "down", "It failed.")
    elif before == "stopped":
        half = TurnOutcome(answer="Half", result={"answer": "Half"}, citations=[], stopped=True)
        await log.commit(OWNER, turn.turn_id, turn.attempt, half)
    secret = (await world.share())["secret"]
    if before != "pending":
        new = NewTurn(key=turn.turn_id, request_hash="h", question="A question?", retry=Retry(key="r"))
        again = await log.begin(OWNER, new, lease_seconds=60)
        assert isinstance(again, Started)
        begun = again
    await commit(log, begun, "Private.")
    shown = await world.read(BOB, secret)
    assert [turn["question"] for turn in shown.json()["turns"]] == ["How long is it?"]
    assert "Private" not in shown.text


async def test_a_question_that_was_stopped_before_its_answer_is_not_shown(world: World) -> None:
    log = world.app.log
    for number, answer in enumerate(("", "Half")):
        begun = await begin(log, f"Question {number}?", OWNER)
        outcome = TurnOutcome(answer=answer, result={"answer": answer}, citations=[], stopped=True)
        await log.commit(OWNER, begun.turn.turn_id, begun.turn.attempt, outcome)
    shown = await world.read(BOB, (await world.share())["secret"])
    assert [turn["question"] for turn in shown.json()["turns"]] == ["How long is it?", "Question 1?"]


async def test_a_long_conversation_is_read_in_pages(world: World) -> None:
    for number in range(4):
        await ask(world.app.log, f"Question {number}?", CITED, OWNER)
    secret = (await world.share())["secret"]
    questions, after = list[str](), 0
    while after is not None:
        page = (await world.read(BOB, secret, f"?limit=2&after_seq={after}")).json()
        questions += [turn["question"] for turn in page["turns"]]
        after = page["next_seq"]
    assert questions == ["How long is it?", *(f"Question {number}?" for number in range(4))]


async def test_the_store_has_no_secret_and_the_audit_says_who_shared(world: World) -> None:
    link = await world.share()
    await world.call(ANN, "DELETE", f"{PATH}/links/{link['link_id']}")
    kept = await world.share()
    stored = await asyncio.to_thread(
        lambda: b"".join(file.read_bytes() for file in world.folder.glob("orc.db*"))
    )
    assert kept["link_id"].encode() in stored
    assert link["secret"].encode() not in stored and kept["secret"].encode() not in stored
    assert (await world.call(BOB, "DELETE", f"{PATH}/links/{kept['link_id']}")).status_code == 404
    audit = await world.call(("acme", "root"), "GET", "/admin/audit", roles=("orc.admin",))
    noted = [(entry["action"], entry["actor"], entry["conversation_id"]) for entry in audit.json()["entries"]]
    made, withdrawn = ("link_made", "ann", CONVERSATION), ("link_withdrawn", "ann", CONVERSATION)
    assert noted == [made, withdrawn, made]


async def test_there_are_so_many_links_for_so_long(world: World) -> None:
    for _ in range(MOST_LINKS):
        await world.share()
    refused = await world.call(ANN, "POST", f"{PATH}/links", json={})
    assert (refused.status_code, refused.json()["code"]) == (409, "too_many_links")
    too_long = await world.call(ANN, "POST", f"{PATH}/links", json={"days": 91})
    assert (too_long.status_code, too_long.json()["errors"][0]["field"]) == (422, "days")


@pytest.mark.parametrize("mode", [{"auth_mode": AuthMode.LOCAL}, {**EASYAUTH, "share_days": 0}])
async def test_nothing_is_shared_with_one_user_or_if_an_operator_says_so(
    world: World, tmp_path: Path, mode: dict[str, Any]
) -> None:
    secret = (await world.share())["secret"]
    app = create_app(Settings(data_dir=tmp_path, **mode))
    opened = await app.state.provider.get()
    owner = Owner("local", "me", CONVERSATION) if mode["auth_mode"] is AuthMode.LOCAL else OWNER
    await ask(opened.log, "How long is it?", CITED, owner)
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1/api") as http:
        here = World(http, opened, tmp_path)
        assert (await here.call(ANN, "GET", "/me")).json()["share_days"] == 0
        refused = await here.call(ANN, "POST", f"{PATH}/links", json={})
        assert (refused.status_code, refused.json()["code"]) == (403, "no_sharing")
        assert await here.leaks(BOB, secret, 404) == []
    await app.state.provider.close()


async def test_a_shorter_time_of_links_counts_for_those_that_exist(world: World, tmp_path: Path) -> None:
    secret = (await world.share(days=90))["secret"]
    later = utc_now() + timedelta(days=8)
    shortened = replace(world.app.sharing, longest_days=7, clock=lambda: later)
    object.__setattr__(world.app, "sharing", shortened)
    assert await world.leaks(BOB, secret, 404) == []


@pytest.fixture
async def chat(tmp_path: Path) -> AsyncIterator[Chat]:
    settings = Settings(data_dir=tmp_path, critic="off", revoked_answers="withhold", **EASYAUTH)
    async with chatting(settings) as chat:
        yield chat


async def test_answers_from_contexts_are_withheld_from_readers_without_them_if_the_setting_says_so(
    chat: Chat,
) -> None:
    ferries = await chat.create("workspace", "Ferries")
    await chat.grant(ferries)
    await chat.grant(ferries, "eve")
    chat.searches.found = {"": [await chat.upload(ferries, "a.txt", "The ferry costs ten crowns.")]}
    asked = await chat.ask(ferries)
    made = await chat.call("bob", "POST", f"/conversations/{asked['conversation_id']}/links", json={})
    secret = {"x-share-link": made.json()["secret"]}
    for reader, is_shown in (("eve", True), ("mallory", False)):
        shown = (await chat.call(reader, "GET", "/shared", headers=secret)).text
        found = ("ten crowns" in shown, "a.txt" in shown, WITHHELD[1:-1] in shown)
        assert found == (is_shown, is_shown, not is_shown), reader


async def test_contexts_are_named_to_readers_of_their_documents_only(tmp_path: Path) -> None:
    async with chatting(Settings(data_dir=tmp_path, critic="off", **EASYAUTH)) as chat:
        ferries = await chat.create("workspace", "Ferries")
        await chat.grant(ferries)
        await chat.grant(ferries, "eve")
        passage = await chat.upload(ferries, "a.txt", "The ferry costs ten crowns.")
        chat.searches.found = {"": [passage | {"document_version": "v1"}]}
        asked = await chat.ask(ferries)
        made = await chat.call("bob", "POST", f"/conversations/{asked['conversation_id']}/links", json={})
        secret = {"x-share-link": made.json()["secret"]}
        for reader, is_named in (("eve", True), ("mallory", False)):
            shown = await chat.call(reader, "GET", "/shared", headers=secret)
            [cited] = shown.json()["turns"][0]["citations"]
            assert cited["blob_name"] == "a.txt"
            assert cited["context_id"] == (ferries if is_named else None), reader
            for name in ("context_name", "document_version"):
                assert bool(cited[name]) is is_named, (reader, name)
            assert (ferries in shown.text) is is_named, shown.text


async def test_links_of_a_closed_account_are_withdrawn_while_nothing_is_shared(world: World) -> None:
    """They would lead to their conversations again once an operator lets people share."""
    secret, shares = (await world.share())["secret"], world.app.sharing
    object.__setattr__(world.app, "sharing", replace(shares, longest_days=0))
    ended = await world.call(("acme", "root"), "DELETE", "/admin/links?user_id=ann", roles=("orc.admin",))
    assert ended.json() == {"withdrawn": 1}
    object.__setattr__(world.app, "sharing", shares)
    assert await world.leaks(BOB, secret, 404) == []
