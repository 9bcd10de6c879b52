"""`python -m resilience.context_leaks`: random questions over contexts, with a secret in each document.

Callers ask for the secret of any document of their tenant, in sessions that go on while roles are granted and
withdrawn and contexts are deleted. No prompt and no response has the secret of a document that its caller may
not read, and each secret in the scope of a question is found. A reference of a few lines says what these are.
"""

import argparse
import json
import logging
import random
import string
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import httpx
from rich.console import Console

from devkit.azure.services import azure_services
from devkit.doubles.openai_double import OpenAIDouble, serving
from devkit.in_process import Variant, running_here
from devkit.system import interrupted_by_sigterm, principal_headers, read_events
from resilience.checks import Tally
from resilience.report import Advance, Verdict, conclude, steps, wide_console

Json = dict[str, Any]
ROLES = ("viewer", "editor", "admin")
BELOW = {"organization": "folder", "folder": "usecase"}
MOST_TURNS, MOST_DELETIONS, CHANGES_EVERY = 6, 8, 3

NO_LEAK = "secrets of unreadable documents in prompts and responses"
FOUND = "secrets in scope that were not found"
REFUSED = "unreadable focus contexts that were not refused"
ENDED = "turns that did not end with an answer"
NEVER_READ = "secrets in views and exports of users who could never read them"
NO_TRACE = "secrets in traces and logs"
CHECKS = (NO_LEAK, FOUND, REFUSED, ENDED, NEVER_READ, NO_TRACE)
LOOKS = ("?full=true", "/export", "/suggestions", "/events?follow=false")
LOOK_EVERY = 10
FINAL = (httpx.codes.NOT_FOUND, httpx.codes.BAD_REQUEST)
PRODUCT = ("orc_core", "mcp_server", "orc")


class Size(NamedTuple):
    """How large the world is; `roots` and all others are for each tenant.

    `attempts`: how often a request is sent until the stores answer in time.
    """

    tenants: int = 2
    roots: int = 2
    documents: int = 1
    users: int = 3
    groups: int = 2
    probes: int = 24
    is_indexed: bool = False
    attempts: int = 1


FULL = Size(tenants=3, roots=15, documents=7, users=40, groups=30, probes=10_000, is_indexed=True)
# The emulator of Cosmos DB takes one request at a time, and Orc refuses to wait for a slow store.
COSMOS = Size(tenants=2, roots=4, documents=1, users=12, groups=8, probes=1000, attempts=20)
PAUSE_SECONDS = 0.5


class Document(NamedTuple):
    """A document of a context: the word that a question asks for, and the secret that answers it."""

    home: str
    word: str
    secret: str


@dataclass
class Tenant:
    """What there is in a tenant, as the reference knows it."""

    name: str
    types: dict[str, str] = field(default_factory=dict)
    deleted: set[str] = field(default_factory=set)
    grants: dict[tuple[str, str], str] = field(default_factory=dict)
    documents: list[Document] = field(default_factory=list)


class User(NamedTuple):
    """A caller; the groups count only if all are known."""

    name: str
    groups: tuple[str, ...]


@dataclass
class Session:
    """A conversation of a user, and the contexts that its questions have named."""

    id: str | None = None
    named: list[str] = field(default_factory=list)
    turns: int = 0


def lineage(node: str) -> list[str]:
    parts = node.split("-")
    return ["-".join(parts[: level + 1]) for level in range(len(parts))]


def may_read(tenant: Tenant, user: User, node: str) -> bool:
    """The rule of roles in its plainest form."""
    if any(each in tenant.deleted for each in lineage(node)):
        return False
    mine = {"everyone", f"user:{user.name}", *(f"group:{group}" for group in user.groups)}
    return any(at in lineage(node) and who in mine for at, who in tenant.grants)


def in_scope(tenant: Tenant, user: User, focus: str, others: Sequence[str]) -> set[str]:
    """The words of the documents that a turn may access, document by document."""
    kind = tenant.types[focus]
    up = {"usecase": lineage(focus), "folder": [focus, lineage(focus)[0]]}.get(kind, [focus])
    deep = [each for each in others if may_read(tenant, user, each)]
    deep += [focus] if kind in BELOW else []
    return {
        document.word
        for document in tenant.documents
        if may_read(tenant, user, document.home)
        and (document.home in up or any(each in lineage(document.home) for each in deep))
    }


