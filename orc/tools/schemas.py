"""Tools as a model sees them: identifiers are removed, or replaced by handles for documents and pages."""

from collections.abc import Mapping, Sequence
from typing import Any

from orc.tools.ports import DOCUMENT_CHAT, LISTING, ToolSchema
from orc_core.errors import NotFound
from orc_core.text.file_names import comparable

SUPPLIED_BY_SCOPE = frozenset(
    {
        "organization_id", "user_id", "conversation_id", "workspace_id", "context_id", "session_id",
        "document_ids", "document_names", "blob_name", "blob_names", "file_id", "file_ids", "files",
        "cached_file_info", "scope",
    }
)  # fmt: skip
HANDLED = frozenset({"document_id", "page_id"})
CONTEXT = "context"
"""The argument that selects contexts."""
USELESS_TO_A_MODEL = frozenset(
    {"score", "start", "end", "steps", "marks", "document_version", "media_type", "page_label"}
)
LONGEST_SHOWN = 400
_NAMES = "document_names"
_RESULTS = ("passages", "pages", "results", "documents", "relations", "files")

Arguments = dict[str, Any]


def function_definitions(tools: Sequence[ToolSchema], *, with_contexts: bool = False) -> list[dict[str, Any]]:
    """The tools that a model may call, in the OpenAI function format; never document_chat.

    Without contexts, the arguments that select contexts, and pages of long listings, are left out.
    """
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": _without_identifiers(
                    tool.input_schema if with_contexts else _without_contexts(tool)
                ),
            },
        }
        for tool in tools
        if tool.name != DOCUMENT_CHAT
    ]


class Handles:
    """Names of documents and pages for one turn: `d1`, and `d1.p5` for its fifth page.

    `documents` are ids that have handles already, in order.
    """

    def __init__(self, documents: Sequence[str] = ()) -> None:
        self._by_id = {document_id: f"d{number}" for number, document_id in enumerate(documents, 1)}
        self._by_handle = {handle: document_id for document_id, handle in self._by_id.items()}

    @property
    def documents(self) -> list[str]:
        """The ids that have handles, in order."""
        return list(self._by_id)

    def handle_of(self, identifier: Any) -> str:
        """The handle of a document or a page; a new document gets the next one."""
        document_id, _, page = str(identifier).partition(".p")
        if document_id not in self._by_id:
            handle = f"d{len(self._by_id) + 1}"
            self._by_id[document_id], self._by_handle[handle] = handle, document_id
        return self._by_id[document_id] + (f".p{page}" if page else "")

    def knows(self, handle: Any) -> bool:
        """Whether this is the handle of a document."""
        return handle in self._by_handle

    def hide(self, content: Any) -> Any:
        """A tool result for the model: identifiers are removed or become handles."""
        if isinstance(content, list):
            return [self.hide(item) for item in content]
        if not isinstance(content, dict):
            return content
        return {
            _shown_name(name): self.handle_of(value) if name in HANDLED else self.hide(value)
            for name, value in content.items()
            if name not in SUPPLIED_BY_SCOPE | USELESS_TO_A_MODEL
        }

    def resolve(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The tool's arguments from those of the model: handles become identifiers.

        Arguments that the scope supplies are dropped. So is a null or empty handle, with which models fill
        optional arguments.

        Raises NotFound for an unknown handle, which includes real identifiers.
        """
        resolved: dict[str, Any] = {}
        for name, value in arguments.items():
            if name in SUPPLIED_BY_SCOPE or name in HANDLED or (f"{name}_id" in HANDLED and not value):
                continue
            if f"{name}_id" not in HANDLED:
                resolved[name] = value
                continue
            handle, _, page = str(value).partition(".p")
            if handle not in self._by_handle:
                raise NotFound(f"There is no {value} here.")
            resolved[f"{name}_id"] = self._by_handle[handle] + (f".p{page}" if page else "")
        return resolved


def _without_contexts(tool: ToolSchema) -> dict[str, Any]:
    """The schema of a tool's arguments for a turn without contexts."""
    arguments = tool.input_schema.get("properties", {})
    kept = {} if tool.name == LISTING else {key: arguments[key] for key in arguments if key != CONTEXT}
    rest = {key: value for key, value in tool.input_schema.items() if kept or key != "$defs"}
    return {**rest, "properties": kept}


def _without_identifiers(schema: Any, within: str = "") -> Any:
    """The schema for a model: at any depth, without arguments that the scope supplies, ids as handles.

    `within` is the keyword that the schema is the value of.
    """
    match within, schema:
        case "properties", dict():
            shown = {name: part for name, part in schema.items() if name not in SUPPLIED_BY_SCOPE}
            return {_shown_name(name): _without_identifiers(part) for name, part in shown.items()}
        case "required", list():
            return [_shown_name(name) for name in schema if name not in SUPPLIED_BY_SCOPE]
        case _, list():
            return [_without_identifiers(item) for item in schema]
        case _, dict():
            return {name: _without_identifiers(part, name) for name, part in schema.items()}
        case _:
            return schema


def _shown_name(name: str) -> str:
    return name.removesuffix("_id") if name in HANDLED else name


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
