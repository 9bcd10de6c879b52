"""`python -m scripts.api_snapshot`: write what clients see of the HTTP API, without prose.

It holds every path, parameter, field, type, limit, default and status. It leaves out text for people
(descriptions, summaries, titles, examples), the version of the product, and orders that have no meaning.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from orc.api.app import create_app
from orc.settings import AuthMode, Settings
from scripts import describe_web_types

TARGET = Path(__file__).resolve().parents[1] / "tests" / "unit" / "scripts" / "openapi.json"
PROSE = {"description", "summary", "title", "example", "examples"}
NAMED = {"paths", "responses", "content", "headers", "encoding", "schemas", "properties", "patternProperties"}
"""Keywords whose value is a map from names to objects: a field may be called `title`."""
LITERAL = {"default", "const"}
UNORDERED = {"enum", "required", "anyOf", "parameters", "tags"}
Json = Any


def main() -> None:
    TARGET.write_text(json.dumps(current_document(), indent=1, sort_keys=True) + "\n", encoding="utf-8")
    # The web page is written against the same document.
    describe_web_types.main()


def current_document() -> Json:
    """The document of the code as it is."""
    app = create_app(Settings(auth_mode=AuthMode.EASYAUTH, azure_auth_enabled=True))
    return normalised_openapi(app.openapi())


def snapshot() -> Json:
    """The document as it was written."""
    return json.loads(TARGET.read_text(encoding="utf-8"))


def normalised_openapi(document: Json) -> Json:
    """The OpenAPI document without prose and without the product's version.

    Names of component schemas and of operations stay: generated clients use them for types and methods.
    """
    return without_prose({key: value for key, value in document.items() if key != "info"})


def without_prose(value: Json, *, names: bool = False) -> Json:
    """A schema without text for people, in one order. With `names`, the keys of `value` are not keywords."""
    if isinstance(value, list):
        return [without_prose(item) for item in value]
    if not isinstance(value, dict):
        return value
    if names:
        return {name: without_prose(item) for name, item in value.items()}
    return {key: _cleaned(key, item) for key, item in value.items() if key not in PROSE}


def differences(before: Json, now: Json, place: str = "") -> Iterator[str]:
    """One line for each value that was added, removed or changed, with its place in the document."""
    if isinstance(before, dict) and isinstance(now, dict):
        for key in sorted({*before, *now}):
            yield from _difference_at(before, now, key, f"{place} > {key}" if place else key)
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        for number, pair in enumerate(zip(before, now, strict=True)):
            yield from differences(*pair, f"{place} > {number}")
    elif before != now:
        yield f"{place}: {json.dumps(before)} is now {json.dumps(now)}"


def _difference_at(
    before: Mapping[str, Json], now: Mapping[str, Json], key: str, place: str
) -> Iterator[str]:
    if key not in now:
        yield f"{place}: is no longer there"
    elif key not in before:
        yield f"{place}: is new"
    else:
        yield from differences(before[key], now[key], place)


def _cleaned(key: str, value: Json) -> Json:
    if key in LITERAL:
        return value
    cleaned = without_prose(value, names=key in NAMED)
    is_unordered = key in UNORDERED and isinstance(cleaned, list)
    return sorted(cleaned, key=_sorting_key) if is_unordered else cleaned


def _sorting_key(value: Json) -> str:
    return json.dumps(value, sort_keys=True)


if __name__ == "__main__":
    main()
