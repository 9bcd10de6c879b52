"""Connections that one process accepts are spread evenly over those that serve, and none is lost."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from core.errors import InvalidInput
from core.infra.shared_port import Dispatcher, Intake, Member, listen, members_in

SECONDS = 10.0


class Server:
    """Takes connections and keeps them; each is greeted with the server's name."""

    def __init__(self, member: Member) -> None:
        self.name = str(member.number).encode()
        self.served: list[tuple[socket.socket, Callable[[], None]]] = []
        self._intake = Intake(member.connections, self._serve)

    def _serve(self, connection: socket.socket, closed: Callable[[], None]) -> None:
        connection.send(self.name)
        self.served.append((connection, closed))

    def close_connections(self, count: int) -> None:
        for connection, closed in self.served[:count]:
            connection.close()
            closed()
        del self.served[:count]

    def end(self) -> None:
        self._intake.close()
        self.close_connections(len(self.served))


class Port:
    """A port with a Dispatcher, and its members."""

    def __init__(self, folder: Path) -> None:
        self.members = members_in(folder, 2)
        [self._listener] = listen("127.0.0.1", 0)
        self.number = int(self._listener.getsockname()[1])
        self.dispatcher = Dispatcher([self._listener], [member.connections for member in self.members])

    async def connect(self) -> asyncio.StreamReader:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.number)
        self.writers.append(writer)
        return reader

    async def served_by(self) -> str:
        """The server of a new connection."""
        return await greeted(await self.connect())

    @asynccontextmanager
    async def running(self) -> AsyncIterator["Port"]:
        self.writers: list[asyncio.StreamWriter] = []
        running = asyncio.create_task(self.dispatcher.run())
        yield self
        for writer in self.writers:
            writer.close()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        self._listener.close()


async def greeted(reader: asyncio.StreamReader) -> str:
    return (await asyncio.wait_for(reader.read(1), SECONDS)).decode()


@pytest.fixture
async def port(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Port]:
    async with Port(tmp_path_factory.mktemp("p")).running() as built:
        yield built


@pytest.fixture
async def servers(port: Port) -> AsyncIterator[list[Server]]:
    made = [Server(member) for member in port.members]
    await port.dispatcher.until_all_serve(SECONDS)
    yield made
    for server in made:
        server.end()


async def test_each_server_gets_as_many_connections(port: Port, servers: list[Server]) -> None:
    assert sorted([await port.served_by() for _ in range(16)]) == ["0"] * 8 + ["1"] * 8


async def test_connections_at_once_are_spread_too(port: Port, servers: list[Server]) -> None:
    names = await asyncio.gather(*(port.served_by() for _ in range(16)))
    assert sorted(names) == ["0"] * 8 + ["1"] * 8


async def test_a_server_whose_connections_have_closed_gets_the_next_ones(
    port: Port, servers: list[Server]
) -> None:
    for _ in range(8):
        await port.served_by()
    servers[1].close_connections(3)
    assert [await port.served_by() for _ in range(3)] == ["1", "1", "1"]


async def test_while_none_serves_connections_wait(port: Port) -> None:
    waiting = await port.connect()
    server = Server(port.members[1])
    assert await greeted(waiting) == "1"
    server.end()


async def test_what_a_server_has_not_taken_when_it_ends_another_one_serves(port: Port) -> None:
    stuck = socket.socket(socket.AF_UNIX)
    stuck.bind(str(port.members[0].connections))
    stuck.listen()
    server = Server(port.members[1])
    await port.dispatcher.until_all_serve(SECONDS)
    readers = [await port.connect() for _ in range(4)]
    others = [asyncio.create_task(greeted(reader)) for reader in readers]
    await asyncio.wait(others, return_when=asyncio.FIRST_COMPLETED)
    link, _ = stuck.accept()
    for each in (link, stuck):
        each.close()
    assert await asyncio.gather(*others) == ["1"] * 4
    server.end()


async def test_a_server_that_is_started_again_gets_connections_again(
    port: Port, servers: list[Server]
) -> None:
    servers[0].end()
    assert {await port.served_by() for _ in range(4)} == {"1"}
    servers[0] = Server(port.members[0])
    await port.dispatcher.until_all_serve(SECONDS)
    assert [await port.served_by() for _ in range(4)] == ["0"] * 4


async def test_a_helper_process_does_not_keep_a_connection_open(port: Port, servers: list[Server]) -> None:
    await port.served_by()
    [(connection, _)] = servers[0].served + servers[1].served
    assert not connection.get_inheritable()


def test_a_folder_whose_name_is_too_long_for_sockets_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="TMPDIR"):
        members_in(tmp_path / ("long" * 30), 2)


def test_a_port_in_use_is_an_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(OSError, match="in use"):
        listen("127.0.0.1", taken.getsockname()[1])


def test_a_member_is_named_by_its_path(tmp_path: Path) -> None:
    first, second = members_in(tmp_path, 2)
    second.requests.touch()
    assert Member.at(first.path) == first
    assert (first.siblings, second.siblings) == ([second.requests], [])
