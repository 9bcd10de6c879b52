"""Node and what `npm ci` brings. Tests that need them skip, with a sentence, on machines that have none."""

import shutil
import subprocess
from functools import cache
from pathlib import Path

from devkit.errors import NotInstalled
from devkit.shared_data import ROOT

OLDEST = 20
"""The oldest major version with which the emulators and the browser of package.json work."""
MODULES = ROOT / "node_modules"


@cache
def node() -> str:
    """The path of Node. Raises NotInstalled if there is none, or if it is older than OLDEST."""
    program = shutil.which("node")
    if program is None:
        raise NotInstalled(f"Node {OLDEST} or newer is not installed.")
    run = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    version = run.stdout.strip().removeprefix("v")
    if run.returncode or int(version.partition(".")[0]) < OLDEST:
        raise NotInstalled(f"Node {OLDEST} or newer is needed, and {program} is {version or 'broken'}.")
    return program


def from_npm(path: str) -> Path:
    """A file or folder below node_modules, which Node can use. Raises NotInstalled."""
    node()
    if not (MODULES / path).exists():
        raise NotInstalled("The packages of npm are not installed: run `make install-node`.")
    return MODULES / path
