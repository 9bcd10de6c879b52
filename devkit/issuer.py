"""An issuer of tokens on loopback: publishes its keys, and can withdraw them, fail, fall silent or lie."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Semaphore, Thread
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

NAME, AUDIENCE = "https://login.example.com/t/v2.0", "api://orc"


@cache
def private_key(key_id: str) -> rsa.RSAPrivateKey:
    """The key of this id, the same in all tests of a process."""
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


@dataclass
class Issuer:
    """What is published at `url`, and how. `fetches` counts requests; each releases `arrivals` once.

    `tokens` is what it gives for any code, and `person` what it says of the user; None: it does not say.
    An HTTPStatus is that of a refusal.
    """

    url: str = ""
    name: str = NAME
    tokens: object = None
    person: object = None
    says_issuer: bool = False
    published: list[str] = field(default_factory=lambda: ["k1"])
    status: int = 200
    fetches: int = 0
    answers: Event = field(default_factory=Event)
    arrivals: Semaphore = field(default_factory=lambda: Semaphore(0))

    def __post_init__(self) -> None:
        self.answers.set()

    @property
    def key_set(self) -> bytes:
        """The JWKS document."""
        keys = [
            {**json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(private_key(each).public_key())), "kid": each}
            for each in self.published
        ]
        return json.dumps({"keys": [{**each, "use": "sig"} for each in keys]}).encode()

    @property
    def description(self) -> dict[str, Any]:
        """What it says of itself at the well-known address."""
        names = ("authorization", "token", "userinfo", "end_session")
        addresses = {f"{name}_endpoint": f"{self.name}/{name}" for name in names}
        says = {"authorization_response_iss_parameter_supported": self.says_issuer}
        return {"issuer": self.name, "jwks_uri": self.url, **addresses, **says}

    def answer(self, path: str) -> tuple[int, bytes]:
        """Status and body for a path."""
        if path == "/keys":
            return self.status, self.key_set
        found = {
            "/.well-known/openid-configuration": self.description,
            "/token": self.tokens,
            "/userinfo": self.person,
        }.get(path)
        if isinstance(found, HTTPStatus):
            return found, b""
        return (404, b"") if found is None else (self.status, json.dumps(found).encode())

    def token(self, key_id: str = "k1", *, signed_with: str = "k1", **claims: Any) -> str:
        """A token with this issuer's claims that names one key and is signed with that of `signed_with`."""
        usual = {
            "iss": self.name,
            "aud": AUDIENCE,
            "exp": int(time.time()) + 3600,
            "tid": "contoso",
            "oid": "ada",
        }
        return jwt.encode({**usual, **claims}, private_key(signed_with), "RS256", headers={"kid": key_id})


@contextmanager
def issuing() -> Iterator[Issuer]:
    """An issuer that serves its keys until the context ends."""
    issuer = Issuer()

    class Keys(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            issuer.fetches += 1
            issuer.arrivals.release()
            status, body = issuer.answer(self.path)
            issuer.answers.wait()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.do_GET()

        def handle(self) -> None:
            try:
                super().handle()
            except ConnectionError:  # the caller no longer waits
                return

        def log_message(self, *args: Any) -> None:
            return None

    with ThreadingHTTPServer(("127.0.0.1", 0), Keys) as server:
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        issuer.url = f"http://127.0.0.1:{server.server_port}/keys"
        try:
            yield issuer
        finally:
            issuer.answers.set()
            server.shutdown()
