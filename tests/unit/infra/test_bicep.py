"""The templates fit each other, the code and the promise of no shared keys."""

import base64
import json
import re
from pathlib import Path

import pytest
import yaml
from tree_sitter import Node

import mcp_server.settings
import orc.settings
from devkit.shared_data import ROOT
from orc_core.infra.settings import CoreSettings
from orc_core.storage.cosmos.items import (
    CONTAINERS,
    EXPIRING_WHERE_ITEMS_SAY_SO,
    OWNER_KEY,
    ContainerDefinition,
)
from scripts.describe_settings import variables
from tests.unit.infra.bicep import find, keys, outputs, parameters, parse, text, value
from tests.unit.infra.bicep_types import definitions

MAIN = ROOT / "infra" / "main.bicep"
FILES = sorted((ROOT / "infra").rglob("*.bicep"))
MODULES = [(path, node) for path in FILES for node in find(parse(path), "module_declaration")]
OF_THE_HOST = re.compile(
    r"AzureWebJobsStorage__|ORC_QUEUE__|APPLICATIONINSIGHTS_AUTHENTICATION_STRING|AZURE_CLIENT_ID$"
)
ROLES = {
    "blobContributor": "ba92f5b4-2d11-453d-a403-e96b0029c9fe",
    "blobDelegator": "db58b8e5-c6ad-4a2a-8342-4190687cbf4a",
    "tableContributor": "0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3",
    "blobOwner": "b7e6dc6d-f1e8-4753-8033-0f276bb0955b",
    "queueContributor": "974c5e8b-45b9-4653-ba55-5f855dd0fb88",
    "queueSender": "c6a89b2d-59bc-44d0-9896-0f6e12d7b80a",
    "indexContributor": "8ebe5a00-799e-43f5-93ac-243d3dce84a7",
    "serviceContributor": "7ca78c08-252a-4471-8644-bb5ff32d4ba0",
    "openAiUser": "5e0bd9bd-7b93-4f28-af87-19fc36ad61bd",
    "openAiContributor": "a001fd3d-188f-4b5d-821b-7da978bf7442",
    "secretsUser": "4633458b-17de-408a-b874-0445c86b69e6",
    "metricsPublisher": "3913510d-42f4-4e42-8a64-420c390055eb",
    "acrPull": "7f951dda-4ed3-4680-a7ca-43fe172d538d",
}
GUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
KEYS = re.compile(r"listKeys|listAdminKeys|listAccountSas|connectionStrings|AccountKey|adminPassword", re.I)


def source(module: str) -> str:
    return (ROOT / "infra" / "modules" / f"{module}.bicep").read_text()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_file_can_be_parsed(path: Path) -> None:
    assert not parse(path).has_error


def file_of(path: Path, module: Node) -> Path:
    """The file of a module that this file calls."""
    return path.parent / text(module.named_children[1]).strip("'")


@pytest.mark.parametrize(("path", "module"), MODULES, ids=lambda each: getattr(each, "stem", "module"))
def test_a_module_is_given_what_it_asks_for(path: Path, module: Node) -> None:
    file = file_of(path, module)
    body = next(find(module, "object"))
    given, asked = set(keys(value(body, "params"))), parameters(file)
    assert given <= set(asked), "unknown parameters"
    assert {name for name, required in asked.items() if required} <= given, "missing parameters"


def test_outputs_that_are_used_are_there() -> None:
    files = {text(module.named_children[0]): file_of(path, module) for path, module in MODULES}
    used = re.findall(r"(\w+)!?\.outputs\.(\w+)", MAIN.read_text())
    assert used
    assert [(module, name) for module, name in used if name not in outputs(files[module])] == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_names_that_are_used_are_declared(path: Path) -> None:
    declarations = (
        "parameter_declaration",
        "variable_declaration",
        "resource_declaration",
        "module_declaration",
    )
    declared = {text(node.named_children[0]) for kind in declarations for node in find(parse(path), kind)}
    used = set(re.findall(r"\$\{(\w+)[.}]", path.read_text()))
    assert used - declared - {"each", "newGuid", "environment"} == set()


