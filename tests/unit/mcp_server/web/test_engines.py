"""Both search engines against a double of their APIs: what they find, and how they fail."""

import asyncio
import json
import logging
import socket
import time
from collections.abc import AsyncIterator, Callable, Iterator

import httpx2
import pytest
from pydantic import SecretStr

from devkit.doubles.web_search_double import (
    ENGINE_ID,
    KEY,
    Failure,
    WebSearchDouble,
    WebSearchTarget,
    brave_error,
    google_error,
    serving,
)
from mcp_server.tools.web_search import WebSearchTool
from mcp_server.web.engines import MOST_BYTES, BraveSearch, GoogleSearch
from mcp_server.web.ports import MOST_CHARACTERS, MOST_PAGES, WebPage, WebSearch
from orc_core.errors import DependencyDown
from orc_core.infra.resilience import FAILURES_IN_A_ROW, CircuitOpen

SECONDS = 5.0
PAGES = [
    WebPage(title="The quay", url="https://quay.example/", text="The quay opens at seven."),
    WebPage(title="The mole", url="https://mole.example/a", text="The mole never closes."),
]
Build = Callable[..., WebSearch]


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[WebSearchDouble, WebSearchTarget]]:
    double = WebSearchDouble()
    with serving(double) as target:
        yield double, target


@pytest.fixture
def double(served: tuple[WebSearchDouble, WebSearchTarget]) -> WebSearchDouble:
    double, _ = served
    double.start_over(*PAGES)
    return double


@pytest.fixture
async def client() -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(timeout=SECONDS) as client:
        yield client


@pytest.fixture(params=["google", "brave"])
def build(
    request: pytest.FixtureRequest,
    served: tuple[WebSearchDouble, WebSearchTarget],
    client: httpx2.AsyncClient,
) -> Build:
    """Makes an engine of either kind."""

    def made(*, key: str = KEY, seconds: float = SECONDS, url: str = served[1].url) -> WebSearch:
        if request.param == "google":
            return GoogleSearch(
                client, f"{url}/google", key=SecretStr(key), engine_id=ENGINE_ID, seconds=seconds
            )
        return BraveSearch(client, f"{url}/brave", key=SecretStr(key), seconds=seconds)

    return made


async def failure(engine: WebSearch) -> DependencyDown:
    """How a search of this engine fails."""
    with pytest.raises(DependencyDown) as failed:
        await engine.search("quay", 5)
    assert failed.value.dependency == "web_search"
    assert KEY not in failed.value.message
    return failed.value


async def test_pages_come_as_the_engine_ranks_them_and_as_many_as_asked_for(
    build: Build, double: WebSearchDouble
) -> None:
    engine = build()
    assert await engine.search("quay", 5) == PAGES
    assert await engine.search("quay", 1) == PAGES[:1]
    assert [asked["q"] for _, asked in double.asked] == ["quay", "quay"]


async def test_finding_nothing_is_no_failure(build: Build, double: WebSearchDouble) -> None:
    double.pages = []
    assert await build().search("quay", 5) == []


async def test_the_longest_query_and_most_pages_are_taken(build: Build, double: WebSearchDouble) -> None:
    query = "&" * MOST_CHARACTERS
    assert await build().search(query, MOST_PAGES) == PAGES
    assert double.asked[0][1]["q"] == query


async def test_a_key_that_is_refused_names_the_setting_and_is_not_tried_again(
    build: Build, double: WebSearchDouble
) -> None:
    down = await failure(build(key="another"))
    assert (down.code, down.retryable) == ("web_search_auth", False)
    assert "_SEARCH_KEY" in down.message
    assert len(double.asked) == 1


CLOSED = "This project does not have the access to Custom Search JSON API."
PER_DAY = "Quota exceeded for quota metric 'Queries' and limit 'Queries per day'"
REFUSALS = [
    ("google", google_error(403, CLOSED, "forbidden"), "web_search_auth"),
    ("google", google_error(429, PER_DAY, "rateLimitExceeded"), "web_search_quota"),
    ("google", google_error(403, "Daily Limit Exceeded", "dailyLimitExceeded"), "web_search_quota"),
    ("google", Failure(404, b"<html>not here</html>"), "web_search_refused"),
    ("brave", brave_error(429, "QUOTA_LIMITED"), "web_search_quota"),
    ("brave", brave_error(402, "PAYMENT_REQUIRED"), "web_search_quota"),
    ("brave", brave_error(404, "SUBSCRIPTION_NOT_FOUND"), "web_search_auth"),
    ("brave", Failure(422, b'{"errors": [{"code": "SUBSCRIPTION_TOKEN_INVALID"}]}'), "web_search_auth"),
    ("brave", brave_error(422, "VALIDATION"), "web_search_refused"),
    ("brave", Failure(301, b""), "web_search_refused"),
    ("brave", brave_error(429, "RATE_LIMITED"), "web_search_busy"),
    ("google", google_error(429, "... limit 'Queries per minute'", "rateLimitExceeded"), "web_search_busy"),
]  # fmt: skip


@pytest.mark.parametrize(("build", "refusal", "code"), REFUSALS, indirect=["build"])
async def test_permanent_failure_is_not_retried(
    build: Build, refusal: Failure, code: str, double: WebSearchDouble
) -> None:
    double.failures = [Failure(refusal.status, refusal.body)]
    down = await failure(build())
    assert (down.code, down.retryable) == (code, False)
    assert len(double.asked) == 1


