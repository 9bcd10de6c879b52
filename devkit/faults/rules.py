"""What may go wrong on the way to a server, and how each kind of server says no."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random


class Kind(StrEnum):
    """The faults. REFUSE hits a connection, the others a request."""

    REFUSE = "connection refused"
    RESET_BEFORE = "reset before the request went on"
    RESET_AFTER = "reset after the request took effect"
    CUT = "response cut"
    DELAY = "delay"
    STATUS = "refused by status"


@dataclass(frozen=True)
class Refusal:
    """An answer that never came from the server. With `only_with`, to requests that have this header."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    only_with: str | None = None

    def as_response(self) -> bytes:
        """The whole answer as it goes over the wire."""
        headers = {"content-type": "application/json", **self.headers, "content-length": str(len(self.body))}
        lines = [f"HTTP/1.1 {self.status} Injected", *(f"{name}: {value}" for name, value in headers.items())]
        return "\r\n".join([*lines, "\r\n"]).encode() + self.body


@dataclass(frozen=True)
class Fault:
    """One fault as it was drawn. `pieces` of a response pass before it is cut."""

    kind: Kind
    refusal: Refusal | None = None
    seconds: float = 0.0
    pieces: int = 0


@dataclass(frozen=True)
class Rules:
    """Which faults a server may have, each equally often."""

    refusals: tuple[Refusal, ...] = ()
    kinds: tuple[Kind, ...] = tuple(Kind)
    longest_delay: float = 0.3
    most_pieces: int = 6

    def draw(self, random: Random, rate: float, headers: Mapping[str, str]) -> Fault | None:
        """The fault of the next request, if it has one. Takes as much of `random` whatever it draws."""
        struck = random.random() < rate
        kind = random.choice([kind for kind in self.kinds if kind is not Kind.REFUSE])
        refusal = random.choice(self.refusals) if self.refusals else None
        seconds, pieces = random.uniform(0, self.longest_delay), random.randint(0, self.most_pieces)
        if not struck:
            return None
        if kind is Kind.STATUS and (refusal is None or not _fits(refusal, headers)):
            kind = Kind.DELAY
        return Fault(kind, refusal, seconds, pieces)


def _fits(refusal: Refusal, headers: Mapping[str, str]) -> bool:
    return refusal.only_with is None or refusal.only_with in headers


def _openai(status: int, code: str, headers: Mapping[str, str] | None = None) -> Refusal:
    error = {"message": "injected", "type": code, "param": None, "code": code}
    return Refusal(status, json.dumps({"error": error}).encode(), headers or {})


def _cosmos(status: int, code: str, only_with: str | None = None, **headers: str) -> Refusal:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Refusal(status, json.dumps({"code": code, "message": "injected"}).encode(), named, only_with)


def _storage(status: int, code: str) -> Refusal:
    body = (
        f'<?xml version="1.0" encoding="utf-8"?><Error><Code>{code}</Code><Message>injected</Message></Error>'
    )
    return Refusal(status, body.encode(), {"content-type": "application/xml", "x-ms-error-code": code})


PLAIN = Rules((Refusal(503, b"{}", {"retry-after": "0"}),))

MODEL = Rules(
    (
        _openai(429, "rate_limit_exceeded", {"retry-after-ms": "50"}),
        _openai(500, "server_error"),
        _openai(503, "server_overloaded"),
    )
)

TOOLS = Rules((Refusal(503, b'{"detail": "injected"}'), Refusal(502, b'{"detail": "injected"}')))

COSMOS = Rules(
    (
        _cosmos(429, "TooManyRequests", x_ms_retry_after_ms="20", x_ms_substatus="3200"),
        _cosmos(449, "RetryWith"),
        _cosmos(503, "ServiceUnavailable"),
        _cosmos(408, "RequestTimeout"),
        _cosmos(412, "PreconditionFailed", only_with="if-match"),
    ),
    longest_delay=0.1,
)

STORAGE = Rules(
    (_storage(503, "ServerBusy"), _storage(500, "OperationTimedOut"), _storage(500, "InternalError"))
)

CLIENTS = Rules(kinds=tuple(kind for kind in Kind if kind is not Kind.STATUS))
"""Between clients and the API: connection faults only, no injected responses."""
