"""Where a request comes from, as browsers and proxies say: a page of this server, of another one, or none."""

import ipaddress
import re
from urllib.parse import urlsplit

from fastapi import Request

_FILE = re.compile(r"/api/(conversations|contexts)/[^/]+/documents/[^/]+/content")
_ORIGIN = re.compile(r"https?://(\[[0-9a-fA-F:]+\]|[A-Za-z0-9.-]+)(:[0-9]+)?")
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


def is_of_other_site(request: Request) -> bool:
    """Whether a page of another site, or of another server of this site, asks to change something.

    Clients that are no browsers send neither header. A page can send a bearer token to another site only if
    that site has allowed it, and no browser adds one by itself.
    """
    if request.method in SAFE_METHODS or bearer_token(request) is not None:
        return False
    sites, origins = request.headers.getlist("sec-fetch-site"), request.headers.getlist("origin")
    if sites:
        return not set(sites) <= {"same-origin", "none"}
    return any(origin.partition("//")[2] not in _own_addresses(request) for origin in origins)


def bearer_token(request: Request) -> str | None:
    """The token in the header for it; None if the request has none."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token if scheme.lower() == "bearer" and token else None


def hosts_of(request: Request) -> list[str]:
    """The hosts of the caller and of the request, also as reported by a proxy such as the Functions host.

    The name matters too: a page of some other site may have had its name point to this machine.
    """
    hosts = [request.client.host if request.client else ""]
    hosts += [host_of(f"//{value}") for value in _own_addresses(request)]
    for value in request.headers.getlist("x-forwarded-for") + request.headers.getlist("x-real-ip"):
        hosts += [_without_port(part.strip()) for part in value.split(",")]
    return hosts


def _own_addresses(request: Request) -> list[str]:
    """What the caller takes this server for: host, and port if it is not the usual one."""
    return [request.headers.get("host", ""), *request.headers.getlist("x-forwarded-host")]


def is_of_local_page(request: Request) -> bool:
    """Whether no page sent the request, or one that this machine serves at the same address.

    A browser says how the page is related; a development server that passes requests on passes that on too.
    """
    sites, origins = request.headers.getlist("sec-fetch-site"), request.headers.getlist("origin")
    if sites:
        return set(sites) <= {"same-origin", "none"} and all(map(_is_local_origin, origins))
    return all(
        _is_local_origin(origin) and origin.partition("//")[2] in _own_addresses(request)
        for origin in origins
    )


def opens_file(request: Request) -> bool:
    """Whether a person followed a link to an uploaded file. It changes nothing, and no page gets to see it.

    No page can set these headers. A frame, an image or a script has another destination.
    """
    is_file = request.method == "GET" and _FILE.fullmatch(request.url.path) is not None
    modes, destinations = map(request.headers.getlist, ("sec-fetch-mode", "sec-fetch-dest"))
    return (
        is_file and (modes, destinations) == (["navigate"], ["document"]) and "origin" not in request.headers
    )


def _is_local_origin(origin: str) -> bool:
    return _ORIGIN.fullmatch(origin) is not None and is_loopback(host_of(origin))


def _without_port(address: str) -> str:
    """The address alone; an IPv6 one may come bare, as no URL has it."""
    return address if address.count(":") > 1 and "[" not in address else host_of(f"//{address}")


def host_of(url: str) -> str:
    """The host that a URL names; empty if none, or not in a way that can be read."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
