"""Processor time of another process."""

import os
import shutil
import time
from collections.abc import Callable

import pytest

from orc_core.infra.priority import processor_seconds, processor_seconds_of_ps

MEASURES = pytest.mark.parametrize(
    "measure",
    [
        processor_seconds,
        pytest.param(
            processor_seconds_of_ps,
            marks=pytest.mark.skipif(shutil.which("ps") is None, reason="There is no program `ps`."),
        ),
    ],
)


@MEASURES
def test_the_processor_time_of_a_process_is_read(measure: Callable[[int], float]) -> None:
    assert measure(os.getpid()) == pytest.approx(time.process_time(), abs=1.1)


@MEASURES
def test_a_process_that_has_ended_uses_none(measure: Callable[[int], float]) -> None:
    assert measure(2**22 + 1) == 0
