"""What the configured model makes of first messages and of conversations with talk in them.

`python -m evals.messages PART --output FILE` sends the messages of one part of `messages.jsonl`: 22 first
messages, each without a history, and a conversation of 15 turns. Prompts are chosen on the part `chosen`,
and `reported` and `fresh` count: `fresh` was written after the last change of a prompt. Answers are written
to the file as they come, with their plan and their marks, to be read; the same command goes on with what is
missing.
"""

import argparse
import asyncio
import json
import sys
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from devkit.reports import markdown_table
from orc.cli.ask import CALLER, opened, read_documents
from orc.events import Done, Event, Failed, Plan, Token
from orc.settings import load
from orc.turns.requests import FeatureFlags, TurnRequest
from orc_core.grounding.citations import NO_SUCH_SOURCE, WITHOUT_SOURCE
from orc_core.models import Document

ROOT = Path(__file__).resolve().parents[1]
MESSAGES = ROOT / "evals" / "messages.jsonl"
FOLDERS = (ROOT / "examples", ROOT / "evals" / "unseen" / "test" / "docs")
MARKS = (WITHOUT_SOURCE, NO_SUCH_SOURCE, "is not there]")

Message = dict[str, Any]


async def send(app: Any, document: Document, message: Message) -> Message:
    """The message with its answer, plan, calls and seconds. A first message has no history and no memory."""
    is_first = "conversation" not in message
    request = TurnRequest(
        question=message["message"],
        conversation_id=document.conversation_id,
        history=[] if is_first else None,
        flags=FeatureFlags(memory=False) if is_first else FeatureFlags(),
        stream=True,
        trace_id=uuid.uuid4().hex,
    )
    begun, first, events = time.monotonic(), 0.0, list[Event]()
    log = await app.turn_service.start(request, CALLER)
    async for _, event in log.follow():
        first = first or (time.monotonic() - begun if isinstance(event, Token) else 0.0)
        events.append(event)
    plans = [event for event in events if isinstance(event, Plan)]
    answered = {
        "first_token": round(first, 1),
        "seconds": round(time.monotonic() - begun, 1),
        "plan": plans[0].model_dump(include={"decided_by", "steps", "rewritten_query", "fallback"}),
    }
    match events[-1]:
        case Done(result=result):
            usage = result.metadata.usage
            answer = {
                "answer": result.answer,
                "answer_kind": result.answer_kind,
                "checks": [citation.check for citation in result.citations],
                "calls": usage.model_calls,
                "tokens": [usage.input_tokens, usage.output_tokens],
            }
        case Failed(problem=problem):
            answer = {"answer": f"FAILED: {problem.detail}", "calls": 0, "tokens": [0, 0]}
        case _:
            answer = {"answer": "FAILED", "calls": 0, "tokens": [0, 0]}
    return message | answered | answer


def figures(answered: Sequence[Message]) -> str:
    """A row for each kind of message: how it was planned, how many answers have a mark, calls and seconds."""
    rows = []
    for name in ("first messages", "turns"):
        for kind in ("talk", "documents"):
            some = [
                each
                for each in answered
                if each["kind"] == kind and ("conversation" in each) == (name == "turns")
            ]
            if some:
                marked = sum(any(mark in each["answer"] for mark in MARKS) for each in some)
                looked_up = sum(each["plan"]["steps"] != ["answer"] for each in some)
                failed = sum(each["plan"]["decided_by"] == "fallback" for each in some)
                numbers = [len(some), looked_up, failed, marked, sum(each["calls"] for each in some)]
                waits = sorted(each["first_token"] for each in some)
                rows.append([name, kind, *map(str, numbers), f"{waits[len(waits) // 2]:.1f}"])
    headings = ["", "kind", "asked", "looked up", "plan failed", "marked", "calls", "first token, s"]
    return markdown_table(headings, rows)


async def run(part: str, answered: list[Message], output: Path, err: Console) -> list[Message]:
    """What was answered before, and the rest, which is sent."""
    messages = [json.loads(line) for line in MESSAGES.read_text("utf-8").splitlines()]
    asked = [each for each in messages if each["part"] == part]
    left = [each for each in asked if each["id"] not in {one["id"] for one in answered}]
    if not left:
        return answered
    path = next(folder / left[0]["file"] for folder in FOLDERS if (folder / left[0]["file"]).exists())
    async with opened(load(), "orc-messages", 1) as (app, tools_are_up):
        await tools_are_up()
        places: dict[bool, Document] = {}
        for message in left:
            is_turn = "conversation" in message
            if is_turn not in places:
                owner = CALLER.owner_of(str(uuid.uuid4()))
                [places[is_turn]] = await read_documents(app, owner, {path.name: path}, err)
            answered.append(await send(app, places[is_turn], message))
            with output.open("a", encoding="utf-8") as file:
                file.write(f"{json.dumps(answered[-1], ensure_ascii=False)}\n")
            err.print(f"{message['id']}  {answered[-1]['seconds']} s", highlight=False)
    return answered


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("part", choices=("chosen", "reported", "fresh"))
    parser.add_argument("--output", type=Path, required=True)
    given = parser.parse_args(arguments)
    kept = given.output.read_text("utf-8").splitlines() if given.output.exists() else []
    answered = asyncio.run(run(given.part, list(map(json.loads, kept)), given.output, Console(stderr=True)))
    sys.stdout.write(figures(answered))


if __name__ == "__main__":
    main()
