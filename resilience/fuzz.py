"""`python -m resilience.fuzz [--cases 10000]`: generated requests, valid and invalid, over HTTP.

Nothing may end in an unplanned server error, nothing invalid may be accepted, and every answer must be
as the document says: its status, its media type, its headers and its fields.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import schemathesis
from hypothesis.errors import Flaky
from rich.console import Console
from schemathesis import Case, CheckContext, HookContext, Response
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import events, from_schema
from schemathesis.engine.recorder import ScenarioRecorder
from schemathesis.generation.meta import CoveragePhaseData
from schemathesis.hooks import unregister

from devkit.system import interrupted_by_sigterm
from orc_core.errors import INTERNAL
from resilience.checks import Tally
from resilience.deployment import INSTANCE, instance, product, product_here, scripted_model, surroundings
from resilience.fuzz_seed_data import SeedData
from resilience.report import Advance, Verdict, conclude, steps, wide_console

PROBLEM = "application/problem+json"
PLANNED = ["2xx", "3xx", "4xx", "503", "504"]
REJECTED = ["400", "401", "403", "404", "405", "409", "413", "415", "422", "429", "503", "504"]
WORKERS = 2
STATEFUL_EXAMPLES = 6
LARGEST_ROUND = 300
FURTHER_ROUNDS, FURTHER_EXAMPLES = 5, 12
"""Chance may leave an operation without a valid request: how often it is tried again by itself."""
ANSWER_SECONDS = 30
MOST_EVENTS = 10_000

SERVER_ERRORS = "unplanned server errors"
ACCEPTED = "invalid requests that were accepted"
UNDOCUMENTED = "answers that are not as documented"
PROBLEMS = "errors that are no problem documents"
STREAMS = "streams that do not end as they should"
UNANSWERED = "requests without an answer"
UNREACHED = "operations that no request got through to"
NOT_HERE = (
    *("/proposals/{proposal_id}/{decision}", "/keys", "/keys/{key_id}"),
    *("/links", "/links/{link_id}", "/shared"),
)
"""Only a model that calls a tool makes proposals; the one of this campaign calls none. Only who signs in on
the page has keys, and the one user here shares with no one."""

_CHECKS = {
    "not_a_server_error": SERVER_ERRORS,
    "negative_data_rejection": ACCEPTED,
    "missing_required_header": ACCEPTED,
    "status_code_conformance": UNDOCUMENTED,
    "content_type_conformance": UNDOCUMENTED,
    "response_headers_conformance": UNDOCUMENTED,
    "response_schema_conformance": UNDOCUMENTED,
    "unsupported_method": UNDOCUMENTED,
    "errors_are_problem_documents": PROBLEMS,
    "streams_end": STREAMS,
}
_NOT_HERE = {
    409: (
        "POST /api/conversations/{conversation_id}/uploads",
        "POST /api/conversations/{conversation_id}/turns/{turn_id}/retry",
    )
}
"""What cannot be had here, and how it is refused: uploads as on Azure, and retries, as no turn fails."""
_Json = dict[str, Any]


@schemathesis.check
def errors_are_problem_documents(_ctx: CheckContext, response: Response, case: "Case[Any]") -> None:
    """Every error is a problem document with its status and the trace id of its log entry."""
    if response.status_code < 400 or case.operation.path.endswith("/ready"):
        return
    kind = response.headers.get("content-type", ["none"])[0]
    if _has_openais_form(case):
        assert kind == "application/json", f"{response.status_code} as {kind}"
        if case.method.upper() != "HEAD":
            assert json.loads(response.content)["error"]["message"], response.content
        return
    assert kind == PROBLEM, f"{response.status_code} as {kind}"
    if case.method.upper() != "HEAD":
        problem = json.loads(response.content)
        assert problem["status"] == response.status_code, problem
        assert problem["trace_id"] == response.headers["x-trace-id"][0], problem


@schemathesis.check
def streams_end(_ctx: CheckContext, response: Response, case: "Case[Any]") -> None:
    """A stream ends with its result, or with a problem that was foreseen."""
    if not response.headers.get("content-type", [""])[0].startswith("text/event-stream"):
        return
    lines = response.content.decode().replace("\r\n", "\n").split("\n")
    fields = [line.partition(": ") for line in lines if line]
    if _has_openais_form(case):
        *chunks, end = [value for name, _, value in fields if name == "data"]
        assert end == "[DONE]", end
        assert json.loads(chunks[-1]).get("error", {}).get("code") != INTERNAL, chunks[-1]
        return
    kinds = [value for name, _, value in fields if name == "event"]
    numbers = [int(value) for name, _, value in fields if name == "id"]
    assert len(numbers) == len(kinds) and numbers == sorted(set(numbers)), numbers
    if case.operation.path.endswith("{conversation_id}/events"):
        assert kinds[-1:] == ["snapshot"], kinds
        return
    assert kinds[-1:] in (["done"], ["error"]), kinds
    last = json.loads([value for name, _, value in fields if name == "data"][-1])
    assert kinds[-1] == "done" or last["status"] != 500, last


def _has_openais_form(case: "Case[Any]") -> bool:
    return bool(case.operation.path.startswith("/v1"))


@contextmanager
def _hooks(seed_data: SeedData, is_small: bool) -> Iterator[None]:
    """Point every request at the seed data before it is sent; such hooks are global.

    `is_small`: the coverage phase tries each rule of each parameter of an operation once.
    """
    tried = set[tuple[object, ...]]()

    def before_call(_context: HookContext, case: "Case[Any]", _kwargs: _Json) -> None:
        seed_data.direct(case)

    def filter_case(_context: HookContext, case: "Case[Any]") -> bool:
        case_data = case.meta.phase.data if case.meta else None
        if not is_small or not isinstance(case_data, CoveragePhaseData):
            return True
        place = (case_data.parameter_location, case_data.parameter)
        rule = (case.operation.label, case_data.scenario, *place)
        is_first = rule not in tried
        tried.add(rule)
        return is_first

    schemathesis.hook(before_call)
    schemathesis.hook(filter_case)
    try:
        yield
    finally:
        unregister(filter_case)
        unregister(before_call)


class Fuzzer:
    """Sends made-up requests, and tallies what came of them."""

    def __init__(
        self, address: str, seed_data: SeedData, tally: Tally, advance: Advance, *, is_small: bool
    ) -> None:
        self._address = address
        self._is_small = is_small
        self._seed_data = seed_data
        self._tally = tally
        self._advance = advance
        self.operations = 0
        self.sent = 0
        self.answers: Counter[tuple[str, int]] = Counter()

    def run(self, cases: int, seed: int) -> None:
        """At least so many requests: examples, limits and sequences once, chance for the rest."""
        others = {"stateful": {"generation": {"max-examples": STATEFUL_EXAMPLES}}}
        off = {name: {"enabled": False} for name in ("examples", "coverage", "stateful")}
        with _hooks(self._seed_data, self._is_small):
            self._round(seed, {**others, "fuzzing": {"enabled": False}})
            while self.sent < cases:
                seed += 1
                examples = min(LARGEST_ROUND, -(-(cases - self.sent) // self.operations))
                self._round(seed, {**off, "fuzzing": {"generation": {"max-examples": examples}}})
            for again in range(1, FURTHER_ROUNDS + 1):
                if missed := [operation for operation, times in self.got_through().items() if not times]:
                    valid = {"mode": "positive", "max-examples": FURTHER_EXAMPLES}
                    self._round(seed + again, {**off, "fuzzing": {"generation": valid}}, missed)

    def got_through(self) -> Counter[str]:
        """How often each operation did what it is for."""
        through = Counter({operation: 0 for operation, _ in self.answers})
        for (operation, status), times in self.answers.items():
            through[operation] += times * (status < 300 or operation in _NOT_HERE.get(status, ()))
        return through

    def statuses(self, of: str | None = None) -> str:
        """How often each status was answered, by all operations or one."""
        counted = Counter[int]()
        for (operation, status), times in self.answers.items():
            counted[status] += times * (of in (None, operation))
        return ", ".join(f"{times} x {status}" for status, times in sorted(counted.items()) if times)

    def _round(self, seed: int, phases: _Json, only: Sequence[str] = ()) -> None:
        """Send the requests of some phases, to all operations or to `only` these, such as "GET /api/me"."""
        # Two workers ask for two exports at a time, of which one is refused: few requests may all be.
        settings = _settings(seed, phases, workers=1 if self._is_small else WORKERS)
        schema = schemathesis.openapi.from_url(
            f"{self._address}/openapi.json", config=SchemathesisConfig.from_dict(settings)
        )
        if not only:
            self.operations = schema.statistic.operations.total
        for event in from_schema(schema.include(name=list(only)) if only else schema).execute():
            match event:
                case events.ScenarioFinished(recorder=recorder):
                    self._take(recorder)
                case events.NonFatalError(value=Flaky()):
                    # An example came out differently a second time. What was sent is recorded above.
                    pass
                case events.NonFatalError(label=label, info=info):
                    self._tally.expect(UNANSWERED, False, f"{label}: {info.title}: {info.message}")

    def _take(self, recorder: ScenarioRecorder) -> None:
        for case_id, interaction in recorder.interactions.items():
            operation = recorder.cases[case_id].value.operation.label
            answered = interaction.response is not None
            self._tally.expect(UNANSWERED, answered, operation)
            if interaction.response is not None:
                self.answers[operation, interaction.response.status_code] += 1
            self.sent += 1
            self._advance()
        for case_id, nodes in recorder.checks.items():
            for node in nodes:
                failed = node.failure_info
                finding = f"{failed.failure.message}\n{failed.code_sample}" if failed else ""
                fine = (
                    failed is None
                    or (
                        _CHECKS[node.name] == ACCEPTED and _is_a_file_after_all(recorder.cases[case_id].value)
                    )
                    or (node.name == "response_schema_conformance" and _is_stream(recorder, case_id))
                )
                self._tally.expect(_CHECKS[node.name], fine, f"{recorder.label}: {finding}")


def _is_stream(recorder: ScenarioRecorder, case_id: str) -> bool:
    """Whether the response is a stream of events: the document calls it a text, `streams_end` reads it."""
    response = recorder.interactions[case_id].response
    return response is not None and response.headers["content-type"][0].startswith("text/event-stream")


def _is_a_file_after_all(case: "Case[Any]") -> bool:
    """Whether all that is wrong is the type of a file's content: on the wire every type is bytes."""
    assert case.meta is not None
    wrong = [place.value for place, part in case.meta.components.items() if part.mode.is_negative]
    return case.media_type == "multipart/form-data" and wrong == ["body"] and _has_file(case.body)


