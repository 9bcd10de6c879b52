"""The worlds of the matrix of access: a tree of contexts with documents and sessions, and one grant."""

import re
import uuid
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import httpx

from devkit.system import principal_headers
from orc.contexts.ids import new_id
from orc.contexts.rights import NEEDED, TENANT_ADMIN, Right
from tests.unit.orc.api.access_routes import QUESTION, SECRET, TABLE, TITLE, Entry, Of, request_of

ORDER = ("viewer", "editor", "admin")
POSITIONS = ("self", "parent", "grandparent", "child", "sibling")
PRINCIPALS = ("user:bob", "group:crew", "everyone")
ADMIN_ROLE = "orc.admin"
TENANT, MOST_GROUPS = "acme", 250


class Caller(NamedTuple):
    """Who asks; without a tenant, an anonymous caller."""

    tenant: str | None
    user: str = ""
    groups: tuple[str, ...] = ()
    is_admin: bool = False

    @property
    def headers(self) -> dict[str, str]:
        roles = (ADMIN_ROLE,) if self.is_admin else ()
        return principal_headers(self.tenant, self.user, *roles, groups=self.groups) if self.tenant else {}

    @property
    def principals(self) -> set[str]:
        groups = self.groups if len(self.groups) <= MOST_GROUPS else ()
        return {"everyone", f"user:{self.user}", *(f"group:{group}" for group in groups)}


class Grant(NamedTuple):
    """A role of a principal, at a position seen from the target."""

    position: str
    principal: str
    role: str


ADA, BOB = Caller(TENANT, "ada", is_admin=True), Caller(TENANT, "bob", ("crew",))
STRANGERS = {
    "anonymous": Caller(None),
    "namesake of another tenant": Caller("umbra", "bob", ("crew",), is_admin=True),
    "outsider": Caller(TENANT, "eve"),
}
ROOT = Caller(TENANT, "root", is_admin=True)


