"""`python -m scripts.describe_settings`: write docs/configuration.md from the settings themselves."""

from collections.abc import Iterable
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, get_args, get_origin

from annotated_types import Ge, Gt, Le
from pydantic import SecretStr
from pydantic.fields import FieldInfo

import mcp_server.settings
import orc.settings
from orc_core.infra.setting_names import ADVANCED, ADVANCED_VARIABLE, INTERNAL
from orc_core.infra.settings import CoreSettings, variable_of

TARGET = Path(__file__).resolve().parents[1] / "docs" / "configuration.md"
HEAD = (
    "# Configuration\n\n"
    "Written by `python -m scripts.describe_settings` from the settings; a test compares.\n\n"
    "Settings are environment variables, or lines of a `.env` file. If a value is invalid, the program exits "
    "with a message that names the variable. `orc doctor` lists the services in use, whether and how fast "
    "they answer, and what to do if they do not. Names of earlier releases are accepted for one release, "
    "with a warning that names the new one.\n\n"
    "An Azure service is used if its address is set. Without a key, the identity of the process signs in (a "
    "managed identity on Azure, `az login` during development). Without an address Orc uses SQLite, a folder "
    "and the offline model.\n"
)
PARTS = (
    ("All processes", CoreSettings, ()),
    ("The API", orc.settings.Settings, CoreSettings.model_fields),
    ("The tools server", mcp_server.settings.Settings, CoreSettings.model_fields),
)


def describe() -> str:
    """The whole page."""
    return "\n".join([HEAD, *(_part(*part) for part in PARTS), _advanced()])


def variables(kind: type[CoreSettings]) -> set[str]:
    """The environment variables that these settings read."""
    return {variable_of(field, info.validation_alias) for field, info in _documented(kind).items()} | {
        ADVANCED_VARIABLE
    }


def _part(title: str, kind: type[CoreSettings], elsewhere: Iterable[str]) -> str:
    fields = {name: field for name, field in _documented(kind).items() if name not in set(elsewhere)}
    rows = [_row(name, field) for name, field in fields.items()]
    return "\n".join(
        [f"## {title}\n", "| variable | value | default | meaning |", "| --- | --- | --- | --- |", *rows, ""]
    )


def _documented(kind: type[CoreSettings]) -> dict[str, FieldInfo]:
    hidden = ADVANCED.keys() | INTERNAL
    return {name: field for name, field in kind.model_fields.items() if name not in hidden}


def _advanced() -> str:
    """The one variable for limits that hardly anyone changes."""
    fields = {name: field for _, kind, _ in PARTS for name, field in kind.model_fields.items()}
    rows = [
        f"| `{name}` | {_values(fields[name])} | {_default(fields[name])} | {fields[name].description} |"
        for name in sorted(ADVANCED)
    ]
    text = (
        f"## Advanced limits\n\n`{ADVANCED_VARIABLE}` is a JSON object, for example "
        '`{"turn_lease_seconds": 30}`, with limits that normally stay as they are.\n'
    )
    return "\n".join([text, "| key | value | default | meaning |", "| --- | --- | --- | --- |", *rows, ""])


def _row(name: str, field: FieldInfo) -> str:
    cells = [_variables(name, field), _values(field), _default(field), field.description or ""]
    return f"| {' | '.join(cells)} |"


def _variables(name: str, field: FieldInfo) -> str:
    return f"`{variable_of(name, field.validation_alias)}`"


def _values(field: FieldInfo) -> str:
    kinds = [kind for kind in _alternatives(field.annotation) if kind is not NoneType]
    return f"{' or '.join(_kind(kind) for kind in kinds)}{_limits(field)}"


def _alternatives(annotation: Any) -> tuple[Any, ...]:
    return (
        get_args(annotation)
        if get_origin(annotation) is UnionType or isinstance(annotation, UnionType)
        else (annotation,)
    )


def _kind(kind: Any) -> str:
    if get_origin(kind) is list:
        return f"list: {_kind(get_args(kind)[0])}"
    if get_origin(kind) is dict:
        return "JSON object"
    if get_origin(kind) is Literal:
        return ", ".join(f"`{value}`" for value in get_args(kind))
    if hasattr(kind, "__members__"):
        return ", ".join(f"`{value}`" for value in kind)
    names = {
        str: "text",
        int: "whole number",
        float: "number",
        bool: "`true`, `false`",
        SecretStr: "secret",
        Path: "path",
    }
    return names[kind]


def _limits(field: FieldInfo) -> str:
    least = next((f"{limit.ge}" for limit in field.metadata if isinstance(limit, Ge)), None)
    above = next((f"above {limit.gt}" for limit in field.metadata if isinstance(limit, Gt)), None)
    most = next((f"{limit.le}" for limit in field.metadata if isinstance(limit, Le)), None)
    if least and most:
        return f", {least} to {most}"
    bounds = (above or (least and f"{least} or more"), most and f"at most {most}")
    return "".join(f", {bound}" for bound in bounds if bound)


def _default(field: FieldInfo) -> str:
    if field.default_factory is not None or field.default in (None, [], {}):
        return "none"
    return f"`{str(field.default).lower() if isinstance(field.default, bool) else field.default}`"


if __name__ == "__main__":
    TARGET.write_text(describe())
