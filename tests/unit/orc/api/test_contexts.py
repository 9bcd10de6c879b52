"""Contexts over HTTP: who may do what with which, held against the matrix of roles."""

import itertools
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
from fastapi import FastAPI

from devkit.system import principal_headers
from orc.api.app import create_app
from orc.cli.worker import sweep
from orc.contexts.ids import is_context_id, new_id
from orc.settings import AuthMode, Settings
from orc_core.documents.places import Accessible
from orc_core.names import Owner

pytestmark = pytest.mark.slow

ADMIN_ROLE = "orc.admin"
ORDER = ["viewer", "editor", "admin"]


class Place(NamedTuple):
    """A tree: an organization, two folders in it, and a use case in the first folder."""

    organization: str
    folder: str
    usecase: str
    sibling: str


class Callers:
    """Makes requests as users of the tenant `acme`; ada creates what others then use."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self.http = http
        self._names = itertools.count()

    async def call(
        self, user: str, method: str, path: str, *roles: str, groups: tuple[str, ...] = (), **options: Any
    ) -> httpx.Response:
        headers = principal_headers("acme", user, *roles, groups=groups) | options.pop("headers", {})
        return await self.http.request(method, path, headers=headers, **options)

    async def create(self, kind: str, parent: str | None = None, name: str = "") -> str:
        body = {"type": kind, "name": name or f"{kind} {next(self._names)}", "parent_id": parent}
        made = await self.call("ada", "POST", "/contexts", ADMIN_ROLE, json=body)
        assert made.status_code == 201, made.text
        return str(made.json()["context_id"])

    async def tree(self) -> Place:
        organization = await self.create("organization")
        folder = await self.create("folder", organization)
        return Place(
            organization,
            folder,
            await self.create("usecase", folder),
            await self.create("folder", organization),
        )

    async def grant(self, context_id: str, principal: str, role: str) -> None:
        kind, _, name = principal.partition(":")
        path = f"/contexts/{context_id}/members/{kind}/{name or '-'}"
        given = await self.call("ada", "PUT", path, json={"role": role})
        assert given.status_code == 204, given.text


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[FastAPI]:
    app = create_app(Settings(data_dir=tmp_path, auth_mode=AuthMode.EASYAUTH, azure_auth_enabled=True))
    yield app
    await app.state.provider.close()


@pytest.fixture
async def callers(app: FastAPI) -> AsyncIterator[Callers]:
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1/api") as opened:
        yield Callers(opened)


REQUESTS: list[tuple[str, str, dict[str, Any], str, bool, int]] = [
    # method, path, options, the role that is needed, whether tenant admins may too, status if allowed
    ("GET", "/contexts/{id}", {}, "viewer", True, 200),
    ("GET", "/contexts?parent_id={id}", {}, "viewer", True, 200),
    ("GET", "/contexts/{id}/members", {}, "viewer", True, 200),
    ("GET", "/contexts/{id}/people?q=zoe", {}, "admin", True, 200),
    (
        "POST",
        "/contexts",
        {"json": {"type": "usecase", "name": "x", "parent_id": "{id}"}},
        "editor",
        False,
        201,
    ),
    ("PATCH", "/contexts/{id}", {"json": {"name": "y"}}, "editor", False, 200),
    ("PATCH", "/contexts/{id}", {"json": {"tools_off": ["web_search"]}}, "admin", False, 200),
    ("PUT", "/contexts/{id}/members/user/zoe", {"json": {"role": "viewer"}}, "admin", True, 204),
    ("DELETE", "/contexts/{id}/members/user/zoe", {}, "admin", True, 204),
    ("GET", "/contexts/{id}/documents", {}, "viewer", False, 200),
    ("POST", "/contexts/{id}/documents", {"files": [("file", ("a.txt", b"Words."))]}, "editor", False, 201),
    ("DELETE", "/contexts/{id}/documents/absent", {}, "editor", False, 404),
    ("DELETE", "/contexts/{id}", {}, "admin", True, 202),
]


def expected(needed: str, role: str | None, *, allowed: int) -> int:
    if role is None:
        return 404
    return allowed if ORDER.index(role) >= ORDER.index(needed) else 403


@pytest.mark.parametrize("role", ORDER)
@pytest.mark.parametrize("at", Place._fields)
async def test_a_role_allows_what_the_matrix_says(callers: Callers, role: str, at: str) -> None:
    effective = role if at in ("organization", "folder") else None
    for principal in ("user:bob", "group:crew", "everyone"):
        place = await callers.tree()
        await callers.grant(getattr(place, at), principal, role)
        for method, path, options, needed, _, allowed in REQUESTS:
            body = with_id(options, place.folder)
            url = path.format(id=place.folder)
            response = await callers.call("bob", method, url, groups=("crew",), **body)
            assert response.status_code == expected(needed, effective, allowed=allowed), (method, path)


async def test_an_admin_of_the_installation_manages_members_and_reads_nothing(callers: Callers) -> None:
    place = await callers.tree()
    for method, path, options, _, is_theirs, allowed in REQUESTS:
        body = with_id(options, place.folder)
        url = path.format(id=place.folder)
        response = await callers.call("root", method, url, ADMIN_ROLE, **body)
        assert response.status_code == (allowed if is_theirs else 404), (method, path)


def with_id(options: dict[str, Any], context_id: str) -> dict[str, Any]:
    if "json" not in options:
        return options
    body = {name: context_id if value == "{id}" else value for name, value in options["json"].items()}
    return {"json": body}


async def test_a_foreign_context_answers_like_an_invented_one(callers: Callers) -> None:
    place = await callers.tree()
    for method, path, options, *_ in REQUESTS:
        answers = []
        for context_id in (place.folder, f"{place.organization}-{new_id()}", new_id(), "report.pdf"):
            body = with_id(options, context_id)
            url = path.format(id=context_id)
            of_tenant = await callers.call("eve", method, url, **body)
            headers = principal_headers("umbra", "ada", ADMIN_ROLE)
            of_other = await callers.http.request(method, url, headers=headers, **body)
            answers += [(each.status_code, without_trace(each.json())) for each in (of_tenant, of_other)]
        assert answers == [(404, answers[0][1])] * len(answers), (method, path)


def without_trace(problem: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in problem.items() if name != "trace_id"}


async def test_groups_that_do_not_fit_into_the_identity_give_no_role(callers: Callers) -> None:
    place = await callers.tree()
    await callers.grant(place.folder, "group:crew", "viewer")
    known = ("crew", "staff")
    assert (await callers.call("bob", "GET", f"/contexts/{place.folder}", groups=known)).status_code == 200
    too_many = ("crew", *(f"group-{number}" for number in range(250)))
    assert (await callers.call("bob", "GET", f"/contexts/{place.folder}", groups=too_many)).status_code == 404
    me = (await callers.call("bob", "GET", "/me", groups=too_many)).json()
    assert (me["groups_complete"], me["may_create"]) == (False, [])


async def test_a_group_is_named_by_its_path_as_some_sign_ins_do(callers: Callers) -> None:
    folder, quay = (await callers.tree()).folder, ("/staff/quay",)
    member = f"/contexts/{folder}/members/group/%2Fstaff%2Fquay"
    for method, body, status in (("PUT", {"role": "viewer"}, 200), ("DELETE", None, 404)):
        assert (await callers.call("ada", method, member, json=body)).status_code == 204
        assert (await callers.call("bob", "GET", f"/contexts/{folder}", groups=quay)).status_code == status


async def test_names_of_unreadable_ancestors_are_not_shown(callers: Callers) -> None:
    place = await callers.tree()
    await callers.grant(place.usecase, "user:bob", "viewer")
    seen = (await callers.call("bob", "GET", f"/contexts/{place.usecase}")).json()
    assert seen["path"] == []
    await callers.grant(place.folder, "user:bob", "viewer")
    seen = (await callers.call("bob", "GET", f"/contexts/{place.usecase}")).json()
    assert [each["context_id"] for each in seen["path"]] == [place.folder]


async def test_members_of_unreadable_ancestors_are_not_shown(callers: Callers) -> None:
    place = await callers.tree()
    await callers.grant(place.usecase, "user:bob", "viewer")
    found = (await callers.call("bob", "GET", f"/contexts/{place.usecase}/members")).json()["members"]
    assert [(each["principal"], each["role"]) for each in found] == [("user:bob", "viewer")]
    found = (await callers.call("ada", "GET", f"/contexts/{place.usecase}/members")).json()["members"]
    assert [each["principal"] for each in found] == ["user:ada", "user:bob"]


@pytest.mark.parametrize(
    ("kind", "above", "status"),
    [
        ("organization", None, 201),
        ("workspace", None, 201),
        ("folder", None, 422),
        ("usecase", None, 422),
        ("folder", "organization", 201),
        ("usecase", "folder", 201),
        ("usecase", "organization", 422),
        ("folder", "folder", 422),
        ("organization", "organization", 422),
        ("folder", "usecase", 422),
    ],
)
async def test_each_type_has_its_place(callers: Callers, kind: str, above: str | None, status: int) -> None:
    parent = getattr(await callers.tree(), above) if above else None
    body = {"type": kind, "name": "New", "parent_id": parent}
    made = await callers.call("ada", "POST", "/contexts", ADMIN_ROLE, json=body)
    assert made.status_code == status, made.text


async def test_roots_are_made_by_admins_of_the_installation(callers: Callers) -> None:
    body = {"type": "workspace", "name": "New"}
    assert (await callers.call("bob", "POST", "/contexts", json=body)).status_code == 403
    assert (await callers.call("bob", "POST", "/contexts", ADMIN_ROLE, json=body)).status_code == 201


@pytest.mark.parametrize("name", ["", "  ", "x" * 121, "a\u202eb", "a\nb", "\u200b"])
async def test_a_name_is_short_and_visible(callers: Callers, name: str) -> None:
    body = {"type": "workspace", "name": name}
    assert (await callers.call("ada", "POST", "/contexts", ADMIN_ROLE, json=body)).status_code == 422


async def test_a_repeated_request_makes_one_context(callers: Callers) -> None:
    body, key = {"type": "workspace", "name": "Crew"}, {"idempotency-key": "k-1"}
    made = [
        await callers.call(user, "POST", "/contexts", ADMIN_ROLE, json=body, headers=key)
        for user in ("ada", "ada", "bob")
    ]
    ids = [each.json()["context_id"] for each in made]
    assert ids[0] == ids[1] != ids[2]
    assert all(map(is_context_id, ids))


async def test_a_change_of_an_older_version_is_refused(callers: Callers) -> None:
    workspace = await callers.create("workspace")
    read = await callers.call("ada", "GET", f"/contexts/{workspace}")
    current = {"if-match": read.headers["etag"]}
    path, body = f"/contexts/{workspace}", {"name": "First"}
    assert (await callers.call("ada", "PATCH", path, json=body, headers=current)).status_code == 200
    refused = await callers.call("ada", "PATCH", path, json={"name": "Second"}, headers=current)
    assert (refused.status_code, refused.json()["code"]) == (412, "changed_meanwhile")
    assert (await callers.call("ada", "GET", path)).json()["name"] == "First"


async def test_a_tool_that_is_not_there_cannot_be_switched_off(callers: Callers) -> None:
    path = f"/contexts/{await callers.create('workspace')}"
    refused = await callers.call("ada", "PATCH", path, json={"tools_off": ["teleport"]})
    assert refused.status_code == 422
    changed = await callers.call("ada", "PATCH", path, json={"tools_off": ["web_search", "web_search"]})
    assert changed.json()["tools_off"] == ["web_search"]


async def test_who_makes_a_context_is_a_member_with_the_name_of_the_identity(callers: Callers) -> None:
    who = principal_headers("acme", "ada", ADMIN_ROLE, name="Ada Lovelace")
    made = await callers.http.post("/contexts", headers=who, json={"type": "workspace", "name": "Analysis"})
    path = f"/contexts/{made.json()['context_id']}/members"
    await callers.http.put(f"{path}/user/bob", headers=who, json={"role": "viewer"})
    members = (await callers.http.get(path, headers=who)).json()["members"]
    assert {each["principal"]: each["label"] for each in members} == {
        "user:ada": "Ada Lovelace",
        "user:bob": "",
    }


async def test_the_last_admin_of_a_root_stays(callers: Callers) -> None:
    workspace = await callers.create("workspace")
    own = f"/contexts/{workspace}/members/user/ada"
    for refused in (
        await callers.call("ada", "DELETE", own),
        await callers.call("ada", "PUT", own, json={"role": "viewer"}),
    ):
        assert (refused.status_code, refused.json()["code"]) == (409, "last_admin")
    await callers.grant(workspace, "group:crew", "admin")
    assert (await callers.call("ada", "DELETE", own)).status_code == 204
    assert (await callers.call("ada", "GET", f"/contexts/{workspace}")).status_code == 404


async def test_an_admin_of_the_installation_may_remove_the_last_admin(callers: Callers) -> None:
    workspace = await callers.create("workspace")
    path = f"/contexts/{workspace}/members/user/ada"
    assert (await callers.call("root", "DELETE", path, ADMIN_ROLE)).status_code == 204


async def test_a_member_may_leave(callers: Callers) -> None:
    place = await callers.tree()
    await callers.grant(place.folder, "user:bob", "viewer")
    other = f"/contexts/{place.folder}/members/user/ada"
    assert (await callers.call("bob", "DELETE", other)).status_code == 403
    own = f"/contexts/{place.folder}/members/user/bob"
    assert (await callers.call("bob", "DELETE", own)).status_code == 204
    assert (await callers.call("bob", "DELETE", own)).status_code == 404


async def test_a_withdrawn_role_counts_from_the_next_request_on(callers: Callers) -> None:
    place = await callers.tree()
    await callers.grant(place.folder, "user:bob", "viewer")
    for _ in range(3):
        assert (await callers.call("bob", "GET", f"/contexts/{place.usecase}")).status_code == 200
        await callers.call("ada", "DELETE", f"/contexts/{place.folder}/members/user/bob")
        assert (await callers.call("bob", "GET", f"/contexts/{place.usecase}")).status_code == 404
        await callers.grant(place.folder, "user:bob", "editor")


async def test_contexts_are_listed_by_name_from_where_a_role_was_granted(callers: Callers) -> None:
    place = await callers.tree()
    for number in range(5):
        workspace = await callers.create("workspace", name=f"Team {number}")
        await callers.grant(workspace, "user:bob", "viewer")
    await callers.grant(place.usecase, "user:bob", "editor")
    names: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = (await callers.call("bob", "GET", "/contexts", params={"limit": "2", **cursor})).json()
        names += [each["name"] for each in page["contexts"]]
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert names == [*(f"Team {number}" for number in range(5)), names[-1]]
    assert names[-1].startswith("usecase")
    found = (await callers.call("bob", "GET", "/contexts", params={"q": "TEAM 3"})).json()["contexts"]
    assert [each["name"] for each in found] == ["Team 3"]
    assert (await callers.call("bob", "GET", "/contexts", params={"cursor": "%"})).status_code == 422


async def test_what_is_deleted_is_gone_at_once_and_swept_later(app: FastAPI, callers: Callers) -> None:
    place = await callers.tree()
    await callers.grant(place.usecase, "user:bob", "viewer")
    assert (await callers.call("ada", "DELETE", f"/contexts/{place.folder}")).status_code == 202
    for user, context_id in [("ada", place.folder), ("ada", place.usecase), ("bob", place.usecase)]:
        assert (await callers.call(user, "GET", f"/contexts/{context_id}")).status_code == 404
    for user, role in (("ada", "reader"), ("root", ADMIN_ROLE)):
        path = f"/contexts?parent_id={place.organization}"
        listed = (await callers.call(user, "GET", path, role)).json()
        assert [each["context_id"] for each in listed["contexts"]] == [place.sibling]
    assert (await callers.call("bob", "GET", "/contexts")).json()["contexts"] == []

    removed: list[Owner] = []

    async def remove(owner: Owner) -> None:
        removed.append(owner)
        if len(removed) == 1:
            raise ConnectionError("killed")

    store = (await app.state.provider.get()).contexts._store
    with pytest.raises(ConnectionError):
        await sweep(store, remove)
    await sweep(store, remove)
    usecase, folder = (Owner.of_context("acme", each) for each in (place.usecase, place.folder))
    assert removed == [usecase, usecase, folder]
    assert await store.at_or_below("acme", place.folder) == []
    assert await store.members("acme", [place.usecase], limit=9) == []
    assert (await callers.call("ada", "GET", f"/contexts/{place.organization}")).status_code == 200


async def test_changes_are_in_the_audit_without_names(callers: Callers) -> None:
    workspace = await callers.create("workspace", name="Secret project")
    await callers.grant(workspace, "user:bob", "viewer")
    await callers.grant(workspace, "user:bob", "editor")
    await callers.call(
        "root", "PUT", f"/contexts/{workspace}/members/user/root", ADMIN_ROLE, json={"role": "admin"}
    )
    await callers.call("ada", "DELETE", f"/contexts/{workspace}/members/user/bob")
    await callers.call("ada", "DELETE", f"/contexts/{workspace}")
    asked = await callers.call("root", "GET", f"/admin/audit?context_id={workspace}", ADMIN_ROLE)
    entries = asked.json()["entries"]
    assert [(e["actor"], e["action"], e["role_before"], e["role_after"]) for e in entries] == [
        ("ada", "context_deleted", None, None),
        ("ada", "role_withdrawn", "editor", None),
        ("root", "self_grant", None, "admin"),
        ("ada", "role_granted", "viewer", "editor"),
        ("ada", "role_granted", None, "viewer"),
        ("ada", "context_created", None, None),
    ]
    assert all(len(each["trace_id"]) == 32 for each in entries)
    assert "Secret" not in asked.text
    assert (await callers.call("ada", "GET", "/admin/audit")).status_code == 403
    assert (await callers.call("ada", "GET", "/admin/contexts")).status_code == 403


async def test_admins_of_the_installation_see_the_names_of_roots(callers: Callers) -> None:
    place = await callers.tree()
    found = (await callers.call("root", "GET", "/admin/contexts", ADMIN_ROLE)).json()["contexts"]
    assert [(each["context_id"], each["role"]) for each in found] == [(place.organization, None)]
    # What is listed can be opened, level by level.
    for parent, below in (
        (place.organization, {place.folder, place.sibling}),
        (place.folder, {place.usecase}),
    ):
        opened = await callers.call("root", "GET", f"/contexts/{parent}", ADMIN_ROLE)
        assert (opened.status_code, opened.json()["role"]) == (200, None)
        path = f"/contexts?parent_id={parent}"
        listed = (await callers.call("root", "GET", path, ADMIN_ROLE)).json()["contexts"]
        assert {each["context_id"] for each in listed} == below
        assert (await callers.call("eve", "GET", path)).status_code == 404


@pytest.mark.parametrize(
    "path", ["members/robot/x", "members/everyone/x", "members/user/%20", "members/user/a%0Ab"]
)
async def test_a_member_is_a_user_a_group_or_everyone(callers: Callers, path: str) -> None:
    workspace = await callers.create("workspace")
    refused = await callers.call("ada", "PUT", f"/contexts/{workspace}/{path}", json={"role": "viewer"})
    assert refused.status_code in (404, 422)


async def test_who_has_opened_the_page_is_found_and_a_member_by_name(callers: Callers) -> None:
    workspace = await callers.create("workspace")
    came = principal_headers("acme", "zoe", name="Zoe Keeper", email="zoe@example.org")
    assert (await callers.call("zoe", "GET", "/me", headers=came)).status_code == 200
    await callers.call("ann", "GET", "/me", headers=principal_headers("umbra", "ann", name="Zoe Other"))
    asked = await callers.call("ada", "GET", f"/contexts/{workspace}/people?q=ZOE+keep")
    zoe = {"kind": "user", "id": "zoe", "name": "Zoe Keeper", "email": "zoe@example.org"}
    assert asked.json() == {"people": [zoe], "is_complete": True}
    everyone = (await callers.call("ada", "GET", f"/contexts/{workspace}/people")).json()["people"]
    assert [each["id"] for each in everyone] == ["zoe"]
    await callers.grant(workspace, "user:zoe", "viewer")
    members = (await callers.call("ada", "GET", f"/contexts/{workspace}/members")).json()["members"]
    assert {each["principal"]: each["label"] for each in members}["user:zoe"] == "Zoe Keeper"
    # Only who may grant roles looks for people.
    assert (await callers.call("zoe", "GET", f"/contexts/{workspace}/people?q=zoe")).status_code == 403
    path = f"/contexts/{workspace}/members/user/ben@example.org"
    refused = await callers.call("ada", "PUT", path, json={"role": "viewer", "label": "Ben"})
    assert (refused.status_code, refused.json()["code"]) == (422, "unknown_person")


NOTES = ("notes.txt", b"The ferry leaves at noon.")


async def upload(
    callers: Callers, user: str, context_id: str, file: tuple[str, bytes], query: str = ""
) -> Any:
    path = f"/contexts/{context_id}/documents{query}"
    return await callers.call(user, "POST", path, files=[("file", file)])


async def test_members_share_the_documents_of_a_context(callers: Callers) -> None:
    place = await callers.tree()
    await callers.grant(place.organization, "user:bob", "viewer")
    await callers.grant(place.folder, "user:eve", "editor")
    stored = await upload(callers, "eve", place.folder, NOTES)
    assert stored.status_code == 201, stored.text
    [document] = stored.json()["documents"]
    base = f"/contexts/{place.folder}/documents"
    [listed] = (await callers.call("bob", "GET", base)).json()["documents"]
    assert (listed["blob_name"], listed["readable"]) == ("notes.txt", True)
    content = await callers.call("bob", "GET", f"{base}/{document['document_id']}/content")
    assert content.content == NOTES[1]
    for elsewhere in (place.organization, place.usecase, place.sibling):
        other = f"/contexts/{elsewhere}/documents"
        assert (await callers.call("ada", "GET", other)).json()["documents"] == []
        found = await callers.call("ada", "GET", f"{other}/{document['document_id']}/content")
        assert found.status_code == 404
    assert (await callers.call("eve", "DELETE", f"{base}/{document['document_id']}")).status_code == 204
    assert (await callers.call("bob", "GET", base)).json()["documents"] == []


async def test_a_document_is_replaced_only_if_that_is_asked_for(callers: Callers) -> None:
    workspace = await callers.create("workspace")
    assert (await upload(callers, "ada", workspace, NOTES)).status_code == 201
    again = await upload(callers, "ada", workspace, ("notes.txt", b"Other words."))
    assert (again.status_code, again.json()["code"]) == (409, "name_taken")
    [kept] = (await callers.call("ada", "GET", f"/contexts/{workspace}/documents")).json()["documents"]
    path = f"/contexts/{workspace}/documents/{kept['document_id']}/content"
    first = await callers.call("ada", "GET", path)
    assert first.content == NOTES[1]
    head = await callers.call("ada", "HEAD", path)
    assert (head.status_code, head.headers["etag"]) == (200, first.headers["etag"])
    assert (await callers.call("eve", "HEAD", path)).status_code == 404
    known = {"if-none-match": f'W/"other", {first.headers["etag"]}'}
    unchanged = await callers.call("ada", "GET", path, headers=known)
    assert (unchanged.status_code, unchanged.content) == (304, b"")
    replaced = await upload(callers, "ada", workspace, ("notes.txt", b"Other words."), "?replace=true")
    assert replaced.status_code == 201
    assert (await callers.call("ada", "GET", path, headers=known)).content == b"Other words."


async def test_documents_of_a_context_are_listed_in_pages(callers: Callers) -> None:
    workspace = await callers.create("workspace")
    for number in range(5):
        assert (await upload(callers, "ada", workspace, (f"{number}.txt", b"Words."))).status_code == 201
    names: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        params = {"limit": "2", **cursor}
        page = (await callers.call("ada", "GET", f"/contexts/{workspace}/documents", params=params)).json()
        names += [each["blob_name"] for each in page["documents"]]
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert sorted(names) == [f"{number}.txt" for number in range(5)]


async def test_what_is_uploaded_while_the_context_is_deleted_is_removed(
    app: FastAPI, callers: Callers, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = await callers.create("workspace")
    library = (await app.state.provider.get()).library
    upload_file = library.upload

    async def upload_slowly(*arguments: Any, **options: Any) -> Any:
        stored = await upload_file(*arguments, **options)
        assert (await callers.call("ada", "DELETE", f"/contexts/{workspace}")).status_code == 202
        return stored

    monkeypatch.setattr(library, "upload", upload_slowly)
    assert (await upload(callers, "ada", workspace, NOTES)).status_code == 404
    place = Accessible.of_owner(Owner.of_context("acme", workspace))
    assert (await library.page(place, limit=9)).documents == []


@pytest.mark.parametrize("replaces", [False, True])
async def test_a_role_that_is_withdrawn_during_an_upload_loses_no_earlier_document(
    app: FastAPI, callers: Callers, monkeypatch: pytest.MonkeyPatch, replaces: bool
) -> None:
    workspace = await callers.create("workspace")
    await callers.grant(workspace, "user:bob", "editor")
    if replaces:
        assert (await upload(callers, "bob", workspace, NOTES)).status_code == 201
    library = (await app.state.provider.get()).library
    upload_file = library.upload

    async def upload_slowly(*arguments: Any, **options: Any) -> Any:
        stored = await upload_file(*arguments, **options)
        await callers.call("ada", "DELETE", f"/contexts/{workspace}/members/user/bob")
        return stored

    monkeypatch.setattr(library, "upload", upload_slowly)
    answered = await upload(callers, "bob", workspace, NOTES, "?replace=true" if replaces else "")
    assert answered.status_code == (201 if replaces else 404)
    listed = (await callers.call("ada", "GET", f"/contexts/{workspace}/documents")).json()["documents"]
    assert [each["blob_name"] for each in listed] == (["notes.txt"] if replaces else [])


async def test_the_events_of_a_document_end_when_the_role_is_withdrawn(
    app: FastAPI, callers: Callers, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = await callers.create("workspace")
    await callers.grant(workspace, "user:bob", "viewer")
    [document] = (await upload(callers, "ada", workspace, NOTES)).json()["documents"]
    library = (await app.state.provider.get()).library
    progress, looks = library.progress, itertools.count()

    async def withdrawn_at_the_second_look(asked: Any) -> Any:
        if next(looks) == 1:
            await callers.call("ada", "DELETE", f"/contexts/{workspace}/members/user/bob")
        return await progress(asked)

    monkeypatch.setattr(library, "progress", withdrawn_at_the_second_look)
    path = f"/contexts/{workspace}/documents/{document['document_id']}/events"
    followed = (await callers.call("bob", "GET", path)).text
    assert "event: status" in followed
    assert followed.rstrip().rpartition("event: ")[2].startswith("error")
    assert "There is no such context." in followed
    assert next(looks) == 2


async def test_documents_of_a_context_belong_to_no_conversation(callers: Callers) -> None:
    workspace = await callers.create("workspace")
    await upload(callers, "ada", workspace, NOTES)
    assert (await callers.call("ada", "GET", "/conversations")).json()["conversations"] == []
    body = {"question": "When does the ferry leave?", "blob_names": ["notes.txt"]}
    assert (await callers.call("ada", "POST", "/orc", json=body)).status_code == 404


async def test_the_sweep_removes_the_documents_of_all_contexts_below(app: FastAPI, callers: Callers) -> None:
    place = await callers.tree()
    for context_id in (place.folder, place.usecase, place.sibling):
        assert (await upload(callers, "ada", context_id, NOTES)).status_code == 201
    await callers.call("ada", "DELETE", f"/contexts/{place.folder}")
    opened = await app.state.provider.get()
    await sweep(opened.contexts._store, opened.library.delete_all)
    for context_id, left in [(place.folder, 0), (place.usecase, 0), (place.sibling, 1)]:
        found = await opened.library.list_documents(Owner.of_context("acme", context_id))
        assert len(found) == left
