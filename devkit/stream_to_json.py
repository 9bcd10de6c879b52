"""A turn's stream, folded into what its JSON says: what a reader knows once the stream is over."""

import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from devkit.system import Event

Json = dict[str, Any]

_TIMES = {"timings", "timings_ms", "timeline", "duration_ms"}
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b[0-9a-f]{32}\b")


def shown_text(events: Iterable[Event]) -> str:
    """What a reader of the stream has on screen: the tokens since the last reset or revision."""
    shown = ""
    for _, kind, data in events:
        if kind in ("reset", "revised"):
            shown = data.get("answer", "")
        elif kind == "token":
            shown += data["text"]
    return shown


def fold(events: Iterable[Event]) -> Json:
    """The answer, its sources and how it came about, from the events before the last one."""
    events = list(events)
    folded_json: Json = {"answer": shown_text(events), "citations": [], "metadata": {}}
    metadata, verdicts = folded_json["metadata"], list[Json]()
    for _, kind, data in events:
        match kind:
            case "citations":
                folded_json["citations"] = data["citations"]
            case "route" | "plan":
                metadata[kind] = data
            case "context":
                metadata["context_budget"] = data["budget"]
                metadata["summary_selection"] = data["summary_selection"]
            case "critique":
                verdicts.append({name: value for name, value in data.items() if name != "citations"})
            case "telemetry":
                metadata |= {"usage": data["usage"], "timings_ms": data["timings"], "lazy": data["lazy"]}
    if verdicts:
        earlier = [verdict["action"] for verdict in verdicts[:-1]]
        metadata["critic_summary"] = {**verdicts[-1], "earlier_actions": earlier}
    return folded_json


def common_view(result: Json, folded: Json) -> tuple[Json, Json]:
    """What the result says and what was folded, as far as the stream tells of it."""
    said = {name: result[name] for name in ("answer", "citations")}
    metadata = {name: result["metadata"][name] for name in folded["metadata"]}
    if summary := folded["metadata"].get("critic_summary"):
        metadata["critic_summary"] = {name: result["metadata"]["critic_summary"][name] for name in summary}
    return {**said, "metadata": metadata}, folded


def joined(events: Iterable[Event]) -> list[tuple[str, Json]]:
    """The events as every way of asking has them: without numbers, text in one piece, no tool's progress.

    A tool that streams its answer sends text before it is done, another after that: text follows the tools,
    and what it cites follows the text.
    Tools that work side by side begin and end in any order, here in that of their names.
    """
    kept: list[tuple[str, Json]] = []
    for is_work, together in groupby(events, lambda event: event[1] in ("token", "citation", "tool")):
        if is_work:
            kept += _worked([(kind, data) for _, kind, data in together])
        else:
            kept += [(kind, _with_tools_by_name(data)) for _, kind, data in together]
    return kept


def _with_tools_by_name(data: Json) -> Json:
    if not (steps := data.get("metadata", {}).get("tools")):
        return data
    return {**data, "metadata": {**data["metadata"], "tools": sorted(steps, key=lambda step: step["name"])}}


def _worked(events: Sequence[tuple[str, Json]]) -> list[tuple[str, Json]]:
    tools = [event for event in events if event[0] == "tool" and event[1]["status"] != "progress"]
    text = "".join(data["text"] for kind, data in events if kind == "token")
    tools.sort(key=lambda event: (event[1]["name"], event[1]["status"] != "started"))
    cited = [event for event in events if event[0] == "citation"]
    return [*tools, *([("token", {"text": text})] if text else []), *cited]


def comparable(value: Any) -> Any:
    """A turn without what differs between any two: times, and ids, which are numbered in order."""
    seen: dict[str, str] = {}
    return _without_ids(value, seen)


def _without_ids(value: Any, seen: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {name: None if name in _TIMES else _without_ids(part, seen) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_without_ids(part, seen) for part in value]
    if isinstance(value, str):
        return _UUID.sub(lambda found: seen.setdefault(found[0], f"id-{len(seen)}"), value)
    return value
