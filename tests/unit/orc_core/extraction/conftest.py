"""An extractor with generous limits, and a fixture that extracts bytes."""

import inspect
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from orc_core.extraction.extractor import PRELOADED, Extraction, Extractor
from orc_core.infra.sandbox import Sandbox
from tests.unit.orc_core.extraction.samples import Read

FOLDER = Path(__file__).parent


@pytest.fixture
def extractor(box: Sandbox) -> Extractor:
    return Extractor(box)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_extractor() -> AsyncIterator[Extractor]:
    """One for all tests of a module: each starts a process that imports all readers."""
    box = Sandbox(*PRELOADED)
    yield Extractor(box)
    await box.close()


@pytest.fixture
def read(shared_extractor: Extractor, tmp_path: Path) -> Read:
    """Extracts the text of a file with this name and content."""

    async def read(file_name: str, content: bytes) -> Extraction:
        source = tmp_path / "upload"
        source.write_bytes(content)
        return await shared_extractor.extract(source, file_name)

    return read


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the tests that share an extractor in one event loop, which is that of the extractor."""
    for item in items:
        if not isinstance(item, pytest.Function) or item.path.parent != FOLDER:
            continue
        if "read" in item.fixturenames and inspect.iscoroutinefunction(item.function):
            item.add_marker(pytest.mark.asyncio(loop_scope="module"), append=False)
