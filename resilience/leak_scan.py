"""`python -m resilience.leak_scan`: searches all output for canary secrets and texts.

Once on what is embedded, and once on the emulators of Azure's services, whose keys are secrets too.
Every logger of every process writes all it has to say while turns, uploads and failures happen, and spans
and metrics go there as well. No secret may appear anywhere, and no text of a question or of a document in
a log.
"""

import argparse
import os
import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from rich.console import Console

from bench.deployment import ROOT
from devkit.azure.services import azure_services
from devkit.system import interrupted_by_sigterm
from resilience.checks import Tally
from resilience.deployment import product, scripted_model, surroundings
from resilience.leak_scenarios import ACTS, Play, new_canaries
from resilience.report import Verdict, conclude, steps, wide_console
from resilience.verbose_logging import FOLDER

TOKEN_LIKE = re.compile(rb"\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{10,}")
"""A signed token, as scope tokens are."""
AROUND = 60

LOGGED_SECRETS = "secrets in a log"
LOGGED_TEXTS = "texts of questions and documents in a log"
OUTPUT_SECRETS = "secrets in an answer, an error or a command's output"


def sightings(content: bytes, canaries: Sequence[str]) -> list[str]:
    """Where these stand in it, with what is around them."""
    found = []
    for canary in canaries:
        for place in re.finditer(re.escape(canary.encode()), content):
            before = content[max(0, place.start() - 2 * AROUND) : place.start() + AROUND]
            found.append(before.decode(errors="replace"))
    return found


def _check(tally: Tally, name: str, content: bytes, canaries: Sequence[str]) -> None:
    found = sightings(content, canaries)
    tally.expect(name, not found, lambda: f"{len(found)} times, first: {found[0]}")


def campaign(
    folder: Path,
    console: Console,
    *,
    services: Mapping[str, str] | None = None,
    first: int | None = None,
    plant: Path | None = None,
) -> Verdict:
    """Act, then search. `services` name those to use instead of what is embedded.

    For tests: only the `first` acts, and the folder of a bug for every process.
    """
    tally = Tally((ACTS, LOGGED_SECRETS, LOGGED_TEXTS, OUTPUT_SECRETS))
    canaries = new_canaries(services or {})
    places = [str(place) for place in (plant, FOLDER, ROOT) if place is not None]
    with ExitStack() as stack:
        model_url = stack.enter_context(scripted_model())
        surroundings = {
            "PYTHONPATH": os.pathsep.join(places),
            "ORC_ADVANCED": '{"model_retries": 1}',
            "ORC_TELEMETRY_EXPORTERS": "console",
        }
        system = stack.enter_context(product(folder, model_url, **{**canaries.settings, **surroundings}))
        play = Play(system, model_url, canaries, tally)
        acts = play.acts()[:first]
        advance = stack.enter_context(steps(console))("acts", len(acts))
        for act in acts:
            act()
            advance()
    logs = {path: path.read_bytes() for path in sorted(folder.rglob("*.log"))}
    for content in logs.values():
        _check(tally, LOGGED_SECRETS, content, canaries.secrets)
        tokens = [token.decode() for token in TOKEN_LIKE.findall(content)]
        _check(tally, LOGGED_SECRETS, content, tokens + play.signatures)
        _check(tally, LOGGED_TEXTS, content, canaries.texts)
    for output in play.outputs:
        _check(tally, OUTPUT_SECRETS, output.encode(), canaries.secrets)
    lines = sum(content.count(b"\n") for content in logs.values())
    loud = sum(content.count(b"DEBUG ") for content in logs.values())
    tally.expect(ACTS, loud > 0, "no process writes at the level DEBUG")
    spans = sum(content.count(b'"trace_id": "0x') for content in logs.values())
    tally.expect(ACTS, spans > 0, "no process writes spans")
    figures = [
        ("log", f"{lines} lines, {loud} of them at DEBUG; {spans} spans"),
        ("answers", str(len(play.outputs))),
    ]
    return Verdict(f"Canaries, {'on Azure' if services else 'embedded'}", tally.checks(), figures)


@interrupted_by_sigterm()
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit code is the verdict."""
    argparse.ArgumentParser(prog="python -m resilience.leak_scan", description=__doc__).parse_args(arguments)
    console = wide_console()
    with surroundings() as folder, azure_services() as services:
        here = conclude(campaign(folder / "here", console), console)
        there = conclude(campaign(folder / "azure", console, services=services), console)
        return max(here, there)


if __name__ == "__main__":
    sys.exit(main())
