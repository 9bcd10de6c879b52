"""`python -m scripts.bicep_types AZMCP`: write Microsoft's definitions of the resources in infra/.

AZMCP is the program in the package `@azure/mcp-linux-x64` of npm (2.0.5: `npm pack`, then
`package/dist/azmcp`). It contains the definitions of Azure/bicep-types-az, one compressed file for each
version of an API.
"""

import json
import re
import struct
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.unit.infra.bicep_types import TARGET, resources_of

Json = Any
RESOURCES_ENTRY = 24
"""The offset at which the header of .NET says where the resources of an assembly are."""
CLI_HEADER = 14
NAMES = b"index.json.deflated"
LICENCE = "Copyright (c) Microsoft Corporation. MIT License. https://github.com/Azure/bicep-types-az"


def main() -> None:
    """Write the file from the program named by the argument."""
    program = Path(sys.argv[1]).read_bytes()
    wanted = {name.lower() for name in resources_of(Path("infra"))}
    TARGET.write_text(json.dumps(collect(program, wanted), separators=(",", ":"), sort_keys=True) + "\n")


def collect(program: bytes, wanted: set[str]) -> Json:
    """The definitions of these resources (`type@version`, in lower case) and of all that they contain."""
    found = Definitions()
    for text in definitions(program):
        names = set(re.findall(rb'"name": "([\w.]+/[\w./]+@[\w-]+)"', text))
        if any(name.decode().lower() in wanted for name in names):
            types = json.loads(text)
            for entry in types:
                if entry["$type"] == "ResourceType" and entry["name"].lower() in wanted:
                    found.add(entry["name"].lower(), types, entry["body"])
    return {"licence": LICENCE, "resources": found.resources, "types": found.types}


def definitions(program: bytes) -> Iterator[bytes]:
    """Each file of definitions in the program, which holds them compressed one after another."""
    start, size = _resources(program)
    at = start
    while at < start + size:
        (length,) = struct.unpack_from("<I", program, at)
        yield zlib.decompress(program[at + 4 : at + 4 + length], -zlib.MAX_WBITS)
        at += 4 + length


def _resources(program: bytes) -> tuple[int, int]:
    """Where the resources of the assembly with the definitions begin, and their size."""
    base = program.rfind(b"MZ\x90\x00", 0, program.find(NAMES))
    header = base + struct.unpack_from("<I", program, base + 0x3C)[0]
    sections, optional = (struct.unpack_from("<H", program, header + place)[0] for place in (6, 20))
    wide = struct.unpack_from("<H", program, header + 24)[0] != 0x10B

    def position(address: int) -> int:
        for number in range(sections):
            size, start, _, offset = struct.unpack_from(
                "<IIII", program, header + 24 + optional + 40 * number + 8
            )
            if start <= address < start + size:
                return int(base + offset + address - start)
        raise ValueError("no section has this address")

    directories = header + 24 + (112 if wide else 96)
    (cli,) = struct.unpack_from("<I", program, directories + 8 * CLI_HEADER)
    address, size = struct.unpack_from("<II", program, position(cli) + RESOURCES_ENTRY)
    return position(address), size


class Definitions:
    """Types by number, without descriptions, as tests/unit/infra/bicep_types.py reads them."""

    def __init__(self) -> None:
        self.types: list[Json] = []
        self.resources: dict[str, int] = {}
        self._known: dict[tuple[int, int], int] = {}

    def add(self, name: str, types: list[Json], body: Json) -> None:
        self.resources[name] = self._number(types, body)

    def _number(self, types: list[Json], reference: Json) -> int:
        index = int(reference["$ref"].removeprefix("#/"))
        key = (id(types), index)
        if key not in self._known:
            self._known[key] = len(self.types)
            self.types.append(None)
            self.types[self._known[key]] = self._short(types, types[index])
        return self._known[key]

    def _short(self, types: list[Json], entry: Json) -> Json:
        match entry["$type"]:
            case "ObjectType" | "DiscriminatedObjectType" as kind:
                properties = entry.get("properties") or entry.get("baseProperties") or {}
                short: Json = {
                    "properties": {
                        name: [self._number(types, each["type"]), each.get("flags", 0)]
                        for name, each in properties.items()
                    }
                }
                if more := entry.get("additionalProperties"):
                    short["more"] = self._number(types, more)
                if kind == "DiscriminatedObjectType":
                    elements = entry["elements"].items()
                    short["by"] = entry["discriminator"]
                    short["kinds"] = {value: self._number(types, each) for value, each in elements}
                return short
            case "ArrayType":
                return {"items": self._number(types, entry["itemType"])}
            case "UnionType":
                return {"any_of": [self._number(types, each) for each in entry["elements"]]}
            case "StringLiteralType":
                return {"literal": entry["value"]}
            case kind:
                return kind.removesuffix("Type").lower()


if __name__ == "__main__":
    main()
