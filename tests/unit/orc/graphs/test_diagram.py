"""The diagram in docs/architecture.md shows the graph as it is compiled: its nodes, edges and choices."""

import re

from devkit.fakes import FakeTools
from devkit.graph_turns import Turn
from devkit.shared_data import ROOT
from orc.graphs.graph import build_graph

_EDGE = re.compile(r"^\s*(\w+)(?:[\[(].*?[\])])?\s*(-->|-\..*?\.->)\s*(\w+)", re.M)
ENDS = {"start": "__start__", "finish": "__end__"}

Edge = tuple[str, str, bool]


def drawn() -> set[Edge]:
    """The arrows of the first diagram: from, to, and whether it is dashed."""
    page = (ROOT / "docs" / "architecture.md").read_text()
    diagram = page.partition("```mermaid")[2].partition("```")[0]
    found = _EDGE.findall(diagram)
    assert len(found) == len(re.findall("-->|->", diagram)), "an arrow of the diagram cannot be read"
    return {(ENDS.get(a, a), ENDS.get(b, b), arrow != "-->") for a, arrow, b in found}


def test_the_diagram_is_the_compiled_graph() -> None:
    compiled = {
        (edge.source, edge.target, edge.conditional)
        for edge in build_graph(Turn(FakeTools()).uses.resources).get_graph().edges
    }
    assert drawn() == compiled


def test_the_diagram_describes_every_node() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    nodes = {
        node
        for node in build_graph(Turn(FakeTools()).uses.resources).get_graph().nodes
        if not node.startswith("__")
    }
    assert nodes == set(re.findall(r"(\w+)\[\1<br/>", page))
