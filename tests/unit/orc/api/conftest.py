"""An instance of the API whose model pauses when a test says so."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from devkit.pausing_api import PausingApi


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[PausingApi]:
    opened = PausingApi(tmp_path)
    yield opened
    await opened.close()
