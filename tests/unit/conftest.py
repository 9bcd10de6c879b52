"""Rules for the unit tests."""

from collections.abc import AsyncIterator, Iterator

import pytest

from devkit.fork_servers import Forked, ForkServers, importing_once
from orc_core.infra.forks import ForkServer
from orc_core.infra.sandbox import Sandbox


@pytest.fixture
async def box() -> AsyncIterator[Sandbox]:
    """Children of one test."""
    box = Sandbox()
    yield box
    await box.close()


@pytest.fixture(scope="session")
def fork_servers() -> Iterator[ForkServers]:
    with importing_once() as servers:
        yield servers


@pytest.fixture(autouse=True)
def forked_servers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fork the fork servers of the tests, each of which would import all readers for a file or two."""

    async def spawn(_: Sandbox, stdin: int) -> Forked:
        servers: ForkServers = request.getfixturevalue("fork_servers")
        return servers.start(stdin)

    if ForkServer.is_possible():
        monkeypatch.setattr(Sandbox, "_spawn_server", spawn)
