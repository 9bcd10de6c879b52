"""The campaign of text functions is complete: a new public one is listed, or excused with a reason."""

import ast
import gc
import sys
from collections.abc import Iterator
from functools import _lru_cache_wrapper
from pathlib import Path
from types import CodeType, FrameType

import pytest

from devkit.shared_data import ROOT
from resilience.text_call_list import CALLS, EXCUSED, WITHOUT_TEXT
from resilience.text_calls import PAGE

PACKAGES = ("orc_core", "orc", "mcp_server")
TEXTS = {
    *("str", "Page", "Passage", "Piece", "Source", "FencedSource", "Token", "Clause", "Heading", "Candidate"),
    *("Note", "Turn", "Memory", "Hit", "PageAnalysis", "ChatMessage", "Match", "Question", "Statement"),
}
"""Types of parameters that are or have text."""


def files() -> Iterator[Path]:
    """All modules of the product but those that are said to work on no text."""
    left_out = [ROOT / place for place in WITHOUT_TEXT]
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            if not any(path.is_relative_to(place) for place in left_out):
                yield path


def takes_text(function: ast.FunctionDef) -> bool:
    arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    words = {
        node.id
        for argument in arguments
        if argument.annotation
        for node in ast.walk(argument.annotation)
        if isinstance(node, ast.Name)
    }
    return bool(words & TEXTS)


def is_public(name: str) -> bool:
    return name == "__init__" or not name.startswith("_")


def public_functions(path: Path) -> Iterator[str]:
    """`module.function` and `module.Class.method` of the public functions that take text."""
    module = str(path.relative_to(ROOT).with_suffix("")).replace("/", ".")
    for node in ast.parse(path.read_text()).body:
        inside, owner = [node], ""
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            inside, owner = node.body, f"{node.name}."
        for each in inside:
            if isinstance(each, ast.FunctionDef) and takes_text(each) and is_public(each.name):
                yield f"{module}.{owner}{each.name}"


def forget() -> None:
    """Clear the caches of functions that read text: other tests have filled them."""
    gc.unfreeze()  # objects that the suite froze are not listed
    for each in gc.get_objects():
        if type(each) is _lru_cache_wrapper and str(each.__module__).startswith(
            tuple(f"{package}." for package in PACKAGES)
        ):
            each.cache_clear()


def entered() -> set[str]:
    """The functions that the calls of the campaign enter."""
    forget()
    seen: set[CodeType] = set()

    def note(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call":
            seen.add(frame.f_code)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        for call in CALLS.values():
            call(PAGE)
    finally:
        sys.setprofile(before)
    root = f"{ROOT}/"
    return {
        f"{code.co_filename.removeprefix(root).removesuffix('.py').replace('/', '.')}.{code.co_qualname}"
        for code in seen
        if code.co_filename.startswith(root)
    }


def test_what_is_left_out_exists() -> None:
    assert [place for place in WITHOUT_TEXT if not (ROOT / place).exists()] == []


@pytest.mark.slow
def test_each_public_text_function_is_measured_or_excused() -> None:
    functions = {name for path in files() for name in public_functions(path)}
    assert functions - entered() - EXCUSED.keys() == set()
    assert EXCUSED.keys() <= functions
