"""The arguments of a tool call: near misses of a model are put right, and what was asked is kept."""

from collections.abc import Mapping, Sequence
from typing import Any

from orc.tools.schemas import HANDLED, SUPPLIED_BY_SCOPE, Handles
from orc_core.text.file_names import comparable

LONGEST_SHOWN = 400
_NAMES = "document_names"
_RESULTS = ("passages", "pages", "results", "documents", "relations", "files")

Arguments = dict[str, Any]


def within_limits(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> tuple[Arguments, list[str]]:
    """The arguments with numbers within the limits of the schema, and what was changed, for the model."""
    kept, changed = dict(arguments), []
    for name, part in schema.get("properties", {}).items():
        number = _number(kept.get(name))
        limits = next(
            (each for each in (part, *part.get("anyOf", [])) if each.get("type") == "integer"), None
        )
        if number is None or limits is None:
            continue
        kept[name] = min(max(number, limits.get("minimum", number)), limits.get("maximum", number))
        if kept[name] != number:
            changed.append(f"{name} was {number}, which is not possible; {kept[name]} was taken.")
    return kept, changed


def with_handles(
    arguments: Mapping[str, Any], handles: Handles, documents: Sequence[tuple[str, str]]
) -> Arguments:
    """The arguments with the handle of a document in the place of its file name."""
    by_name = {comparable(name): document_id for document_id, name in reversed(documents)}
    named = {name.removesuffix("_id") for name in HANDLED}
    return {
        name: handles.handle_of(found)
        if name in named and (found := by_name.get(comparable(str(value))))
        else value
        for name, value in arguments.items()
    }


def shown_arguments(arguments: Mapping[str, Any]) -> Arguments:
    """The arguments as people see them: without identifiers, and long ones shortened."""
    hidden = (SUPPLIED_BY_SCOPE | HANDLED) - {_NAMES}
    return {name: _shortened(value) for name, value in arguments.items() if name not in hidden}


def hits_in(content: Mapping[str, Any]) -> int | None:
    """How many results a tool gave; None if it gives no list."""
    found = [len(content[name]) for name in _RESULTS if isinstance(content.get(name), list)]
    return found[0] if found else None


def _number(value: Any) -> int | None:
    if isinstance(value, str) and value.strip().lstrip("-").isdecimal():
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _shortened(value: Any) -> Any:
    if isinstance(value, str) and len(value) > LONGEST_SHOWN:
        return f"{value[:LONGEST_SHOWN]} …"
    if isinstance(value, list):
        return [_shortened(each) for each in value]
    return value if isinstance(value, str | int | float | bool | None) else str(value)[:LONGEST_SHOWN]