def _has_file(body: object) -> bool:
    return isinstance(body, dict) and bool(body.get("file"))


def _settings(seed: int, phases: _Json, workers: int) -> _Json:
    """How requests are made up. Whether valid ones are accepted is not asked: the document cannot say
    which names exist, and the campaign sees to it that every operation succeeds often enough."""
    return {
        "seed": seed,
        "cache": {"enabled": False},
        "workers": workers,
        "continue-on-failure": True,
        "request-timeout": ANSWER_SECONDS,
        "max-stream-events": MOST_EVENTS,
        "generation": {"mode": "all", "database": "none", "no-shrink": True},
        "phases": phases,
        "checks": {
            "enabled": False,
            **{name: {"enabled": True} for name in _CHECKS},
            "not_a_server_error": {"enabled": True, "expected-statuses": PLANNED},
            "negative_data_rejection": {"enabled": True, "expected-statuses": REJECTED},
        },
    }


def campaign(
    folder: Path,
    cases: int,
    console: Console,
    *,
    seed: int = 1,
    command: Sequence[str] = INSTANCE,
    small: bool = False,
) -> Verdict:
    """Send so many requests to the product. `command` starts its API: a test plants bugs through another.

    `small`: all but the API runs in this process, and each kind of generated request is sent once.
    """
    tally = Tally((*dict.fromkeys(_CHECKS.values()), UNANSWERED, UNREACHED))
    with ExitStack() as stack:
        model_url = stack.enter_context(scripted_model())
        system = stack.enter_context((product_here if small else product)(folder, model_url))
        api = stack.enter_context(instance(system, command))
        address = f"{api.address}/api"
        seed_data = SeedData(stack.enter_context(httpx.Client(base_url=address, timeout=ANSWER_SECONDS)))
        seed_data.create()
        advance = stack.enter_context(steps(console))("requests", cases)
        fuzzer = Fuzzer(address, seed_data, tally, advance, is_small=small)
        fuzzer.run(cases, seed)
    through = {each: n for each, n in fuzzer.got_through().items() if not each.endswith(NOT_HERE)}
    for operation, times in through.items():
        tally.expect(UNREACHED, times > 0, f"{operation}: {fuzzer.statuses(operation)}")
    rarest, least = min(through.items(), key=lambda each: each[1])
    figures = [
        ("requests", f"{fuzzer.sent} to {len(through)} operations"),
        ("answers", fuzzer.statuses()),
        ("least often successful", f"{rarest}: {least}"),
    ]
    return Verdict(f"{fuzzer.sent} made-up requests", tally.checks(), figures)


@interrupted_by_sigterm()
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit code is the verdict."""
    parser = argparse.ArgumentParser(prog="python -m resilience.fuzz", description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000, help="how many requests are sent at least")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    console = wide_console()
    with surroundings() as folder:
        return conclude(campaign(folder, given.cases, console, seed=given.seed), console)


if __name__ == "__main__":
    sys.exit(main())
