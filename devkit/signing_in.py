"""A person with a browser of few abilities, who signs in at an Orc and at its OpenID provider."""

import html
import re
from dataclasses import dataclass, field
from urllib.parse import urljoin

import httpx
from starlette.types import ASGIApp

_FORM = re.compile(r'<form[^>]*\baction="([^"]+)"')
_HIDDEN = re.compile(r'<input type="hidden" name="([^"]+)" value="([^"]+)"')


@dataclass
class Person:
    """A person, known to the provider as `name`; each has an own jar of cookies at both servers.

    `orc` asks the app, or the server at `origin` if there is none.
    """

    app: ASGIApp | None
    origin: str
    name: str
    orc: httpx.AsyncClient = field(init=False)
    provider: httpx.AsyncClient = field(init=False)

    def __post_init__(self) -> None:
        # Without connections that stay open there is nothing to close.
        self.provider = httpx.AsyncClient(limits=httpx.Limits(max_keepalive_connections=0))
        transport = httpx.ASGITransport(self.app) if self.app else None
        self.orc = httpx.AsyncClient(
            transport=transport, base_url=self.origin, headers={"origin": self.origin}
        )

    async def begin(self, place: str = "/") -> str:
        """Follow the link to sign in; the address at the provider."""
        answer = await self.orc.get("/api/sign-in", params={"post_login_redirect_uri": place})
        assert answer.status_code == 302, answer.text
        return answer.headers["location"]

    async def agree(self, address: str) -> str:
        """Give name and password at the provider, if it asks; the address that it leads back to."""
        while not address.startswith(self.origin):
            page = await self.provider.get(address)
            if not page.has_redirect_location:
                form = _FORM.search(page.text)
                assert form, page.text
                given = {**dict(_HIDDEN.findall(page.text)), "login": self.name, "password": "any"}
                page = await self.provider.post(urljoin(address, html.unescape(form[1])), data=given)
            address = urljoin(address, page.headers["location"])
        return address

    async def sign_in(self, place: str = "/") -> httpx.Response:
        """All of it; the answer that leads into the page."""
        return await self.orc.get(await self.agree(await self.begin(place)))

    async def is_signed_in(self) -> bool:
        """Whether the API knows this browser."""
        return (await self.orc.get("/api/me")).status_code == 200