def test_nothing_reads_or_allows_a_key() -> None:
    assert [path.name for path in FILES if KEYS.search(path.read_text())] == []
    for module, switch in (
        ("cosmos", "disableLocalAuth: true"),
        ("search", "disableLocalAuth: true"),
        ("models", "disableLocalAuth: true"),
        ("monitoring", "DisableLocalAuth: true"),
        ("tools", "adminUserEnabled: false"),
    ):
        assert switch in source(module), module
    assert source("storage").count("allowSharedKeyAccess: false") == source("storage").count(
        "kind: 'StorageV2'"
    )


def test_no_password_can_publish_code() -> None:
    policy = re.compile(
        r"'basicPublishingCredentialsPolicies' = \{\s+name: '(\w+)'\s+properties: \{ allow: (\w+) \}"
    )
    assert sorted(policy.findall(source("api"))) == [("ftp", "false"), ("scm", "false")]


def test_roles_are_the_least_that_the_code_needs_and_are_what_they_are_called() -> None:
    named: dict[str, str] = {}
    for path in FILES:
        named.update(re.findall(rf"var (\w+) = '({GUID.pattern})'", path.read_text()))
    assert named == ROLES


CONTAINER = re.compile(
    r"name: '(\w+)', paths: (owner|\[.*?\]), expires: (\w+), indexed: (asked|\[.*?\]), unindexed: (\[.*?\]) }"
)


def test_the_containers_are_those_of_the_code() -> None:
    (asked,) = re.findall(r"var asked = (.*)", source("cosmos"))
    templates = [
        ContainerDefinition(
            name,
            OWNER_KEY if paths == "owner" else _strings(paths),
            default_ttl=EXPIRING_WHERE_ITEMS_SAY_SO if expires == "true" else None,
            indexed=_strings(asked if indexed == "asked" else indexed),
            unindexed=_strings(unindexed),
        )
        for name, paths, expires, indexed, unindexed in CONTAINER.findall(source("cosmos"))
    ]
    assert tuple(templates) == CONTAINERS
    assert _strings(re.findall(r"var owner = (.*)", source("cosmos"))[0]) == OWNER_KEY


def _strings(literal: str) -> tuple[str, ...]:
    return tuple(re.findall(r"'([^']+)'", literal))


def test_settings_that_are_given_exist() -> None:
    known = {
        name
        for kind in (CoreSettings, orc.settings.Settings, mcp_server.settings.Settings)
        for name in variables(kind)
    }
    given = set(
        re.findall(r"\b((?:ORC|AZURE|APPLICATIONINSIGHTS|MCP|MAX)_\w+): ", MAIN.read_text() + source("api"))
    )
    given |= set(re.findall(r"name: '([A-Z_]+)', (?:value|secretRef)", source("tools")))
    assert {"AZURE_COSMOS_ENDPOINT", "ORC_SCOPE_SIGNING_KEY", "ORC_MCP_PUBLIC_URL"} <= given
    assert {name for name in given - known if not OF_THE_HOST.match(name)} == set()


def test_both_halves_export_what_they_trace_as_the_identities_that_may() -> None:
    (shared,) = re.findall(r"var own = \{(.*?)\n\}", MAIN.read_text(), re.DOTALL)
    assert "ORC_TELEMETRY_EXPORTERS: 'azure'" in shared
    assert "APPLICATIONINSIGHTS_CONNECTION_STRING: monitoring.outputs.connectionString" in shared
    for half in ("api", "tools"):
        assert "'ClientId=${identityClientId};Authorization=AAD'" in source(half)
        assert f"identities.outputs.{half}PrincipalId" in re.findall(r"publishers: (.*)", MAIN.read_text())[0]


