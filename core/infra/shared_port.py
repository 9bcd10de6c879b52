"""One port for several processes: one process accepts the connections and passes each to one that serves it.

If processes shared the listening socket instead, the kernel would give most connections to one of them.
"""

import asyncio
import errno
import logging
import socket
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from core.errors import DependencyDown, InvalidInput

log = logging.getLogger(__name__)

PASSED, TAKEN, CLOSED = b"p", b"t", b"c"
"""The messages of the two processes about a connection. TAKEN is sent before anything is read from it."""
POLL_SECONDS = 0.05
NOT_ON_THIS_MACHINE = frozenset({errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT})
BACKLOG = 2048
LONGEST_PATH = 100
"""Bytes of the name of a Unix socket; macOS allows 103."""


@dataclass(frozen=True)
class Member:
    """One of the processes that serve a port, by its number; `folder` holds the sockets of all of them."""

    folder: Path
    number: int

    @classmethod
    def at(cls, path: Path) -> "Member":
        """The member of this path, as `path` has it."""
        return cls(path.parent, int(path.name))

    @property
    def path(self) -> Path:
        """Names the member in the arguments of its process."""
        return self.folder / str(self.number)

    @property
    def connections(self) -> Path:
        """The socket at which the member takes connections."""
        return self.path.with_suffix(".connections")

    @property
    def requests(self) -> Path:
        """The socket at which the member answers the other members."""
        return self.path.with_suffix(".requests")

    @property
    def siblings(self) -> list[Path]:
        """The sockets at which the other members answer."""
        return sorted(path for path in self.folder.glob("*.requests") if path != self.requests)


def members_in(folder: Path, count: int) -> list[Member]:
    """So many members. Raises InvalidInput if the folder's name is too long for sockets."""
    members = [Member(folder, number) for number in range(count)]
    if any(len(bytes(member.connections)) > LONGEST_PATH for member in members):
        raise InvalidInput(f"The name of the temporary folder {folder} is too long. Set TMPDIR to another.")
    return members


@dataclass
class _Taker:
    """A process that takes connections. `untaken`: passed, but it has not read the message yet."""

    link: socket.socket
    untaken: deque[socket.socket] = field(default_factory=deque)
    open: int = 0

    @property
    def load(self) -> tuple[int, int]:
        """The order in which processes are chosen: one that does not take connections is busy, or hangs."""
        return len(self.untaken), self.open

    def note(self, messages: bytes) -> None:
        """Take in what the process has sent."""
        for taken in (message == TAKEN[0] for message in messages):
            if taken:
                self.untaken.popleft().close()
            self.open += 1 if taken else -1


