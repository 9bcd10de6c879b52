"""Big and ordinary files on a busy machine: none is refused, and each becomes searchable."""

from pathlib import Path

import pytest

from resilience.big_files import campaign


@pytest.mark.campaign
def test_all_files_are_ingested_while_the_processors_are_busy(tmp_path: Path) -> None:
    verdict = campaign(tmp_path, pages=3000, files=20, spinning=8)
    assert [check for check in verdict.checks if not check.ok] == []
