"""The tools server as a child process: its port, and the error if it cannot start."""

import socket
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from core.errors import DependencyDown
from orc.cli.processes import free_port, port_is_free, port_of, tools_server
from orc.settings import Settings


def listening(host: str, family: socket.AddressFamily) -> socket.socket:
    return socket.create_server((host, 0), family=family)


needs_ipv6 = pytest.mark.skipif(not socket.has_ipv6, reason="Python was built without IPv6")


@pytest.mark.parametrize(
    ("host", "family"),
    [
        ("127.0.0.1", socket.AF_INET),
        pytest.param("::1", socket.AF_INET6, marks=needs_ipv6),
    ],
)
def test_a_port_is_free_unless_a_process_listens_on_it(host: str, family: socket.AddressFamily) -> None:
    with listening(host, family) as taken:
        port = taken.getsockname()[1]
        assert not port_is_free(host, port)
    assert port_is_free(host, port)


def test_a_port_of_a_host_name_is_taken_if_it_is_taken_on_one_address() -> None:
    for family, _, _, _, address in socket.getaddrinfo("localhost", 0, type=socket.SOCK_STREAM):
        with listening(str(address[0]), family) as taken:
            assert not port_is_free("localhost", taken.getsockname()[1])
    assert port_is_free("localhost", free_port())


@pytest.mark.parametrize("host", ["192.0.2.1", "unknown.invalid"])
def test_no_port_of_another_machine_is_free(host: str) -> None:
    assert not port_is_free(host, free_port())


@pytest.mark.parametrize(
    ("url", "port"),
    [("http://127.0.0.1:7072/mcp", 7072), ("http://tools/mcp", 80), ("https://tools/mcp", 443)],
)
def test_a_url_without_a_port_has_the_default_port_of_its_scheme(url: str, port: int) -> None:
    assert port_of(urlsplit(url)) == port


async def test_a_server_that_cannot_be_started_is_not_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "no-python"))
    settings = Settings(mcp_server_url=f"http://127.0.0.1:{free_port()}/mcp", data_dir=tmp_path)
    async with tools_server(settings) as tools_are_up:
        with pytest.raises(DependencyDown, match="cannot be started") as down:
            await tools_are_up()
    assert down.value.dependency == "mcp_server"
    assert isinstance(down.value.__cause__, FileNotFoundError)


@pytest.mark.slow
async def test_a_started_server_is_up_while_the_context_is_open(tmp_path: Path) -> None:
    port = free_port()
    settings = Settings(mcp_server_url=f"http://127.0.0.1:{port}/mcp", data_dir=tmp_path)
    async with tools_server(settings) as tools_are_up:
        await tools_are_up()
        assert not port_is_free("127.0.0.1", port)
    assert port_is_free("127.0.0.1", port)