def test_azd_finds_what_it_deploys() -> None:
    project = yaml.safe_load((ROOT / "azure.yaml").read_text())
    assert set(project["services"]) == set(
        re.findall(r"'azd-service-name': '(\w+)'", source("api") + source("tools"))
    )
    assert (ROOT / project["services"]["tools"]["docker"]["path"]).is_file()
    given = json.loads((ROOT / "infra" / "main.parameters.json").read_text())["parameters"]
    asked = parameters(MAIN)
    assert set(given) <= set(asked)
    assert {name for name, required in asked.items() if required} <= set(given)


def test_the_key_that_names_of_sessions_hang_on_is_made_once() -> None:
    given = json.loads((ROOT / "infra" / "main.parameters.json").read_text())["parameters"]
    assert given["presentVault"]["value"] == "${AZURE_KEY_VAULT_NAME=}"
    assert "output AZURE_KEY_VAULT_NAME string = vault.outputs.name" in MAIN.read_text()
    [module] = [node for _, node in MODULES if text(node.named_children[0]) == "vault"]
    passed = value(next(find(module, "object")), "params")
    assert text(value(passed, "presentVault")) == "presentVault"

    assert "name: vaultName\n" in source("vault")
    assert "output name string = vault.name" in source("vault")
    [(condition, properties)] = re.findall(
        r"secrets@\S+' = (if .*)\{\n  parent: vault\n  name: 'scope-key'\n  properties: (.*)", source("vault")
    )
    assert (condition, properties) == (
        "if (presentVault != vaultName) ",
        "{ value: scopeKey, contentType: 'text/plain' }",
    )


def test_models_are_parameters_of_the_environment_with_the_defaults_of_the_templates() -> None:
    given = json.loads((ROOT / "infra" / "main.parameters.json").read_text())["parameters"]
    defaults = dict(re.findall(r"^param (\w+) \w+ = '?([^'\n]*)'?$", MAIN.read_text(), re.MULTILINE))
    compared = 0
    for name, parameter in given.items():
        if (found := re.fullmatch(r"\$\{ORC_\w+=(.*)\}", str(parameter["value"]))) and name in defaults:
            assert found[1] == defaults[name], name
            compared += 1
    assert compared >= 24
    # azd keeps outputs in the environment: a stored model without its version would meet a newer default.
    stored = outputs(MAIN)
    for model in ("ORC_CHAT_MODEL", "ORC_EMBEDDING_MODEL"):
        assert {model, f"{model}_VERSION"} <= stored


def test_settings_of_operators_reach_both_apps_with_every_provision() -> None:
    """A provision replaces the settings of an app as a whole: what was set in the portal is gone."""
    given = json.loads((ROOT / "infra" / "main.parameters.json").read_text())["parameters"]
    [default] = re.findall(r"\$\{ORC_APP_SETTINGS=(.*)\}$", given["appSettings"]["value"])
    assert json.loads(base64.b64decode(default)) == {}
    main = MAIN.read_text()
    assert "param appSettings string = base64('{}')" in main
    # They may be secrets, and change ours too.
    assert "@secure()\n@description('Further settings" in main
    assert all("@secure()\nparam settings object" in source(half) for half in ("api", "tools"))
    assert "var theirs = json(base64ToString(appSettings))" in main
    assert "var shared = union(own, theirs, { ORC_ADVANCED: string(advanced) })" in main
    assert re.findall(r"^    settings: (.*)$", main, re.M) == [
        "shared",
        "union(shared, retention, { MCP_SERVER_URL: '${tools.outputs.url}/mcp' })",
    ]


def test_azure_signs_people_in_only_if_the_page_does_not() -> None:
    api = source("api")
    assert "platform: { enabled: authMode == 'easyauth' }" in api
    assert "trust_principal_header: authMode == 'easyauth'" in api
    assert "ORC_AUTH_MODE: authMode" in api