@pytest.mark.parametrize(
    ("build", "brief"),
    [
        ("google", google_error(503, "Backend Error", "backendError")),
        ("google", Failure(200, None)),
        ("brave", Failure(500, b"oops")),
    ],
    indirect=["build"],
)
async def test_temporary_failure_is_retried(build: Build, brief: Failure, double: WebSearchDouble) -> None:
    double.failures = [Failure(brief.status, brief.body, times=2)]
    assert await build().search("quay", 5) == PAGES
    assert len(double.asked) == 3


async def test_a_busy_engine_is_not_taken_to_be_down(build: Build, double: WebSearchDouble) -> None:
    engine = build()
    double.failures = [Failure(429, b"{}", times=FAILURES_IN_A_ROW)]
    for _ in range(FAILURES_IN_A_ROW):
        assert "at the moment" in (await failure(engine)).message
    assert await engine.search("quay", 5) == PAGES


ODD = {"title": None, "url": "https://odd.example/", "link": "https://odd.example/", "snippet": None}
RESULTS = [
    ODD,
    {"title": 5, "url": [], "link": []},
    "no result",
    {
        "title": "Q",
        "url": "https://quay.example/",
        "link": "https://quay.example/",
        "description": "At seven.",
        "snippet": "At seven.",
        "extra_snippets": [None, "At seven."],
    },
]


async def test_unreadable_result_is_left_out_alone(build: Build, double: WebSearchDouble) -> None:
    kinds = {"kind": "customsearch#search", "type": "search"}
    double.failures = [
        Failure(200, json.dumps({**kinds, "items": RESULTS, "web": {"results": RESULTS}}).encode()),
        Failure(200, json.dumps({**kinds, "items": None, "web": None}).encode()),
    ]
    engine = build()
    found = await WebSearchTool(engine).search("quay", 5)
    assert [(page.title, page.text) for page in found.results] == [("Q", "At seven.")]
    assert found.left_out == 3
    assert await engine.search("quay", 5) == []


ENDLESS = b'{"kind": "customsearch#search", "type": "search"' + b" " * 2 * MOST_BYTES + b"}"


@pytest.mark.parametrize("body", [b"<html>hello</html>", b"", b"[]", b"{}", b'{"items": 5}', ENDLESS])
async def test_an_answer_that_is_no_result_is_a_failure_and_costs_one_search(
    build: Build, body: bytes, double: WebSearchDouble
) -> None:
    double.failures = [Failure(200, body)]
    down = await failure(build())
    assert down.retryable
    assert len(double.asked) == 1


@pytest.mark.slow
async def test_a_search_ends_in_its_time_whatever_the_engine_does(
    build: Build, double: WebSearchDouble
) -> None:
    double.delay = 3.0
    started = time.perf_counter()
    down = await failure(build(seconds=0.4))
    assert down.retryable
    assert "in time" in down.message
    assert time.perf_counter() - started < 2.0


@pytest.mark.slow
async def test_hanging_engine_opens_the_circuit(build: Build, double: WebSearchDouble) -> None:
    double.delay = 3.0
    engine = build(seconds=1.0)
    await asyncio.gather(*(failure(engine) for _ in range(FAILURES_IN_A_ROW)))
    assert isinstance(await failure(engine), CircuitOpen)


@pytest.mark.slow
async def test_unreachable_engine_fails_in_time(build: Build, double: WebSearchDouble) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    assert (await failure(build(url=f"http://127.0.0.1:{port}", seconds=1.0))).retryable


async def test_a_plan_without_further_snippets_still_searches(
    client: httpx2.AsyncClient, double: WebSearchDouble, served: tuple[WebSearchDouble, WebSearchTarget]
) -> None:
    engine = BraveSearch(client, f"{served[1].url}/brave", key=SecretStr(KEY), seconds=SECONDS)
    double.pages = [WebPage(title="T", url="https://quay.example/", text="One.\nTwo.\nTwo.")]
    assert [page.text for page in await engine.search("quay", 5)] == ["One.\nTwo."]
    double.plan_has_snippets = False
    assert [page.text for page in await engine.search("quay", 5)] == ["One."]
    assert [page.text for page in await engine.search("quay", 5)] == ["One."]
    assert len(double.asked) == 4


async def test_what_brave_marks_up_becomes_text(
    client: httpx2.AsyncClient, double: WebSearchDouble, served: tuple[WebSearchDouble, WebSearchTarget]
) -> None:
    engine = BraveSearch(client, f"{served[1].url}/brave", key=SecretStr(KEY), seconds=SECONDS)
    text = "The <strong>fee</strong> &amp; tax: 5&nbsp;&lt; 6<script>steal()</script>"
    double.pages = [WebPage(title="Fees &#39;25", url="https://quay.example/", text=text)]
    [page] = await engine.search("fee", 5)
    assert (page.title, page.text) == ("Fees '25", "The fee & tax: 5 < 6")


async def test_no_key_is_in_what_vendors_log_as_warnings(
    build: Build, double: WebSearchDouble, caplog: pytest.LogCaptureFixture
) -> None:
    """httpx2 writes whole addresses below the level that `keep_content_out` leaves on."""
    double.failures = [Failure(200, b"no json"), Failure(503, b"", times=99)]
    with caplog.at_level(logging.WARNING):
        engine = build(seconds=0.5)
        await failure(engine)
        await asyncio.gather(failure(engine), failure(engine))
    assert KEY not in caplog.text
