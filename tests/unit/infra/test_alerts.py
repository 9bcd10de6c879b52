"""Queries of alerts and of the runbook name what the product sends, so that a renamed metric is found."""

import ast
import asyncio
import re
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx2
import openai
import pytest
from azure.core.exceptions import HttpResponseError
from azure.monitor.opentelemetry.exporter import AzureMonitorMetricExporter, AzureMonitorTraceExporter
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from devkit.doubles.application_insights import ingesting
from devkit.fakes_documents import open_document_side
from devkit.recorded_telemetry import Recorded
from devkit.shared_data import ROOT
from orc.api.middleware import TraceIds
from orc.events import Failed
from orc.problems import problem_of
from orc.tools.mcp_client import McpToolGateway
from orc.turns.spans import begin_turn_span, observe
from orc_core.errors import DeadlineExceeded, DependencyDown
from orc_core.infra.azure import error_translator
from orc_core.infra.resilience import CircuitBreaker
from orc_core.infra.telemetry.calls import Model
from orc_core.infra.telemetry.spans import span
from orc_core.llm.openai_errors import translate
from orc_core.models import Usage
from tests.unit.orc.turns.test_spans import TURN, ending

pytestmark = pytest.mark.slow

PRODUCT = [file for package in ("orc", "orc_core", "mcp_server") for file in (ROOT / package).rglob("*.py")]
QUERIES = {file.name: file.read_text() for file in (ROOT / "infra" / "queries").glob("*.kql")}
ALERTS = (ROOT / "infra" / "modules" / "alerts.bicep").read_text()
RUNBOOK = (ROOT / "docs" / "operations.md").read_text()
RULE = re.compile(
    r"\{ name: '([\w-]+)', .* measure: '(\w+)', .*loadTextContent\('\.\./queries/([\w-]+\.kql)'\)"
)
NAME = re.compile(r'\bName (?:==|startswith|in) (\(.+?\)|"[^"]+")')
CODE = re.compile(r'Properties\["(?:error\.type|orc\.error)"\]\) (?:==|in) (\(.+?\)|"[^"]+")')


def quoted(text: str) -> list[str]:
    return re.findall(r'"([^"]+)"', text)


TABLES = {"MetricData": "AppMetrics", "RemoteDependencyData": "AppDependencies", "RequestData": "AppRequests"}
"""The table of a workspace for each kind of item that Application Insights takes."""
SERVICES = quoted(NAME.findall(QUERIES["busy-services.kql"])[0])
"""All of them fail in the same way, so one is tried."""
Sent = dict[str, dict[str, set[str]]]
"""The fields of each metric or span, by its table."""


