"""`python -m resilience.broken_replies`: every broken reply of a model has one typed end.

Each kind of broken reply answers every call of a turn: as JSON and as a stream, with and without named
documents. No turn may end in an unforeseen error or wait for its deadline, and the next turn works. That all
endpoints show the same end: tests/system/test_permutations_over_http.py.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from rich.console import Console
from starlette.responses import Response

from devkit.doubles.openai_double import ChatRequest, OpenAIDouble, Reply, serving
from devkit.in_process import Variant, running_here
from devkit.stream_to_json import shown_text
from devkit.system import interrupted_by_sigterm, read_events, upload
from orc_core.grounding.citations import CUT_NOTE
from resilience.broken_reply_kinds import CUT, KINDS, LONG_WAIT, LONG_WAITS, REFUSAL, REFUSED, SURROGATES
from resilience.checks import Tally
from resilience.report import Advance, Verdict, conclude, steps, wide_console

CONVERSATION = "7d1f0c1e-5a0e-4c6f-9a53-2f6f3b0a4c11"
DOCUMENT = "deposit.txt"
TEXT = "The deposit is due on 1 March. The quay opens at six."
QUESTION = "When is the deposit due?"
SILENCE_SECONDS = 0.3
DEADLINE_SECONDS = 20.0
"""Far above what any turn needs here: a turn that gets so far was waiting for nothing."""

ENDS = "turns without exactly one end"
FORESEEN = "ends that are unforeseen"
FAST = "turns that ended at their deadline"
NEXT = "next turns that did not work"
SHOWN = "answers that the stream shows differently"
STORED = "answers that are not stored as given"
CUT_LABELLED = "cut answers that are shown as whole"
REFUSALS_SHOWN = "refusals that are not shown, or to be tried again"
WAITS_REPORTED = "long waits that are not reported"
CHECKS = (ENDS, FORESEEN, FAST, NEXT, SHOWN, STORED, CUT_LABELLED, REFUSALS_SHOWN, WAITS_REPORTED)
_TIMEOUTS = ("deadline_exceeded", "tool_timeout")
Json = dict[str, Any]


@dataclass(frozen=True)
class Way:
    """How a turn is asked: as JSON or as a stream, about a named document or about all."""

    streams: bool
    names: tuple[str, ...]

    def __str__(self) -> str:
        return f"{'stream' if self.streams else 'JSON'}, {'named' if self.names else 'all documents'}"


WAYS = tuple(Way(streams, names) for streams in (False, True) for names in ((DOCUMENT,), ()))


@dataclass
class BreakableModel:
    """The model double: with a `kind` it gives that broken reply to every request."""

    kind: str | None = None
    double: OpenAIDouble = field(init=False)

    def __post_init__(self) -> None:
        self.double = OpenAIDouble(self._reply)

    def _reply(self, asked: ChatRequest) -> Reply | Response | None:
        if self.kind is None:
            return None
        return KINDS[self.kind](bool(asked.body.get("stream")))

    @contextmanager
    def broken(self, kind: str) -> Iterator[None]:
        """Gives broken replies of this kind for a while."""
        self.kind = kind
        try:
            yield
        finally:
            self.kind = None


@dataclass(frozen=True)
class Outcome:
    """How a turn ended: its result or its problem, what the stream showed, and the response's headers."""

    ends: list[str]
    body: Json
    shown: str | None
    headers: httpx.Headers
    seconds: float

    @property
    def worked(self) -> bool:
        """Whether there is an answer."""
        return self.ends == ["done"]


