"""The ports of `orc serve`: free ones, and what to do if a server cannot listen."""

import asyncio
import errno
import random
import socket
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from orc.settings import Settings
from orc_core.errors import InvalidInput
from orc_core.infra.processes import STOP_SECONDS

PORT_CHECKS, PORT_CHECK_SECONDS = 20 + int(STOP_SECONDS / 0.1), 0.1
"""What a killed Orc leaves behind stops within the seconds of its lifeline."""
NOT_ON_THIS_MACHINE = frozenset({errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT})


def free_port(host: str = "127.0.0.1") -> int:
    """A port of the host that nothing listens on now. Raises OSError if the host is not of this machine.

    Systems take the ports of outgoing connections from 32768 upwards. A port below is therefore still free
    when its server starts to listen.
    """
    family, _, _, _, (address, _, *scope) = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0]
    with socket.socket(family) as probe:
        for port in random.sample(range(20_000, 32_768), 100):
            try:
                probe.bind((address, port, *scope))
            except OSError as exc:
                if exc.errno != errno.EADDRINUSE:
                    raise
            else:
                return port
    raise OSError(errno.EADDRINUSE, "No free port was found", host)


def port_is_free(host: str, port: int) -> bool:
    """Whether a server could listen there, on every address of that name that this machine has."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except socket.gaierror:
        return False
    errors: set[int | None] = set()
    for family, _, _, _, address in found:
        try:
            with socket.socket(family, socket.SOCK_STREAM) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(address)
        except OSError as exc:
            errors.add(exc.errno)
        else:
            errors.add(None)
    return None in errors and errors <= {None, *NOT_ON_THIS_MACHINE}


def port_of(address: SplitResult) -> int:
    """The port that a URL means, named or not."""
    if address.port is not None:
        return address.port
    return 443 if address.scheme == "https" else 80


def with_free_ports(settings: Settings) -> Settings:
    """The settings with free ports in the place of ports 0."""
    changes: dict[str, object] = {"port": settings.port or free_port(settings.host)}
    url = urlsplit(settings.mcp_server_url)
    if port_of(url) == 0:
        host = str(url.hostname)
        changes["mcp_server_url"] = url._replace(netloc=_netloc(host, free_port(host))).geturl()
    return settings.model_copy(update=changes)


async def check_ports(settings: Settings) -> None:
    """Raise InvalidInput, with settings that work, unless the API and the tools server can listen."""
    url = urlsplit(settings.mcp_server_url)
    host, host_setting, port_setting = url.hostname or "", "ORC_MCP_HOST", "ORC_MCP_PORT={port}"
    if "mcp_server_url" in settings.model_fields_set:
        host_setting = "MCP_SERVER_URL"
        port_setting = f"MCP_SERVER_URL={url._replace(netloc=_netloc(host, '{port}')).geturl()}"
    api = _Listener("The API", settings.host, settings.port, "ORC_HOST", "ORC_PORT={port}")
    tools = _Listener("The tools server", host, port_of(url), host_setting, port_setting)
    problems = await asyncio.gather(_problem_with(api), _problem_with(tools))
    if any(problems):
        raise InvalidInput("\n".join(filter(None, problems)))
    if api.port and (api.host, api.port) == (tools.host, tools.port):
        raise InvalidInput(
            f"The API and the tools server cannot both listen on port {api.port}. Move one, for example"
            f" with {tools.at_another_port()}"
        )


@dataclass(frozen=True)
class _Listener:
    """A server, where it listens, the setting of its host, and a template of the setting of its port."""

    what: str
    host: str
    port: int
    host_setting: str
    port_setting: str

    def at_another_port(self) -> str:
        """A value of the setting that works."""
        return self.port_setting.format(port=free_port(self.host))


async def _problem_with(listener: _Listener) -> str:
    """Why the server cannot listen, and what to do about it; "" if it can soon."""
    what, host, port = listener.what, listener.host, listener.port
    for _ in range(PORT_CHECKS):
        if port_is_free(host, port):
            return ""
        await asyncio.sleep(PORT_CHECK_SECONDS)
    if not port_is_free(host, 0):
        return (
            f"{what} cannot listen on {host}, which is not an address of this machine. Set"
            f" {listener.host_setting}."
        )
    return (
        f"{what} cannot listen on port {port} of {host}: it is in use, or this user may not use it. Stop the"
        f" program that listens there, or choose another port, for example {listener.at_another_port()}"
    )


def _netloc(host: str, port: int | str) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
