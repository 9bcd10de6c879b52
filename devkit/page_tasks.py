"""How long the tasks of a page take, in processor time: what else the machine does is not counted."""

import json
from collections.abc import Iterable
from typing import Any

from devkit.browser import Page

OPEN_STREAM = """
(() => {
  const send = window.fetch;
  window.fetch = async (address, init) => {
    const response = await send(address, init);
    if (!/conversations\\/[^/]+\\/events$/.test(String(address))) return response;
    const open = new TransformStream({ start: (stream) => { window.stream = stream; } });
    return new Response(response.body.pipeThrough(open));
  };
})()
"""
"""For new documents: into the events of a conversation others can be put."""

_CATEGORIES = "toplevel,disabled-by-default-devtools.timeline,__metadata"
_TASKS = {"RunTask", "ThreadControllerImpl::RunTask"}
_MAIN = "CrRendererMain"


def enqueued(events: Iterable[tuple[str, Any]]) -> str:
    """The script that puts these events, by kind and data, into the open stream at once."""
    text = "".join(f"event: {kind}\ndata: {json.dumps(data)}\n\n" for kind, data in events)
    return f"stream.enqueue(new TextEncoder().encode({json.dumps(text)}))"


async def watch(page: Page) -> None:
    """Note all tasks from now on."""
    page.traced.clear()
    page.traced_all.clear()
    config = {"includedCategories": _CATEGORIES.split(","), "excludedCategories": ["*"]}
    await page.call("Tracing.start", transferMode="ReportEvents", traceConfig=config)


async def longest(page: Page) -> list[float]:
    """The milliseconds of processor time of all tasks since, on the threads that draw, the longest first."""
    await page.call("Tracing.end")
    await page.traced_all.wait()
    named = [each for each in page.traced if each.get("name") == "thread_name"]
    main = {_thread(each) for each in named if each["args"]["name"] == _MAIN}
    tasks = [each for each in page.traced if each.get("name") in _TASKS and _thread(each) in main]
    return sorted((each.get("tdur", 0) / 1000 for each in tasks), reverse=True)


def _thread(event: dict[str, Any]) -> tuple[int, int]:
    return event["pid"], event["tid"]