@pytest.fixture
async def sent(recorded: Recorded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sent:
    """What arrives at Application Insights of a product in which everything fails."""
    for reports in ("STATSBEAT_DISABLED_ALL", "SDKSTATS_DISABLED", "CONTROLPLANE_DISABLED"):
        monkeypatch.setenv(f"APPLICATIONINSIGHTS_{reports}", "true")
    await everything_fails(tmp_path)
    metrics = recorded.reader.get_metrics_data()
    assert metrics is not None
    with ingesting() as (where, received):
        options: dict[str, Any] = {"connection_string": where, "disable_offline_storage": True}
        measured, traced = AzureMonitorMetricExporter(**options), AzureMonitorTraceExporter(**options)
        await asyncio.to_thread(measured.export, metrics)
        await asyncio.to_thread(traced.export, recorded.spans)
        measured.shutdown()
        traced.shutdown()
    found: Sent = defaultdict(lambda: defaultdict(set))
    for item in received:
        kind, data = item["data"]["baseType"], item["data"]["baseData"]
        name = data["metrics"][0]["name"] if kind == "MetricData" else data["name"]
        found[TABLES.get(kind, kind)][name] |= {*data.get("properties", ()), data.get("responseCode", "")}
    return found


async def everything_fails(folder: Path) -> None:
    """A question, a request, calls of a model, a store and a tool; and a worker looks for documents."""
    await observe(begin_turn_span(TURN), ending(Failed(problem=problem_of(DeadlineExceeded("Late."), "t"))))
    await TraceIds(broken, prefixes=())(SCOPE, receive, ignore)
    with span("a turn"):
        refused = openai.RateLimitError("busy", response=httpx2_reply(429), body=None)
        with pytest.raises(DependencyDown), Model("gpt").call() as call:
            call.used(Usage(input_tokens=3, output_tokens=1))
            raise translate(refused) or refused
        breaker = CircuitBreaker("store", error_translator("store", "Cosmos DB"))
        with pytest.raises(DependencyDown):
            await breaker.call_once(throttled)
        gateway = McpToolGateway("http://127.0.0.1:9/mcp", timeout_seconds=1)
        with pytest.raises(DependencyDown):
            await gateway.call("document_chat", {}, "token")
        await gateway.close()
    async with open_document_side(folder) as side:
        await side.worker.sweep()


SCOPE: Scope = {
    "type": "http",
    "method": "POST",
    "path": "/api/orc",
    "headers": [],
    "route": SimpleNamespace(path="/api/orc"),
}


async def broken(scope: Scope, receive: Receive, send: Send) -> None:
    await Response(status_code=503)(scope, receive, send)


async def receive() -> dict[str, str]:
    return {"type": "http.request"}


async def ignore(message: object) -> None:
    return None


def httpx2_reply(status: int) -> Any:
    return httpx2.Response(status, request=httpx2.Request("POST", "http://127.0.0.1/"))


async def throttled() -> None:
    raise HttpResponseError("slower", response=SimpleNamespace(status_code=429, reason=""))


def constants() -> set[str]:
    """All texts in the code of the product, the beginnings of formatted ones included."""
    trees = (ast.parse(file.read_text()) for file in PRODUCT)
    nodes = (node for tree in trees for node in ast.walk(tree))
    return {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}


async def test_queries_name_metrics_and_spans_with_the_fields_that_are_sent(sent: Sent) -> None:
    sent["AppDependencies"] |= dict.fromkeys(SERVICES, sent["AppDependencies"]["store"])
    compared = 0
    for file, query in QUERIES.items():
        [table, *_] = re.findall(r"^(App\w+)$", query, re.MULTILINE) or [""]
        for name in (each for names in NAME.findall(query) for each in quoted(names)):
            fields = [keys for known, keys in sent[table].items() if known.split(" ")[0] == name]
            assert fields, f"{file}: {table} has no {name}"
            asked = set(re.findall(r'Properties\["([^"]+)"\]', query))
            missing = asked.difference(*fields)
            assert not missing, f"{file}: {name} has no {missing}"
            compared += 1
    assert compared >= 9


async def test_a_request_that_fails_is_sent_with_its_route_and_status(sent: Sent) -> None:
    assert "503" in sent["AppRequests"]["POST /api/orc"]
    assert "toint(ResultCode) >= 500" in QUERIES["server-errors.kql"]


def test_codes_and_messages_in_queries_are_those_of_the_code() -> None:
    texts = constants()
    codes = {code for query in QUERIES.values() for found in CODE.findall(query) for code in quoted(found)}
    assert len(codes) >= 5
    assert codes - texts == set()
    for query in QUERIES.values():
        for message in re.findall(r'Message startswith "([^"]+)"', query):
            assert any(text.startswith(message) for text in texts), message
    table = RUNBOOK.split("### Codes of failed questions")[1].split("\n###")[0]
    explained = {
        code for row in re.findall(r"^\| (`.+?) \|", table, re.M) for code in re.findall(r"`(\w+)`", row)
    }
    assert len(explained) >= 15
    assert explained - texts == set()
    roles = {role for query in QUERIES.values() for role in re.findall(r'AppRoleName == "([^"]+)"', query)}
    assert roles
    assert roles <= texts


def test_services_in_queries_are_names_of_circuits() -> None:
    code = "".join(file.read_text() for file in PRODUCT)
    constants = dict(re.findall(r'^([A-Z_]+) = "(\w+)"$', code, re.MULTILINE))
    circuits = {constants.get(name, name) for name in re.findall(r'CircuitBreaker\("?(\w+)', code)}
    assert set(SERVICES) <= circuits


def test_each_rule_sums_a_column_of_its_query_and_is_explained_to_the_person_on_duty() -> None:
    rules = RULE.findall(ALERTS)
    assert len(rules) == ALERTS.count("measure: '")
    for name, measure, file in rules:
        assert re.search(rf"summarize (?:.*, )?{measure} = ", QUERIES[file]), name
        assert f"\n| `{name}` |" in RUNBOOK, name
    assert "| `throttled-cosmos` |" in RUNBOOK


def test_each_query_is_linked_from_the_runbook_and_no_other_is_loaded() -> None:
    assert set(re.findall(r"\.\./infra/queries/([\w-]+\.kql)", RUNBOOK)) == set(QUERIES)
    assert set(re.findall(r"queries/([\w-]+\.kql)'", ALERTS)) <= set(QUERIES)
