"""`python -m scripts.sbom FILE`: add the libraries of the web page to the bill of materials that uv wrote.

uv knows the packages of Python only. The libraries are those whose licences `make vendor` has collected.
"""

import json
import re
import sys
from pathlib import Path
from urllib.parse import quote

from orc_core import __version__

LICENCES = Path(__file__).parents[1] / "orc" / "web" / "vendor" / "LICENSES.txt"
HEADING = re.compile(r"^(@?[\w./-]+) (\d+\.\d+\.\d+)$", re.MULTILINE)


def vendored() -> dict[str, str]:
    """The versions of the bundled libraries, by name."""
    return dict(HEADING.findall(LICENCES.read_text()))


def main(file: Path) -> None:
    """Complete the file."""
    bill = json.loads(file.read_text())
    bill["metadata"]["component"]["version"] = __version__
    for name, version in vendored().items():
        address = f"pkg:npm/{quote(name, safe='/')}@{version}"
        licences = [{"license": {"id": "MIT"}}]
        library = {"type": "library", "bom-ref": address, "name": name, "version": version, "purl": address}
        bill["components"].append({**library, "licenses": licences})
    file.write_text(json.dumps(bill, indent=2) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
