"""Reads Bicep files far enough to hold them together: no compiler can be had from the registries."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import tree_sitter_bicep
from tree_sitter import Language, Node, Parser

PARSER = Parser(Language(tree_sitter_bicep.language()))


@cache
def parse(path: Path) -> Node:
    """The syntax tree of a file."""
    return PARSER.parse(path.read_bytes()).root_node


def find(node: Node, kind: str) -> Iterator[Node]:
    """Every node of this kind below `node`."""
    for child in node.children:
        if child.type == kind:
            yield child
        yield from find(child, kind)


def text(node: Node | None) -> str:
    """The source of a node."""
    assert node is not None and node.text is not None
    return node.text.decode()


def parameters(path: Path) -> dict[str, bool]:
    """The parameters of a file, and whether each must be given."""
    declared = find(parse(path), "parameter_declaration")
    return {text(node.named_children[0]): len(node.named_children) == 2 for node in declared}


def outputs(path: Path) -> set[str]:
    """The outputs of a file."""
    return {text(node.named_children[0]) for node in find(parse(path), "output_declaration")}


def keys(node: Node) -> list[str]:
    """The names of an object's properties."""
    return [text(child.named_children[0]) for child in node.named_children if child.type == "object_property"]


def value(node: Node, *names: str) -> Node:
    """The property of an object, or of one within it."""
    for child in node.named_children:
        if child.type == "object_property" and text(child.named_children[0]) == names[0]:
            found = child.named_children[1]
            return value(found, *names[1:]) if len(names) > 1 else found
    raise KeyError(names[0])
