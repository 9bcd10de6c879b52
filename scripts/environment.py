"""Brings a virtual environment in step with the pins, with the Python that runs this script.

    python scripts/environment.py .venv requirements.txt [requirements-dev.txt ...]

One that is already in step costs a few milliseconds; one that is broken, was moved or belongs to another
Python is made anew.
"""

import hashlib
import importlib.util
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
INSTALLER = "uv>=0.9,<1"


def main() -> None:
    folder, requirements = ROOT / sys.argv[1], [ROOT / name for name in sys.argv[2:]]
    usable = is_usable(folder)
    if usable and is_in_step(folder, requirements):
        return
    if not usable:
        create(folder)
    install(folder, requirements)
    for count, file in enumerate(requirements, start=1):
        stamp_for(folder, file).write_text(expected_state(requirements[:count]))


def is_in_step(folder: Path, requirements: list[Path]) -> bool:
    stamp = stamp_for(folder, requirements[-1])
    return stamp.is_file() and stamp.read_text() == expected_state(requirements)


def stamp_for(folder: Path, requirements: Path) -> Path:
    return folder / f".in-step-with-{requirements.stem}"


def expected_state(requirements: list[Path]) -> str:
    """Changes whenever anything that decides on the environment's content does."""
    files = [ROOT / "pyproject.toml", Path(__file__), *requirements]
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()


def is_usable(folder: Path) -> bool:
    """Whether the environment runs, stands where it was made, and has this Python's minor version."""
    config = folder / "pyvenv.cfg"
    if not config.is_file() or str(folder) not in config.read_text():
        return False
    probe = "import sys, pip; print(sys.version_info[:2])"
    try:
        run = subprocess.run([python_in(folder), "-c", probe], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return False
    return run.stdout.strip() == str(sys.version_info[:2])


def create(folder: Path) -> None:
    if importlib.util.find_spec("ensurepip") is None:
        sys.exit(
            f"This Python cannot make virtual environments: apt install python3.{sys.version_info[1]}-venv"
        )
    print(f"Making {folder.name} with Python {sys.version.split()[0]}", flush=True)
    if folder.is_symlink():
        folder.unlink()
    elif folder.exists():
        shutil.rmtree(folder)
    venv.create(folder, with_pip=True, symlinks=True)


def install(folder: Path, requirements: list[Path]) -> None:
    print(f"Installing into {folder.name} (about a minute the first time)", flush=True)
    python = python_in(folder)
    run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", INSTALLER])
    uv_install = [str(folder / "bin" / "uv"), "pip", "install", "--python", python]
    pins = [part for file in requirements for part in ("-r", str(file))]
    run([*uv_install, "--compile-bytecode", *pins])
    run([*uv_install, "--quiet", "--no-deps", "--editable", str(ROOT)])


def run(command: list[str]) -> None:
    if code := subprocess.run(command, cwd=ROOT, check=False).returncode:
        sys.exit(f"Setting up failed in: {' '.join(command)} (exit code {code})")


def python_in(folder: Path) -> str:
    return str(folder / "bin" / "python")


if __name__ == "__main__":
    main()
