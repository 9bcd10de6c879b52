"""Big and ordinary files on a busy machine: none is refused, and each becomes searchable."""

from pathlib import Path

from resilience.big_files import campaign


def test_all_files_are_ingested_while_the_processors_are_busy(tmp_path: Path, full_size: bool) -> None:
    pages, files, spinning = (3000, 20, 8) if full_size else (30, 1, 1)
    verdict = campaign(tmp_path, pages=pages, files=files, spinning=spinning, strict=full_size)
    assert [check for check in verdict.checks if not check.ok] == []
