"""`python -m resilience.two_versions REF`: an earlier version and this one use one store; nothing is lost.

Both serve, index and answer at the same time, as in a rolling update and after a rollback. The earlier one
runs from a work tree of REF, with the packages of this environment or of another one (`--python`).
"""

import argparse
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from devkit.azure.services import azure_services
from devkit.system import System, interrupted_by_sigterm, upload
from resilience.report import Check, Verdict, conclude, wide_console

ROOT = Path(__file__).parents[1]
AT_ONCE, INDEX_SECONDS = 4, 90.0
LOST, CHANGED, SHOWN = "turns or documents lost", "answers changed or given twice", "deleted sessions shown"
AZURE, EMBEDDED = "azure", "embedded"


@dataclass
class Session:
    """What was acknowledged of a session: the answers by turn, and the names of documents."""

    session_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    answers: dict[str, str] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    is_deleted: bool = False
    found: list[tuple[str, str]] = field(default_factory=list)

    @property
    def path(self) -> str:
        return f"/conversations/{self.session_id}"


@contextmanager
def both(ref: str, python: str, store: str) -> Iterator[list[httpx.Client]]:
    """A client of this version and one of the earlier version."""
    git = ["git", "-C", str(ROOT), "worktree"]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        subprocess.run([*git, "add", "--detach", "-q", str(folder / "tree"), ref], check=True)
        stack.callback(subprocess.run, [*git, "remove", "--force", str(folder / "tree")], check=True)
        shared = {"ORC_OCR": "off", "ORC_SCOPE_SIGNING_KEY": "a key of both versions " * 2}
        if store == AZURE:
            shared |= stack.enter_context(azure_services())
        elsewhere = folder / ("data" if store == EMBEDDED else "data of the earlier version")
        systems = [
            System(folder / "data", shared),
            System(
                elsewhere,
                {**shared, "PYTHONPATH": str(folder / "tree"), "PYTHONSAFEPATH": "1"},
                python=python,
            ),
        ]
        for system in systems:
            stack.callback(system.stop)
            system.start()
        yield [stack.enter_context(system.client()) for system in systems]


def use(clients: Sequence[httpx.Client], session: Session, number: int, turns: int) -> None:
    """Upload, ask, repeat and rate in a session through both versions in turn; each fifth is deleted."""
    for turn in range(turns):
        here, there = (clients[(number + turn + at) % 2] for at in (0, 1))
        name = f"fees-{turn}.txt"
        stored = upload(
            here, session.session_id, (name, f"The fee of quay {turn} is {400 + turn} euros.".encode())
        )
        stored.raise_for_status()
        session.names.add(name)
        question = {"question": f"What is the fee of quay {turn}?", "conversation_id": session.session_id}
        key = {"idempotency-key": f"{session.session_id}-{turn}"}
        answer = there.post("/orc", json=question, headers=key).raise_for_status().json()
        session.answers[answer["turn_id"]] = answer["answer"]
        again = here.post("/orc", json=question, headers=key).raise_for_status().json()
        if (again["turn_id"], again["answer"]) != (answer["turn_id"], answer["answer"]):
            session.found.append(
                (CHANGED, f"{session.session_id} {turn}: a repeated request had another answer")
            )
    if number % 5 == 4:
        clients[number % 2].delete(session.path).raise_for_status()
        session.is_deleted = True


def compare(client: httpx.Client, version: str, session: Session) -> None:
    """Note what a version does not show of a session as it was acknowledged."""
    where = f"{version} {session.session_id}"
    whole = client.get(session.path, params={"full": "true", "limit": "200"})
    if session.is_deleted:
        if whole.status_code != 404:
            session.found.append((SHOWN, where))
        return
    turns: list[dict[str, Any]] = whole.json().get("turns", [])
    shown = {turn["turn_id"]: turn["answer"] for turn in turns}
    session.found += [(LOST, f"{where}: turn {each}") for each in session.answers.keys() - shown.keys()]
    differing = [each for each, answer in shown.items() if session.answers.get(each, answer) != answer]
    session.found += [
        (CHANGED, f"{where}: turn {each}") for each in (*differing, *(shown.keys() - session.answers.keys()))
    ]
    end = time.monotonic() + INDEX_SECONDS
    while session.names != (done := _completed(client, session)) and time.monotonic() < end:
        time.sleep(0.5)
    session.found += [(LOST, f"{where}: document {each}") for each in session.names - done]


def _completed(client: httpx.Client, session: Session) -> set[str]:
    listed = client.get(f"{session.path}/documents").raise_for_status().json()["documents"]
    return {each["blob_name"] for each in listed if each["status"] == "completed"}


def campaign(ref: str, python: str, store: str, sessions: int, turns: int) -> Verdict:
    """Use sessions through both versions, then compare what each shows."""
    used = [Session() for _ in range(sessions)]
    with both(ref, python, store) as clients, ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(lambda each: use(clients, each[1], each[0], turns), enumerate(used)))
        for version, client in zip(("this version", ref), clients, strict=True):
            list(pool.map(lambda session, c=client, v=version: compare(c, v, session), used))
    found = [finding for session in used for finding in session.found]
    kept = [session for session in used if not session.is_deleted]
    counts = {
        LOST: sum(len(session.answers) + len(session.names) for session in kept),
        CHANGED: sum(len(session.answers) for session in used),
        SHOWN: len(used) - len(kept),
    }
    checks = [
        Check(name, 2 * of, [said for kind, said in found if kind == name]) for name, of in counts.items()
    ]
    return Verdict(f"This version and {ref} on one {store} store", checks)


@interrupted_by_sigterm()
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the campaign; 1 if something was found."""
    parser = argparse.ArgumentParser(prog="python -m resilience.two_versions", description=__doc__)
    parser.add_argument("ref", help="the earlier version: a commit, tag or branch")
    parser.add_argument("--python", default=sys.executable, help="its Python, with its packages")
    parser.add_argument("--store", choices=[AZURE, EMBEDDED], default=AZURE)
    parser.add_argument("--sessions", type=int, default=20)
    parser.add_argument("--turns", type=int, default=4)
    chosen = parser.parse_args(arguments)
    return conclude(
        campaign(chosen.ref, chosen.python, chosen.store, chosen.sessions, chosen.turns), wide_console()
    )


if __name__ == "__main__":
    sys.exit(main())
