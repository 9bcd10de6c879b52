"""The port of a search engine, and the filters for its results."""

import ipaddress
import re
import unicodedata
from typing import Protocol

import httpx2

from orc_core.models import Record

MOST_PAGES = 10
"""The most results of one search; Google returns no more at a time."""
MOST_WORDS, MOST_CHARACTERS = 50, 400
"""The longest query that Brave accepts."""


class WebPage(Record):
    """A page as a search engine quotes it, in plain text. Its content is not trusted."""

    title: str
    url: str
    text: str


class WebSearch(Protocol):
    """A search engine. `name` is its name in the settings."""

    @property
    def name(self) -> str: ...

    async def search(self, query: str, limit: int) -> list[WebPage]:
        """At most `limit` pages, best first; `query` and `limit` are within the limits above.

        Raises DependencyDown, with what to do if a retry does not help.
        """
        ...


LONGEST_URL = 2000
_KEPT = "\n\u200c\u200d"
"""Line ends and joiners."""
_SHOWN_AS = dict.fromkeys(("Cf", "Cs", "Co", "Cn"), "") | dict.fromkeys(("Cc", "Zl", "Zp"), " ")
"""Unicode categories that cannot be seen, and those of line ends and controls."""
_SPACES = re.compile(r"[^\S\n]+")
_LINES = re.compile(r"\s*\n\s*")
_HOST = re.compile(r"(?=.{1,253}\Z)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})+")
_NUMBER = re.compile(r"(?:.*\.)?(?:\d+|0x[0-9a-f]*)")
"""Browsers read a host that ends in a number as an address, in whatever notation."""
_OWN_NETWORK = re.compile(r"(?:.*\.)?(?:localhost|local|internal|lan|home|corp|intranet|home\.arpa)")


def plain_text(text: str, longest: int) -> str:
    """The text without what cannot be seen, spaces and line ends single, at most `longest` characters."""
    seen = "".join(_SHOWN_AS.get(unicodedata.category(c), c) if c not in _KEPT else c for c in text)
    return _LINES.sub("\n", _SPACES.sub(" ", seen)).strip()[:longest].rstrip()


def public_address(url: str) -> str | None:
    """A page's address in ASCII; None if it is not on the public web.

    That is any scheme but http and https, an address with a user in it, and hosts in a private network.
    It is never fetched here, but a reader may follow it.
    """
    try:
        parsed = httpx2.URL(url.strip())
        host = parsed.raw_host.decode("ascii").rstrip(".").lower()
    except (httpx2.InvalidURL, UnicodeError):
        return None
    address = str(parsed).replace("[", "%5B").replace("]", "%5D")
    if parsed.scheme not in ("http", "https") or parsed.userinfo or not _is_public(host):
        return None
    return address if len(address) <= LONGEST_URL and address.isprintable() else None


def _is_public(host: str) -> bool:
    if _NUMBER.fullmatch(host):
        try:
            return ipaddress.IPv4Address(host).is_global
        except ValueError:
            return False
    return bool(_HOST.fullmatch(host)) and not _OWN_NETWORK.fullmatch(host)