class World:
    """A target with contexts around it, a document in each, and a conversation and a session of bob's."""

    def __init__(self, http: httpx.AsyncClient, grant: Grant) -> None:
        self._http = http
        self._grant = grant
        self.nodes: dict[str, str] = {}
        self._secrets: dict[str, list[str]] = {}
        self._ids: dict[str, str] = {}
        self._own_document = ""

    async def build(self) -> None:
        """Make all of it as ada, who administers the tenant, and then grant the role."""
        top = await self._context("organization", None)
        middle = await self._context("folder", top)
        if self._grant.position == "child":
            self.nodes = {"parent": top, "self": middle, "child": await self._context("usecase", middle)}
            self.nodes["sibling"] = await self._context("folder", top)
        else:
            self.nodes = {
                "grandparent": top,
                "parent": middle,
                "self": await self._context("usecase", middle),
            }
            self.nodes["sibling"] = await self._context("usecase", middle)
        target = self.nodes["self"]
        self._ids |= {"context_id": target, "document_id": self._secrets[target][-1], "new_id": new_uuid()}
        self._ids |= {"kind": "user", "principal": "zoe", "number": "1", "trace_id": uuid.uuid4().hex}
        await self._open_sessions(target)
        await self._give(self.nodes[self._grant.position], self._grant.principal, self._grant.role)

    async def failures(self, caller: Caller) -> list[str]:
        """What any route answers this caller otherwise than the table and the reference say."""
        who = f"{caller.user or 'anonymous'}, {' '.join(self._grant)}"
        return [
            f"{who}, {route}: {failure}"
            for route, entry in TABLE.items()
            for failure in await self._tried(caller, route, entry)
        ]

    def role(self, caller: Caller, node: str) -> str | None:
        """The reference: the one grant counts where it is and below, for its principal."""
        at = self.nodes[self._grant.position]
        is_there = f"{node}-".startswith(f"{at}-") and caller.tenant == TENANT
        return self._grant.role if is_there and self._grant.principal in caller.principals else None

    def expected(self, caller: Caller, entry: Entry) -> int:
        """The status that the reference says; for what is allowed, that of the table."""
        if entry.needs is Of.EVERYBODY:
            return entry.status
        if caller.tenant is None:
            return 401
        owns = caller[:2] == BOB[:2]
        if isinstance(entry.needs, Of):
            allowed = {Of.CALLERS: True, Of.OWNER: owns, Of.INSTALLATION: caller.is_admin}[entry.needs]
            return entry.status if allowed else 403 if entry.needs is Of.INSTALLATION else 404
        return self._expected_in_context(caller, entry, entry.needs, owns=owns)

    def _expected_in_context(self, caller: Caller, entry: Entry, right: Right, *, owns: bool) -> int:
        role = self.role(caller, self.nodes["self"])
        administers = _administers(caller, right)
        if not administers and role is None:
            return 404
        if not administers and ORDER.index(str(role)) < ORDER.index(NEEDED[right]):
            return 403
        if entry.in_session and not owns:
            return 404
        return entry.leaf_status if entry.leaf_status and "child" not in self.nodes else entry.status

    async def _tried(self, caller: Caller, route: str, entry: Entry) -> list[str]:
        response = await self._send(caller, route, entry, self._named(route))
        expected, text = self.expected(caller, entry), response.text
        found: list[str] = []
        if response.status_code != expected:
            found.append(f"{response.status_code} where {expected} is right: {text[:200]}")
        found += [f"shows {leaked}" for leaked in self._leaks(caller, route, entry, text)]
        if entry.shows and expected == entry.status and f"{entry.shows}-" not in text:
            found.append(f"does not show the {entry.shows}")
        # The owner of a conversation may learn what is missing in it.
        is_own = entry.needs is Of.OWNER and caller[:2] == BOB[:2]
        if expected == 404 and "{" in route and not is_own:
            invented = await self._send(caller, route, entry, self._invented(caller, entry))
            if _shown(response) != _shown(invented):
                found.append(f"differs from an invented id: {_shown(response)} {_shown(invented)}")
        return found

    async def _send(self, caller: Caller, route: str, entry: Entry, ids: dict[str, str]) -> httpx.Response:
        method, path, options = request_of(route, entry, ids)
        headers = {**caller.headers, **options.pop("headers", {})}
        return await self._http.request(method, path, headers=headers, **options)

    def _named(self, route: str) -> dict[str, str]:
        """The ids of a route: a document is one of the conversation or of the context."""
        return self._ids | ({"document_id": self._own_document} if "/api/conversations/" in route else {})

    def _invented(self, caller: Caller, entry: Entry) -> dict[str, str]:
        """Ids of the same form that do not exist."""
        if entry.needs is Of.OWNER:
            return self._ids | {"conversation_id": new_uuid()}
        if entry.in_session and _administers(caller, entry.needs):
            # The context is no secret to them; that others have sessions in it is.
            return self._ids | {"session_id": new_uuid(), "another_id": new_uuid()}
        above = self._ids["context_id"].rpartition("-")[0]
        return self._ids | {"context_id": new_id(above)}

    def _leaks(self, caller: Caller, route: str, entry: Entry, text: str) -> Iterator[str]:
        for node, secrets in self._secrets.items():
            if self.role(caller, node) is None:
                # Administrators see the names of contexts, and nothing that is in them.
                is_named = _administers(caller, entry.needs) or (
                    caller.is_admin and "/admin/contexts" in route
                )
                hidden = secrets[1:] if is_named else secrets
                yield from (each for each in hidden if each in text)

    async def _context(self, kind: str, parent: str | None) -> str:
        number = uuid.uuid4().hex[:8]
        name, words = f"{TITLE}-{number}", f"{SECRET}-{number}"
        body = {"type": kind, "name": name, "parent_id": parent}
        node = str((await self._done(ADA, "POST", "/api/contexts", json=body)).json()["context_id"])
        files = [("file", (f"{words}.txt", f"It says {words}.".encode()))]
        stored = await self._done(ADA, "POST", f"/api/contexts/{node}/documents", files=files)
        self._secrets[node] = [name, words, stored.json()["documents"][0]["document_id"]]
        return node

    async def _open_sessions(self, target: str) -> None:
        """A session in the target, from a time when bob could read it, and a conversation of his own."""
        await self._give(target, "user:bob", "viewer")
        path, message = f"/api/workspaces/{target}/chat", {"message": QUESTION}
        asked = [await self._done(BOB, "POST", path, json=message) for _ in range(2)]
        session, another = (each.json()["session_id"] for each in asked)
        await self._done(ADA, "DELETE", _member(target, "user:bob"))
        conversation, files = new_uuid(), [("file", ("own.txt", b"My own words."))]
        stored = await self._done(BOB, "POST", f"/api/conversations/{conversation}/documents", files=files)
        question = {"question": QUESTION, "conversation_id": conversation}
        turn = (await self._done(BOB, "POST", "/api/orc", json=question)).json()["turn_id"]
        self._own_document = stored.json()["documents"][0]["document_id"]
        self._ids |= {"conversation_id": conversation, "turn_id": turn, "session_id": session}
        self._ids["another_id"] = another

    async def _give(self, node: str, principal: str, role: str) -> None:
        await self._done(ADA, "PUT", _member(node, principal), json={"role": role})

    async def _done(self, caller: Caller, method: str, path: str, **options: Any) -> httpx.Response:
        response = await self._http.request(method, path, headers=caller.headers, **options)
        assert response.is_success, (method, path, response.text)
        return response


def _administers(caller: Caller, needed: Right | Of) -> bool:
    """Whether a caller may do this as an administrator of the tenant, without a role."""
    return caller.is_admin and caller.tenant == TENANT and needed in TENANT_ADMIN


def grants(*, all_of_them: bool) -> Sequence[Grant]:
    """Each role at each position for each kind of principal; or each of the three in turn."""
    pairs = [(role, position) for role in ORDER for position in POSITIONS]
    if all_of_them:
        return [Grant(at, who, role) for role, at in pairs for who in PRINCIPALS]
    some = [("viewer", "self"), ("editor", "self"), ("admin", "self"), ("editor", "parent")]
    some += [("viewer", "grandparent"), ("admin", "child"), ("admin", "sibling")]
    return [Grant(at, PRINCIPALS[number % 3], role) for number, (role, at) in enumerate(some)]


def new_uuid() -> str:
    """A random id."""
    return str(uuid.uuid4())


def _member(node: str, principal: str) -> str:
    kind, _, name = principal.partition(":")
    return f"/api/contexts/{node}/members/{kind}/{name or '-'}"


def _shown(response: httpx.Response) -> tuple[int, str]:
    return response.status_code, re.sub(r'"trace_id":"[^"]*"', "", response.text)
