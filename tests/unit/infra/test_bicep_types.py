"""The bodies of all resources fit Microsoft's definitions of their types, and planted errors are found."""

from pathlib import Path

import pytest

from devkit.shared_data import ROOT
from tests.unit.infra.bicep import PARSER, parse
from tests.unit.infra.bicep_types import NOT_DEFINED, definitions, problems, resources_of

FILES = sorted((ROOT / "infra").rglob("*.bicep"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_resource_fits_the_definition_of_its_type(path: Path) -> None:
    assert problems(parse(path))[1] == []


def test_the_definitions_are_those_of_the_resources_in_use() -> None:
    used = {name.lower() for name in resources_of(ROOT / "infra")}
    assert used - NOT_DEFINED == set(definitions()["resources"])
    assert sum(problems(parse(path))[0] for path in FILES) > 250


@pytest.mark.parametrize(
    ("module", "right", "wrong", "found"),
    [
        ("storage", "allowSharedKeyAccess: false", "allowSharedKeys: false", "no such property"),
        ("storage", "allowSharedKeyAccess: false", "allowSharedKeyAccess: 'false'", "not allowed"),
        ("storage", "kind: 'StorageV2'", "kind: 'StorageV9'", "not allowed"),
        ("storage", "  sku: { name: 'Standard_LRS' }\n", "", "sku is missing"),
        ("storage", "minimumTlsVersion: 'TLS1_2'", "creationTime: 'now'", "read-only"),
        ("storage", "'queueServices'", "'queueService'", "no such type"),
        ("storage", "days: 7", "days: '7'", "not allowed"),
        ("storage", "allowedMethods: ['PUT']", "allowedMethods: ['FETCH']", "not allowed"),
        ("storage", "maxAgeInSeconds: 3600", "maxAge: 3600", "no such property"),
        ("tools", "targetPort: port", "targetPort: 'http'", "not allowed"),
        ("tools", "periodSeconds: 5,", "seconds: 5,", "no such property"),
        ("tools", "type: 'Liveness'", "type: 'Alive'", "not allowed"),
        ("tools", "maxReplicas: 10", "maximumReplicas: 10", "no such property"),
        (
            "tools",
            "name: 'ORC_SCOPE_SIGNING_KEY', secretRef:",
            "name: 'ORC_SCOPE_SIGNING_KEY', secret:",
            "no such",
        ),
        ("api", "runtime: { name: 'python'", "runtime: { name: 'pypy'", "not allowed"),
        ("api", "type: 'UserAssignedIdentity'", "type: 'UserIdentity'", "not allowed"),
        (
            "api",
            "unauthenticatedClientAction: 'Return401'",
            "unauthenticatedClientAction: 401",
            "not allowed",
        ),
        ("api", "Microsoft.Web/sites@2024-11-01", "Microsoft.Web/sites@2024-11-02", "no such type"),
        ("network", "addressPrefix: cidrSubnet", "prefix: cidrSubnet", "no such property"),
        ("network", "name: name\n      properties", "title: name\n      properties", "no such property"),
        ("private-endpoints", "groupIds: [each.group]", "groupIds: 'blob'", "not allowed"),
        ("alerts", "thresholdType: 'Actual'", "thresholdType: 'Real'", "not allowed"),
        ("tools", "internal: true", "internal: 'yes'", "not allowed"),
        (
            "cosmos",
            "kind: length(each.paths) == 1 ? 'Hash'",
            "kind: length(each.paths) == 1 ? 'Hashed'",
            "not allowed",
        ),
        ("cosmos", "type: 'Continuous',", "type: 'Always',", "not allowed"),
        ("models", "sku: { name: 'GlobalStandard', capacity", "sku: { capacity", "sku.name is missing"),
        ("vault", "tenantId: tenant().tenantId\n", "\n", "tenantId is missing"),
    ],
)
def test_a_planted_error_is_found(module: str, right: str, wrong: str, found: str) -> None:
    source = (ROOT / "infra" / "modules" / f"{module}.bicep").read_text()
    assert right in source
    planted = PARSER.parse(source.replace(right, wrong, 1).encode()).root_node
    assert not planted.has_error
    assert any(found in problem for problem in problems(planted)[1])