class Logs(logging.Handler):
    """What this process has logged since it was last taken, with tracebacks; `count` lines in all."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.lines: list[str] = []
        self.count = 0

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))
        self.count += 1

    def taken(self) -> str:
        """The lines, which are then forgotten."""
        lines, self.lines = self.lines, []
        return "\n".join(lines)


class Campaign:
    """The probes, over HTTP."""

    def __init__(
        self, http: httpx.Client, double: OpenAIDouble, chance: random.Random, tally: Tally, attempts: int
    ) -> None:
        self._http, self._double, self._chance, self._tally = http, double, chance, tally
        self._attempts, self.repeated = attempts, 0
        self._sessions: dict[tuple[str, str], list[Session]] = {}
        self._readable_once: dict[tuple[str, str], set[str]] = {}
        self.logs = Logs()
        self.tenants: list[Tenant] = []
        self.users: list[User] = []
        self.groups: list[str] = []

    @contextmanager
    def logged(self) -> Iterator[None]:
        """Read what the product logs in this process meanwhile, from INFO on as in production."""
        loggers = [logging.getLogger(each) for each in PRODUCT]
        levels = [each.level for each in loggers]
        for each in loggers:
            each.addHandler(self.logs)
            each.setLevel(logging.INFO)
        try:
            yield
        finally:
            for each, level in zip(loggers, levels, strict=True):
                each.removeHandler(self.logs)
                each.setLevel(level)

    def build(self, size: Size) -> None:
        """Make the tenants with their contexts, documents and first grants."""
        self.groups = [f"g{n}" for n in range(size.groups)]
        self.users = [self._user(number, size.users) for number in range(size.users)]
        for number in range(size.tenants):
            tenant = Tenant(f"tenant-{number}")
            self.tenants.append(tenant)
            for root in range(size.roots):
                kind = "workspace" if root % 2 else "organization"
                self._grow(tenant, kind, None, size.documents)
            for _ in range(size.users * 2):
                self._grant(tenant)

    def _user(self, number: int, users: int) -> User:
        """Two thirds of the users have groups, which nearly all have two members."""
        each, more = number % len(self.groups), (number + users // 2) % len(self.groups)
        return User(f"u{number}", (self.groups[each], self.groups[more]) if number % 3 else ())

    def probe(self, number: int) -> None:
        """One question about a document, in a new session or a going one; changes come in between."""
        tenant, user = self._chance.choice(self.tenants), self._chance.choice(self.users)
        if number % CHANGES_EVERY == 0:
            self._change(tenant)
        sessions = self._sessions.setdefault((tenant.name, user.name), [Session()])
        if sessions[-1].turns >= MOST_TURNS:
            sessions.append(Session())
        session, nodes = sessions[-1], [each for each in tenant.types if each not in tenant.deleted]
        readable = [each for each in nodes if may_read(tenant, user, each)]
        focus = self._chance.choice(readable if readable and self._chance.random() < 0.5 else nodes)
        others = self._chance.sample(nodes, self._chance.choice((0, 0, 1, 3)))
        reachable = sorted(in_scope(tenant, user, focus, [*others, *session.named]))
        every = [document.word for document in tenant.documents]
        word = self._chance.choice(reachable if reachable and self._chance.random() < 0.7 else every)
        self._ask(tenant, user, session, [focus, *others], word, found=word in reachable)
        if number % LOOK_EVERY == 0 and session.id is not None:
            self._look_around(tenant, user, session.id)

    def _look_around(self, tenant: Tenant, user: User, conversation: str) -> None:
        """Compare what else shows a session with what its user could read at the time of any turn."""
        headers = principal_headers(tenant.name, user.name, groups=user.groups)
        paths = [f"/conversations/{conversation}{each}" for each in LOOKS]
        texts = [
            self._http.get(each, headers=headers).text for each in (*paths, "/conversations", "/contexts")
        ]
        traces = self._admin(tenant, "GET", "/admin/telemetry", params={"limit": "20"}).text
        logs = self.logs.taken()
        known = self._readable_once.get((tenant.name, user.name), set())
        for document in (each for other in self.tenants for each in other.documents):
            what = f"{tenant.name} {user.name} {conversation} {document}"
            if document.secret not in known:
                self._tally.expect(NEVER_READ, not any(document.secret in text for text in texts), what)
            self._tally.expect(NO_TRACE, document.secret not in traces + logs, what)

    def _ask(
        self, tenant: Tenant, user: User, session: Session, nodes: list[str], word: str, *, found: bool
    ) -> None:
        before, what = len(self._double.requests), f"{tenant.name} {user.name} {nodes} {word}"
        body: Json = {
            "question": f"What is {word}?",
            "contexts": [{"type": tenant.types[each], "id": each} for each in nodes],
        }
        if session.id is not None:
            body["conversation_id"] = session.id
        known = self._readable_once.setdefault((tenant.name, user.name), set())
        known |= {each.secret for each in tenant.documents if may_read(tenant, user, each.home)}
        status, text, answer = self._send_until_answered(tenant, user, body)
        prompts = [json.dumps(each.body) for each in self._double.requests[before:]]
        self._compare(tenant, user, [text, *prompts], what)
        if not may_read(tenant, user, nodes[0]):
            self._tally.expect(REFUSED, status == httpx.codes.NOT_FOUND and not prompts, what)
            return
        self._tally.expect(ENDED, answer is not None, f"{what}: {status} {text[:300]}")
        if answer is None:
            return
        session.id, session.turns = answer["conversation_id"], session.turns + 1
        readable = [each for each in nodes if may_read(tenant, user, each)]
        session.named += [each for each in readable if each not in session.named]
        if found:
            secret = next(each.secret for each in tenant.documents if each.word == word)
            self._tally.expect(FOUND, secret in answer["answer"], f"{what}: {answer['answer'][:200]}")

    def _send_until_answered(self, tenant: Tenant, user: User, body: Json) -> tuple[int, str, Json | None]:
        """As `_send`, again with the same key if a store was too slow; with all that came back."""
        key, texts = f"{self._chance.getrandbits(64):016x}", list[str]()
        for attempt in range(self._attempts):
            status, text, answer = self._send(tenant, user, body, key)
            texts.append(text)
            if answer is not None or status in FINAL:
                break
            if attempt + 1 < self._attempts:
                self.repeated += 1
                time.sleep(PAUSE_SECONDS)
        return status, "\n".join(texts), answer

    def _send(self, tenant: Tenant, user: User, body: Json, key: str) -> tuple[int, str, Json | None]:
        """The status, all that came back, and the result if there is one."""
        headers = principal_headers(tenant.name, user.name, groups=user.groups) | {"idempotency-key": key}
        if self._chance.random() < 0.5:
            response = self._http.post("/orc", json=body, headers=headers)
            is_answer = response.status_code == httpx.codes.OK
            return response.status_code, response.text, response.json() if is_answer else None
        headers["accept"] = "text/event-stream"
        with self._http.stream("POST", "/orc", json=body, headers=headers) as response:
            if response.status_code != httpx.codes.OK:
                return response.status_code, response.read().decode(), None
            events = list(read_events(response))
        _, kind, data = events[-1]
        return httpx.codes.OK, json.dumps(events), data if kind == "done" else None

    def _compare(self, tenant: Tenant, user: User, texts: Sequence[str], what: str) -> None:
        for each in self.tenants:
            for document in each.documents:
                if each is tenant and may_read(tenant, user, document.home):
                    continue
                leaked = any(document.secret in text for text in texts)
                self._tally.expect(NO_LEAK, not leaked, f"{what}: {document}")

    def _grow(self, tenant: Tenant, kind: str, parent: str | None, documents: int) -> None:
        """A context of this type with its documents, and two of each type below it."""
        made = self._admin(
            tenant, "POST", "/contexts", json={"type": kind, "name": kind, "parent_id": parent}
        )
        node = str(made.json()["context_id"])
        tenant.types[node] = kind
        if parent is None:
            tenant.grants[node, "user:root"] = "admin"
        for _ in range(documents):
            # Unlike all other words, so that no search takes one for another.
            word = "".join(self._chance.choices(string.ascii_lowercase, k=12))
            document = Document(node, word, f"sesame{self._chance.getrandbits(40):010x}")
            content = f"{document.word.capitalize()} opens with {document.secret}.".encode()
            files = [("file", (f"{document.word}.txt", content))]
            self._admin(tenant, "POST", f"/contexts/{node}/documents", files=files)
            tenant.documents.append(document)
        for _ in range(2 if kind in BELOW else 0):
            self._grow(tenant, BELOW[kind], node, documents)

    def _change(self, tenant: Tenant) -> None:
        kind = self._chance.random()
        mine = [key for key in tenant.grants if key[1] != "user:root" and key[0] not in tenant.deleted]
        deletable = [each for each in tenant.types if "-" in each and not self._is_deleted(tenant, each)]
        # As many roles stay granted as there were at first.
        if kind < 0.48 or len(mine) < len(self.users):
            self._grant(tenant)
        elif kind < 0.98 or not deletable or len(tenant.deleted) >= MOST_DELETIONS:
            self._withdraw(tenant, *self._chance.choice(mine))
        else:
            node = self._chance.choice(deletable)
            self._admin(tenant, "DELETE", f"/contexts/{node}")
            tenant.deleted.add(node)

    def _grant(self, tenant: Tenant) -> None:
        nodes = [each for each in tenant.types if not self._is_deleted(tenant, each)]
        user, node = self._chance.choice(self.users), self._chance.choice(nodes)
        kinds = [f"user:{user.name}", f"group:{self._chance.choice(self.groups)}", "everyone"]
        who = self._chance.choices(kinds, [12, 6, 1])[0]
        role = self._chance.choice(ROLES)
        self._admin(tenant, "PUT", self._member(node, who), json={"role": role})
        tenant.grants[node, who] = role

    def _withdraw(self, tenant: Tenant, node: str, who: str) -> None:
        if not self._is_deleted(tenant, node):
            self._admin(tenant, "DELETE", self._member(node, who))
            del tenant.grants[node, who]

    def _admin(self, tenant: Tenant, method: str, path: str, **options: Any) -> httpx.Response:
        headers = principal_headers(tenant.name, "root", "orc.admin")
        for _ in range(self._attempts):
            response = self._http.request(method, path, headers=headers, **options)
            if not response.is_server_error:
                break
            time.sleep(PAUSE_SECONDS)
        if method == "DELETE" and response.status_code == httpx.codes.NOT_FOUND and self._attempts > 1:
            return response  # an attempt that seemed to fail has removed it
        return response.raise_for_status()

    @staticmethod
    def _member(node: str, who: str) -> str:
        kind, _, name = who.partition(":")
        return f"/contexts/{node}/members/{kind}/{name or '-'}"

    @staticmethod
    def _is_deleted(tenant: Tenant, node: str) -> bool:
        return any(each in tenant.deleted for each in lineage(node))


def campaign(folder: Path, size: Size, *, seed: int, advance: Advance, stores: Mapping[str, str]) -> Verdict:
    """Build the world and make the probes. `stores` are settings that name where records are stored."""
    tally, double = Tally(CHECKS), OpenAIDouble()
    with ExitStack() as stack:
        common = {
            "model": "openai:gpt-5.1",
            "openai_base_url": stack.enter_context(serving(double)),
            "memory": "extractive",
            **stores,
        }
        here = stack.enter_context(
            running_here(folder, {"": Variant({"critic": "off"})}, common=common, tools={})
        )
        http = stack.enter_context(here.client("", "tenant-0"))
        probes = Campaign(http, double, random.Random(seed), tally, size.attempts)
        stack.enter_context(probes.logged())
        probes.build(size)
        if size.is_indexed:
            here.index()
        for number in range(size.probes):
            probes.probe(number)
            double.requests.clear()
            advance()
    figures = [
        ("probes", str(size.probes)),
        ("documents", str(sum(len(each.documents) for each in probes.tenants))),
        ("log lines", str(probes.logs.count)),
        ("requests that were repeated", str(probes.repeated)),
        ("seed", str(seed)),
    ]
    return Verdict("Secrets of contexts", tally.checks(), figures)


def run(
    folder: Path, size: Size, console: Console, *, seed: int = 14, stores: Mapping[str, str] | None = None
) -> Verdict:
    """The campaign with a progress bar."""
    with steps(console) as steps_of:
        advance = steps_of("probes", size.probes)
        return campaign(folder, size, seed=seed, advance=advance, stores=stores or {})


@contextmanager
def cosmos_stores() -> Iterator[dict[str, str]]:
    """Settings of a running emulator of Cosmos DB for all records; files and the index stay in a folder."""
    with azure_services(storage=False, search=False) as environment:
        yield {name.lower(): value for name, value in environment.items()}


@interrupted_by_sigterm()
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit code is the verdict."""
    parser = argparse.ArgumentParser(prog="python -m resilience.context_leaks", description=__doc__)
    parser.add_argument("--probes", type=int)
    parser.add_argument("--seed", type=int, default=14)
    parser.add_argument("--cosmos", action="store_true", help="store records in the emulator of Cosmos DB")
    given = parser.parse_args(arguments)
    console, size = wide_console(), COSMOS if given.cosmos else FULL
    size = size._replace(probes=given.probes or size.probes)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        stores = stack.enter_context(cosmos_stores()) if given.cosmos else {}
        verdict = run(Path(folder), size, console, seed=given.seed, stores=stores)
    return conclude(verdict, console)


if __name__ == "__main__":
    sys.exit(main())
