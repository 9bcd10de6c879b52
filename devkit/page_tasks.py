"""How long the tasks of a page take, in processor time: what else the machine does is not counted."""

from typing import Any

from devkit.browser import Page

_CATEGORIES = "toplevel,disabled-by-default-devtools.timeline,__metadata"
_TASKS = {"RunTask", "ThreadControllerImpl::RunTask"}
_MAIN = "CrRendererMain"


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