class Campaign:
    """Asks in one conversation, and tallies how it went."""

    def __init__(self, client: httpx.Client, model: BreakableModel, tally: Tally) -> None:
        self._client = client
        self._model = model
        self._tally = tally
        uploaded = upload(client, CONVERSATION, (DOCUMENT, TEXT.encode()))
        uploaded.raise_for_status()
        self._answers: list[str] = []

    def run(self, kind: str, way: Way) -> None:
        """One turn with broken replies, and one after it."""
        what = f"{kind} ({way})"
        with self._model.broken(kind):
            outcome = self._ask(way)
        self._check(kind, outcome, what)
        after = self._ask(way)
        self._tally.expect(NEXT, after.worked, f"{what}: {after.ends} {after.body}")

    def check_stored(self) -> None:
        """Compares the latest answers that were given with those that are stored."""
        turns = self._client.get(f"/conversations/{CONVERSATION}").json()["turns"]
        stored = [turn["answer"] for turn in turns if turn["status"] == "committed"]
        same = bool(stored) and stored == self._answers[-len(stored) :]
        self._tally.expect(STORED, same, f"{len(stored)} stored, {len(self._answers)} given")

    def _check(self, kind: str, outcome: Outcome, what: str) -> None:
        expect, body = self._tally.expect, outcome.body
        found = f"{what}: {outcome.ends} {str(body)[:300]}"
        self._check_end(outcome.ends, body, outcome.seconds, found)
        if outcome.worked and outcome.shown is not None:
            expect(SHOWN, outcome.shown == body["answer"], f"{found}, shown: {outcome.shown[:300]!r}")
        if kind == CUT:
            expect(CUT_LABELLED, outcome.worked and CUT_NOTE in body["answer"], found)
        if kind == REFUSED:
            refused = body.get("code") == "model_refused" and not body["retryable"]
            expect(REFUSALS_SHOWN, refused and REFUSAL in body["detail"], found)
        if kind in LONG_WAITS:
            reported = outcome.headers.get("retry-after", str(LONG_WAIT)) == str(LONG_WAIT)
            expect(WAITS_REPORTED, reported and body.get("retry_after") == LONG_WAIT, found)

    def _check_end(self, ends: list[str], body: Json, seconds: float, found: str) -> None:
        self._tally.expect(ENDS, len(ends) == 1, found)
        unforeseen = body.get("status") == 500 or body.get("code") == "internal"
        self._tally.expect(FORESEEN, ends == ["done"] or not unforeseen, found)
        late = seconds >= DEADLINE_SECONDS or body.get("code") in _TIMEOUTS
        self._tally.expect(FAST, not late, f"{seconds:.1f} s, {found}")

    def _ask(self, way: Way) -> Outcome:
        accept = "text/event-stream" if way.streams else "application/json"
        asked = {"conversation_id": CONVERSATION, "question": QUESTION, "blob_names": list(way.names)}
        begun = time.monotonic()
        with self._client.stream("POST", "/orc", json=asked, headers={"accept": accept}) as response:
            if way.streams and response.status_code == httpx.codes.OK:
                events = list(read_events(response))
                ends = [kind for _, kind, _ in events if kind in ("done", "error")]
                body, shown = events[-1][2] if events else {}, shown_text(events)
            else:
                body, shown = json_of(response), None
                ends = ["done" if response.status_code == httpx.codes.OK else "error"]
        outcome = Outcome(ends, body, shown, response.headers, time.monotonic() - begun)
        if outcome.worked:
            self._answers.append(body["answer"])
        return outcome


def json_of(response: httpx.Response) -> Json:
    """The body of a streamed response as JSON."""
    response.read()
    body: Json = response.json()
    return body


def campaign(
    folder: Path,
    runs: Sequence[tuple[str, Way]],
    *,
    retries: int,
    advance: Advance,
) -> Verdict:
    """Every run: a kind of broken reply, and how the turn is asked."""
    tally, model = Tally(CHECKS), BreakableModel()
    with ExitStack() as stack:
        common = {
            "model": "openai:gpt-5.1",
            "openai_base_url": stack.enter_context(serving(model.double)),
            "model_retries": retries,
            "model_timeout_seconds": SILENCE_SECONDS,
        }
        api = {"": Variant({"turn_deadline_seconds": DEADLINE_SECONDS})}
        here = stack.enter_context(running_here(folder, api, common=common, tools={}))
        asking = Campaign(stack.enter_context(here.client("", "org")), model, tally)
        for kind, way in runs:
            asking.run(kind, way)
            advance()
        asking.check_stored()
    kinds = {kind for kind, _ in runs}
    figures = [("kinds of broken replies", str(len(kinds))), ("turns", str(2 * len(runs)))]
    return Verdict("Broken replies of the model", tally.checks(), figures)


def every_run() -> list[tuple[str, Way]]:
    """Every kind in every way."""
    return [(kind, way) for kind in KINDS for way in WAYS]


def some_runs() -> list[tuple[str, Way]]:
    """A third of the kinds, in one way each, and those that a check is about."""
    reported = [kind for kind in (CUT, REFUSED, *LONG_WAITS, *SURROGATES) if kind not in list(KINDS)[::3]]
    kinds = [*list(KINDS)[::3], *reported]
    return [(kind, WAYS[at % len(WAYS)]) for at, kind in enumerate(kinds)]


@interrupted_by_sigterm()
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit code is the verdict."""
    parser = argparse.ArgumentParser(prog="python -m resilience.broken_replies", description=__doc__)
    parser.add_argument("--retries", type=int, default=2, help="retries of a model request")
    given = parser.parse_args(arguments)
    console = wide_console()
    with tempfile.TemporaryDirectory() as folder:
        verdict = run(Path(folder), every_run(), console, retries=given.retries)
    return conclude(verdict, console)


def run(
    folder: Path,
    runs: Sequence[tuple[str, Way]],
    console: Console,
    *,
    retries: int,
) -> Verdict:
    """The campaign with a progress bar."""
    with steps(console) as steps_of:
        advance = steps_of("broken replies", len(runs))
        return campaign(folder, runs, retries=retries, advance=advance)


if __name__ == "__main__":
    sys.exit(main())
