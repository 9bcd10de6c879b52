"""The processor time that a page of an upload takes."""

from dataclasses import replace
from pathlib import Path

import pytest

from bench.ingesting import measure_stages
from bench.plan import QUICK

PLAN = replace(QUICK, report_pages=2, report_uploads=1)


@pytest.mark.slow
async def test_each_stage_of_an_upload_is_measured_up_to_the_analysis(tmp_path: Path) -> None:
    figures = await measure_stages(tmp_path, PLAN, lambda: None)
    stages = "upload to readable", "readable to searchable", "searchable to analysed"
    assert [figure.name for figure in figures] == [
        f"{what}, {stage}" for what in ("handbook", "report") for stage in stages
    ]
    # The kernel counts in hundredths of a second, which a stage of these few pages may not reach.
    assert sum(figure.value for figure in figures) > 0
