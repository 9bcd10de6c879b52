"""Ports: which are free, and which one a URL means."""

import socket
from urllib.parse import urlsplit

import pytest

from orc.cli.ports import PORT_CHECK_SECONDS, PORT_CHECKS, free_port, port_is_free, port_of
from orc_core.infra.processes import STOP_SECONDS


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


def test_an_outgoing_connection_does_not_take_a_free_port() -> None:
    assert all(free_port() < 32_768 for _ in range(50))


@pytest.mark.parametrize("host", ["192.0.2.1", "unknown.invalid"])
def test_a_host_of_another_machine_has_no_free_port(host: str) -> None:
    with pytest.raises(OSError, match=r"assign|known|resolution"):
        free_port(host)


def test_what_a_killed_orc_leaves_behind_has_the_time_to_stop() -> None:
    assert PORT_CHECKS * PORT_CHECK_SECONDS > STOP_SECONDS