class Dispatcher:
    """Accepts connections and passes each to the process with the fewest.

    What a process had not taken when it ended is passed to another one. While none serves, connections wait
    in the queue of the kernel.
    """

    def __init__(self, listeners: Sequence[socket.socket], paths: Sequence[Path]) -> None:
        self._listeners = listeners
        self._paths = paths
        self._takers: list[_Taker] = []
        self._changed = asyncio.Condition()

    async def run(self) -> None:
        """Accept and pass connections until cancelled."""
        async with asyncio.TaskGroup() as group:
            for path in self._paths:
                group.create_task(self._keep_linked(path))
            for listener in self._listeners:
                listener.setblocking(False)
                group.create_task(self._accept(listener))

    async def until_all_serve(self, seconds: float) -> None:
        """Return once all processes take connections. Raises DependencyDown if they do not in time."""
        try:
            async with asyncio.timeout(seconds), self._changed:
                await self._changed.wait_for(lambda: len(self._takers) == len(self._paths))
        except TimeoutError as exc:
            raise DependencyDown("A server process did not start.", dependency="orc") from exc

    async def _keep_linked(self, path: Path) -> None:
        loop = asyncio.get_running_loop()
        while True:
            taker = _Taker(await _linked(path))
            async with self._changed:
                self._takers.append(taker)
                self._changed.notify_all()
            try:
                with suppress(OSError):
                    while messages := await loop.sock_recv(taker.link, 1024):
                        taker.note(messages)
            finally:
                self._takers.remove(taker)
                taker.link.close()
            for connection in taker.untaken:
                await self._pass(connection)

    async def _accept(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            async with self._changed:
                await self._changed.wait_for(lambda: self._takers)
            try:
                connection, _ = await loop.sock_accept(listener)
            except OSError as exc:
                # The client has gone, or this process has too many files open.
                log.warning("a connection was not accepted: %s", exc.strerror)
                await asyncio.sleep(POLL_SECONDS)
            else:
                await self._pass(connection)

    async def _pass(self, connection: socket.socket) -> None:
        while True:
            for taker in sorted(self._takers, key=lambda taker: taker.load):
                if _is_passed(connection, taker):
                    return
            await asyncio.sleep(POLL_SECONDS)


def _is_passed(connection: socket.socket, taker: _Taker) -> bool:
    """Whether it could be passed; not if the process is ending, or takes nothing for a long time."""
    try:
        socket.send_fds(taker.link, [PASSED], [connection.fileno()])
    except OSError:
        return False
    # Open until it was taken: macOS would otherwise close it on the way.
    taker.untaken.append(connection)
    return True


async def _linked(path: Path) -> socket.socket:
    """A connection to the process at this path, once it serves."""
    while True:
        link = socket.socket(socket.AF_UNIX)
        link.setblocking(False)
        try:
            await asyncio.get_running_loop().sock_connect(link, str(path))
        except OSError:
            link.close()
            await asyncio.sleep(POLL_SECONDS)
        else:
            return link


Serve = Callable[[socket.socket, Callable[[], None]], None]
"""Begins to serve a connection, and calls the function once it is closed."""


class Intake:
    """Takes the connections that a Dispatcher passes to this process, from now until it is closed."""

    def __init__(self, path: Path, serve: Serve) -> None:
        self._serve = serve
        self._loop = asyncio.get_running_loop()
        path.unlink(missing_ok=True)  # of a process that was killed
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.setblocking(False)
        self._listener.bind(str(path))
        self._listener.listen()
        self._links: set[socket.socket] = set()
        self._loop.add_reader(self._listener, self._link)

    def close(self) -> None:
        """Take no more connections; those that were passed and not taken go to another process."""
        self._loop.remove_reader(self._listener)
        self._listener.close()
        for link in set(self._links):
            self._unlink(link)

    def _link(self) -> None:
        link, _ = self._listener.accept()
        link.setblocking(False)
        self._links.add(link)
        self._loop.add_reader(link, self._take, link)

    def _unlink(self, link: socket.socket) -> None:
        self._links.discard(link)
        self._loop.remove_reader(link)
        link.close()

    def _take(self, link: socket.socket) -> None:
        try:
            message, descriptors, _, _ = socket.recv_fds(link, 1, 1)
        except BlockingIOError:
            return
        except OSError:
            message = b""
        if not message:
            self._unlink(link)
            return
        connection = socket.socket(fileno=descriptors[0])
        # A helper process that inherits it would keep it open after this process has closed it.
        connection.set_inheritable(False)
        connection.setblocking(False)
        _send(link, TAKEN)
        self._serve(connection, lambda: _send(link, CLOSED))


def _send(link: socket.socket, message: bytes) -> None:
    with suppress(OSError):  # the process that accepts has ended
        link.send(message)


def listen(host: str, port: int) -> list[socket.socket]:
    """Sockets that listen on every address of this name that this machine has.

    Raises OSError if there is none, or a port is in use.
    """
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    listeners, missing = [], OSError(errno.EADDRNOTAVAIL, f"{host} is no address of this machine")
    for family, address in dict.fromkeys((family, address) for family, _, _, _, address in found):
        try:
            listeners.append(socket.create_server(address[:2], family=family, backlog=BACKLOG))
        except OSError as exc:
            if exc.errno not in NOT_ON_THIS_MACHINE:
                raise
            missing = exc
    if not listeners:
        raise missing
    return listeners
