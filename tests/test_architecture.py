"""Rules for the product code, checked on its source: imports, environment, size, docstrings."""

import ast
import graphlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from devkit.shared_data import ROOT
from devkit.size import deviations

PACKAGES = ("orc_core", "mcp_server", "orc")
MAY_IMPORT = {
    "orc_core": {"orc_core"},
    "mcp_server": {"mcp_server", "orc_core"},
    "orc": {"orc", "orc_core"},
    "function_app": {"function_app", "orc"},
}
MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60
ENVIRONMENT = {"os.environ", "os.environb", "os.getenv", "os.getenvb", "os.putenv", "os.unsetenv"}


@cache
def modules() -> dict[str, Path]:
    """Every module of the product by its dotted name."""
    files = [file for package in PACKAGES for file in sorted((ROOT / package).rglob("*.py"))]
    files += [file for file in [ROOT / "function_app.py"] if file.exists()]
    return {dotted_name(file): file for file in files}


def dotted_name(file: Path) -> str:
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def tree_of(module: str) -> ast.Module:
    return ast.parse(modules()[module].read_text(encoding="utf-8"))


def imported_names(module: str) -> set[str]:
    """Dotted names that the module imports at any time, except for type checking only."""
    names: set[str] = set()
    for node in walk_at_run_time(tree_of(module)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} imports relatively; these tests read absolute imports only"
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


def walk_at_run_time(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING"):
            for alternative in child.orelse:
                yield from walk_at_run_time(alternative)
        else:
            yield from walk_at_run_time(child)


def imported_modules(module: str) -> set[str]:
    """The product's own modules among what the module imports."""
    return {own for name in imported_names(module) if (own := own_module(name)) is not None}


def own_module(name: str) -> str | None:
    """`orc_core.errors.NotFound` -> `orc_core.errors`; None for what is not the product's."""
    if name in modules():
        return name
    parent = name.rpartition(".")[0]
    return parent if parent in modules() else None


def environment_uses(module: str) -> list[str]:
    tree = tree_of(module)
    attributes = {ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    return sorted(ENVIRONMENT & (attributes | imported_names(module)))


def test_the_product_is_found() -> None:
    assert {"orc_core.errors", "orc.settings", "mcp_server.settings"} <= set(modules())


def test_imports_point_one_way() -> None:
    strays = [
        f"{module} imports {other}"
        for module in modules()
        for other in sorted(imported_modules(module))
        if other.partition(".")[0] not in MAY_IMPORT[module.partition(".")[0]]
    ]
    assert not strays


def test_product_code_never_imports_tests_or_tools() -> None:
    outside = {"tests", "devkit", "resilience", "evals", "bench", "examples", "scripts"}
    strays = [m for m in modules() if outside & {name.partition(".")[0] for name in imported_names(m)}]
    assert not strays


def test_there_are_no_import_cycles() -> None:
    graph = {module: imported_modules(module) - {module} for module in modules()}
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as exc:
        pytest.fail("import cycle: " + " -> ".join(exc.args[1]))


def test_there_are_no_cycles_between_folders() -> None:
    """In each folder, its modules and subfolders depend on each other in one direction."""
    for folder, graph in sibling_graphs().items():
        try:
            graphlib.TopologicalSorter(graph).prepare()
        except graphlib.CycleError as exc:
            pytest.fail(f"cycle in {folder}: " + " -> ".join(exc.args[1]))


def sibling_graphs() -> dict[str, dict[str, set[str]]]:
    """For each folder, which of its modules and subfolders import which others."""
    graphs: dict[str, dict[str, set[str]]] = {}
    for module in modules():
        for other in imported_modules(module):
            ours, theirs = module.split("."), other.split(".")
            shared = next(
                (i for i, pair in enumerate(zip(ours, theirs, strict=False)) if len(set(pair)) > 1), 0
            )
            if shared > 0:
                graph = graphs.setdefault(".".join(ours[:shared]), {})
                graph.setdefault(ours[shared], set()).add(theirs[shared])
    return graphs


def test_only_settings_modules_read_the_environment() -> None:
    readers = {module: uses for module in modules() if (uses := environment_uses(module))}
    assert [module for module in readers if module.rpartition(".")[2] != "settings"] == []


def private_functions() -> Iterator[str]:
    for module in modules():
        for node in ast.walk(tree_of(module)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and is_private(node.name):
                yield f"{module}.{node.name}"


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__")


def test_the_product_does_not_grow() -> None:
    """The numbers, and what to do: docs/decisions/size.md."""
    lines = sum(len(file.read_text().splitlines()) for file in modules().values())
    counted = {"modules": len(modules()), "lines": lines, "private functions": len([*private_functions()])}
    assert deviations(counted) == []


def test_files_and_functions_stay_short() -> None:
    long_files = [m for m, file in modules().items() if len(file.read_text().splitlines()) > MAX_FILE_LINES]
    long_functions = [
        f"{module}.{node.name}"
        for module in modules()
        for node in ast.walk(tree_of(module))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno >= MAX_FUNCTION_LINES
    ]
    assert (long_files, long_functions) == ([], [])


def test_every_module_says_why_it_is_there() -> None:
    silent = [m for m in modules() if not ast.get_docstring(tree_of(m)) and modules()[m].stat().st_size]
    assert not silent


def test_importing_a_module_does_no_io(tmp_path: Path) -> None:
    names = [module for module in modules() if not module.endswith("__main__")]
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "devkit.watched_import", *names]
    run = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout) == {}
    assert list(tmp_path.iterdir()) == []
