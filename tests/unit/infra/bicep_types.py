"""Compares the bodies of Bicep resources with Microsoft's definitions of their types.

The definitions are in bicep_types.json, which `python -m scripts.bicep_types` writes. Values that only Azure
knows are not compared: parameters, results of functions, properties of other resources.
"""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from tree_sitter import Node

from tests.unit.infra.bicep import find, parse, text

TARGET = Path(__file__).parent / "bicep_types.json"
REQUIRED, READ_ONLY = 1, 2
NOT_DEFINED = {
    "microsoft.insights/actiongroups@2023-01-01",
    "microsoft.insights/diagnosticsettings@2021-05-01-preview",
    "microsoft.insights/metricalerts@2018-03-01",
    "microsoft.insights/scheduledqueryrules@2022-06-15",
    "microsoft.network/privatednszones@2024-06-01",
    "microsoft.network/privatednszones/a@2024-06-01",
    "microsoft.network/privatednszones/virtualnetworklinks@2024-06-01",
}
"""Listed in the index of the package without a definition, so no test compares them. On 30 November 2026 they
were compared by hand with Azure/bicep-types-az at 1f896de2, and fitted."""
DOCUMENTED_ONLY = {"siteUpdateStrategy"}
"""Properties that Microsoft documents, and that are in no definition yet."""
OF_BICEP = {"parent", "scope", "dependsOn", "name"}
KINDS = {"string": "string", "number": "integer", "boolean": "boolean", "array": "array", "object": "object"}

Definition = Any


@cache
def definitions() -> Definition:
    return json.loads(TARGET.read_text())


def resources_of(folder: Path) -> set[str]:
    """The types of all resources in the templates, `type@version`."""
    return {name for path in folder.rglob("*.bicep") for name, _ in _declared(parse(path))}


def problems(root: Node) -> tuple[int, list[str]]:
    """How many values of a file were compared, and what is wrong with them."""
    checker = _Checker(root)
    for name, declared in _declared(root):
        if name.lower() in NOT_DEFINED:
            continue
        number = definitions()["resources"].get(name.lower())
        if number is None:
            checker.found.append(f"{name}: there is no such type")
        elif "existing" not in {child.type for child in declared.children}:
            checker.body(_inner(declared.named_children[-1]), number, name)
    return checker.compared, checker.found


def _declared(root: Node) -> Iterator[tuple[str, Node]]:
    for node in find(root, "resource_declaration"):
        kinds, version = list[str](), ""
        outer: Node | None = node
        while outer is not None:
            if outer.type == "resource_declaration":
                kind, _, own = text(outer.named_children[1]).strip("'").partition("@")
                kinds.insert(0, kind)
                version = version or own
            outer = outer.parent
        yield f"{'/'.join(kinds)}@{version}", node


def _inner(node: Node) -> Node:
    """The object that a loop or a condition makes."""
    while node.type in ("for_statement", "if_statement", "parenthesized_expression", "lambda_expression"):
        node = node.named_children[-1]
    return node


class _Checker:
    def __init__(self, root: Node) -> None:
        self.found: list[str] = []
        self.compared = 0
        self._variables = {
            text(each.named_children[0]): each.named_children[-1]
            for each in find(root, "variable_declaration")
        }

    def body(self, node: Node, number: int, place: str) -> None:
        self._check(node, number, place, ignored=OF_BICEP)

    def _check(self, node: Node, number: int, place: str, ignored: set[str] | None = None) -> None:
        definition = definitions()["types"][number]
        if node.type == "for_statement" and isinstance(definition, dict) and "items" in definition:
            self._check(_inner(node), definition["items"], f"{place}[]")
            return
        for value in self._values(node):
            self.compared += 1
            if value.type == "object" and _is_object(definition):
                self._object(value, definition, place, ignored or set())
            elif value.type == "array" and "items" in definition and isinstance(definition, dict):
                for item in value.named_children:
                    if item.type != "comment":
                        self._check(item, definition["items"], f"{place}[]")
            elif not _fits(value, definition):
                self.found.append(f"{place}: {text(value)[:40]} is not allowed")

    def _values(self, node: Node) -> list[Node]:
        """The literals that an expression can be, as far as the file says."""
        node = _inner(node)
        match node.type:
            case "ternary_expression":
                return [each for part in node.named_children[1:] for each in self._values(part)]
            case "identifier" if text(node) in self._variables:
                return self._values(self._variables[text(node)])
            case "call_expression" if text(node.named_children[0]) in ("concat", "union"):
                parts = node.named_children[1].named_children
                # A joined array has the type of the whole; a part of an object may lack what is required.
                return [each for part in parts for each in self._values(part) if each.type == "array"]
            case kind if kind in KINDS:
                return [node]
        return []

    def _object(self, node: Node, definition: Definition, place: str, ignored: set[str]) -> None:
        given = {
            text(each.named_children[0]).strip("'"): each.named_children[1]
            for each in node.named_children
            if each.type == "object_property" and len(each.named_children) > 1
        }
        properties = dict(definition["properties"])
        if by := definition.get("by"):
            kind = text(given[by]).strip("'") if by in given else ""
            if kind not in definition["kinds"]:
                self.found.append(f"{place}.{by}: {kind or 'nothing'} is not allowed")
                return
            properties |= definitions()["types"][definition["kinds"][kind]]["properties"]
        for name, value in given.items():
            self._property(name, value, properties, definition.get("more"), place, ignored)
        missing = {name for name, (_, flags) in properties.items() if flags & REQUIRED} - given.keys()
        self.found += [f"{place}.{name} is missing" for name in sorted(missing - ignored)]

    def _property(
        self, name: str, value: Node, properties: Definition, more: int | None, place: str, ignored: set[str]
    ) -> None:
        if name in ignored | DOCUMENTED_ONLY:
            return
        if name in properties:
            number, flags = properties[name]
            if flags & READ_ONLY:
                self.found.append(f"{place}.{name} is read-only")
            self._check(value, number, f"{place}.{name}")
        elif more is not None:
            self._check(value, more, f"{place}.{name}")
        else:
            self.found.append(f"{place}.{name}: there is no such property")


def _is_object(definition: Definition) -> bool:
    return isinstance(definition, dict) and "properties" in definition


def _fits(value: Node, definition: Definition) -> bool:
    kind = KINDS[value.type]
    if definition == "any":
        return True
    if isinstance(definition, str):
        return kind == definition
    if "any_of" in definition:
        # If values are listed, another text is an error here, although the type also allows any text.
        choices = [definitions()["types"][each] for each in definition["any_of"]]
        listed = [each for each in choices if "literal" in each and isinstance(each, dict)]
        return any(_fits(value, each) for each in (listed or choices))
    if "literal" in definition:
        # Text with a part that is computed is compared by nothing.
        return kind == "string" and ("${" in text(value) or text(value).strip("'") == definition["literal"])
    return False
