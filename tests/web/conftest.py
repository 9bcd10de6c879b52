"""The product on one thread with a model double, and a browser in which a new user opens the page."""

from collections.abc import AsyncIterator, Iterator

import pytest

from devkit.browser import Program, unpacked
from devkit.doubles.openai_double import OpenAIDouble
from devkit.in_process import InProcess, Variant
from devkit.visits import Visit, page_running, visiting
from orc.settings import AuthMode

LIMITED = Variant({"messages_per_hour": 1})


@pytest.fixture(scope="session")
def program() -> Iterator[Program]:
    with unpacked() as program:
        yield program


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[InProcess, OpenAIDouble]]:
    others = {"local": Variant({"auth_mode": AuthMode.LOCAL}), "models": Variant({"models": ["gpt-5-mini"]})}
    variants = {"limited": LIMITED, **others}
    with page_running(tmp_path_factory.mktemp("page"), variants) as (here, double):
        yield here, double


@pytest.fixture
async def visit(program: Program, running: tuple[InProcess, OpenAIDouble]) -> AsyncIterator[Visit]:
    """A new user, who shares nothing with those before in the same browser.

    At the end nothing may have failed in the page, nor left this machine, and no text of an answer or a
    document may be kept in the browser.
    """
    async with visiting(program, *running) as visit:
        await visit.open()
        yield visit
        assert (visit.page.problems, visit.page.violations) == ([], [])
        assert visit.strangers() == set()
        assert await visit.kept_texts() == []