def test_hooks_need_what_the_documentation_asks_for() -> None:
    project = yaml.safe_load((ROOT / "azure.yaml").read_text())
    unless_private = '{ test "${ORC_PRIVATE_NETWORK:-none}" != none || make provision; }'
    assert project["hooks"] == {
        "preprovision": {"shell": "sh", "run": "sh infra/sign-in.sh create"},
        "postprovision": {"shell": "sh", "run": f"sh infra/sign-in.sh return && {unless_private}"},
    }
    assert re.fullmatch(r">= \d+\.\d+\.\d+", project["requiredVersions"]["azd"])
    asked = (ROOT / "docs" / "azure.md").read_text()
    assert project["requiredVersions"]["azd"].removeprefix(">= ") in asked
    assert "`make`" in asked


def test_the_placeholder_listens_where_the_tools_server_does() -> None:
    assert "var port = 8080\n" in source("tools")
    assert "empty(image) ? 'mcr.microsoft.com/dotnet/samples:aspnetapp' : image" in source("tools")
    dockerfile = (ROOT / "mcp_server" / "Dockerfile").read_text()
    assert "ORC_MCP_PORT=8080" in dockerfile
    assert re.search(
        r"ARG PYTHON_IMAGE=\S+\.\S+/library/python:3\.13-slim\nFROM \$\{PYTHON_IMAGE\}\n", dockerfile
    )


def test_keys_are_no_plain_parameters() -> None:
    for path in FILES:
        for name in re.findall(r"^param (\w*Key)\b", path.read_text(), re.MULTILINE):
            secure = rf"@secure\(\)\n(@.*\n)*param {name}\b"
            assert re.search(secure, path.read_text()), (path.name, name)


def test_the_function_app_runs_the_python_that_is_tested() -> None:
    assert "runtime: { name: 'python', version: '3.13' }" in source("api")
    assert "perInstanceConcurrency: concurrencyPerInstance" in source("api")


def test_a_private_network_closes_every_service_that_can_be_closed() -> None:
    """Each resource that has `publicNetworkAccess` is given it, and has an address in the network."""
    closed = set[str]()
    for path in FILES:
        for node in find(parse(path), "resource_declaration"):
            kind = text(node.named_children[1]).strip("'").lower()
            # The cheapest tier of the registry has no private endpoints; its image has no data.
            if "publicNetworkAccess" in settable(kind) and "registries" not in kind:
                body = value(next(find(node, "object")), "properties")
                assert "publicAccess" in text(value(body, "publicNetworkAccess")), kind
                closed.add(path.stem)
    assert closed == {"api", "cosmos", "models", "search", "storage", "vault"}
    assert set(re.findall(r"\{ name: '[\w-]+', id: (\w+)\.outputs\.", MAIN.read_text())) == closed


def settable(kind: str) -> set[str]:
    """The names in `properties` of a type of resource."""
    types, resources = definitions()["types"], definitions()["resources"]
    inner = types[resources[kind]]["properties"].get("properties") if kind in resources else None
    return (
        set(types[inner[0]].get("properties", ())) if inner and isinstance(types[inner[0]], dict) else set()
    )


def test_the_network_is_off_unless_it_is_asked_for() -> None:
    main = MAIN.read_text()
    assert "param privateNetwork string = 'none'" in main
    assert "var publicAccess = isPrivate ? 'Disabled' : 'Enabled'" in main
    conditions = dict(re.findall(r"^module (\w+) '.*' = if \((.*)\) \{$", main, re.M))
    assert conditions["network"] == conditions["endpoints"] == "isPrivate"
    assert conditions["entrance"] == "privateNetwork == 'everything'"
    zones = set(re.findall(r"^  (\w+): 'privatelink", source("private-endpoints"), re.M))
    assert set(re.findall(r"group: '(\w+)'", main)) == zones


def test_what_runs_in_the_network_has_a_subnet_for_it_alone() -> None:
    assert "var subnets = ['endpoints', 'api', 'tools']" in source("network")
    main = MAIN.read_text()
    for half, name in (("api", "apiSubnet"), ("tools", "toolsSubnet")):
        assert f"subnetId: isPrivate ? network!.outputs.{name} : ''" in main
        assert "empty(subnetId) ? null" in source(half)
