"""Forged, expired and mixed-up tokens, cookies, states and addresses, by what is wrong with each."""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Iterator, Mapping
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from devkit.issuer import Issuer, private_key

Claims = Mapping[str, Any]
STRANGER = "stranger"
"""The id of a key that the issuer does not publish."""
LEEWAY = 60
_GONE = object()
_RS256 = jwt.algorithms.RSAAlgorithm(jwt.algorithms.RSAAlgorithm.SHA256)


def text_of(part: bytes) -> str:
    return base64.urlsafe_b64encode(part).rstrip(b"=").decode()


def joined(header: Claims, claims: Claims, signature: bytes = b"") -> str:
    """A token with any header and any signature."""
    return ".".join(map(text_of, (json.dumps(header).encode(), json.dumps(claims).encode(), signature)))


def without(claims: Claims, **changes: object) -> dict[str, Any]:
    """These claims with changes; `_GONE` removes one."""
    return {name: value for name, value in {**claims, **changes}.items() if value is not _GONE}


def signed(claims: Claims, key_id: str = "k1", **header: object) -> str:
    """A token with a right signature, unless a header says otherwise."""
    # Not by the library: it refuses to write some of what it has to refuse to read.
    start = joined({"alg": "RS256", "typ": "JWT", "kid": "k1", **header}, claims).rpartition(".")[0]
    return f"{start}.{text_of(_RS256.sign(start.encode(), private_key(key_id)))}"


def by_signature(right: Claims) -> Iterator[tuple[str, str]]:
    """Tokens whose claims are right, and whose signature, key or header is not."""
    good = signed(right)
    head, body, signature = good.split(".")
    public = private_key("k1").public_key()
    pem = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    der = public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    jwk = jwt.algorithms.RSAAlgorithm.to_jwk(public).encode()
    secrets = {
        "PEM": pem,
        "PEM without end": pem.strip(),
        "DER": der,
        "JWK": jwk,
        "nothing": b"",
        "id": b"k1",
    }
    for bits in (256, 384, 512):
        for name, secret in secrets.items():
            header = {"alg": f"HS{bits}", "kid": "k1", "typ": "JWT"}
            start = joined(header, right).rpartition(".")[0]
            made = hmac.digest(secret, start.encode(), f"sha{bits}")
            yield f"HS{bits} with the public key as a secret: {name}", f"{start}.{text_of(made)}"
    for word in ("none", "None", "NONE", "nOnE", "", "rs256", "RS256 ", None, 256, ["RS256"]):
        yield f"algorithm {word!r}, unsigned", joined({"alg": word, "kid": "k1"}, right)
        yield f"algorithm {word!r}, signature kept", f"{joined({'alg': word, 'kid': 'k1'}, right)}{signature}"
    for other in ("RS384", "RS512", "PS256", "PS384", "PS512"):
        yield f"algorithm {other}", jwt.encode(dict(right), private_key("k1"), other, headers={"kid": "k1"})
    curve = ec.generate_private_key(ec.SECP256R1())
    yield "a key of another kind", jwt.encode(dict(right), curve, "ES256", headers={"kid": "k1"})
    stranger = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    own = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(stranger.public_key()))
    for name, header in {
        "of a stranger": {},
        "in the header": {"jwk": own},
        "at an address in the header": {"jku": "https://evil.example/keys"},
        "in a certificate at an address": {"x5u": "https://evil.example/chain"},
        "in a certificate": {"x5c": ["MIIB"]},
    }.items():
        yield f"a key {name}", jwt.encode(dict(right), stranger, "RS256", headers={"kid": "k1", **header})
    for kid in (None, "", "k2", "K1", "k1 ", "../k1", "k1' OR '1'='1", STRANGER):
        yield f"key id {kid!r}", signed(right, STRANGER, kid=kid)
    for kind in ("logout+jwt", "secevent+jwt", "dpop+jwt", "oauth-authz-req+jwt", "JOSE", "kb+jwt"):
        yield f"of the type {kind}", signed(right, typ=kind)
    yield "with an unknown rule", signed(right, crit=["new"], new=1)
    yield "detached", f"{head}..{signature}"
    for at in range(0, len(signature), 16):
        changed = signature[:at] + ("A" if signature[at] != "A" else "B") + signature[at + 1 :]
        yield f"signature changed at {at}", f"{head}.{body}.{changed}"
    for cut in (0, 1, 2, 100, len(signature) - 1):
        yield f"signature cut at {cut}", f"{head}.{body}.{signature[:cut]}"
    for name, value in {"oid": "eve", "tid": "globex", "exp": 2**40, "roles": ["orc.admin"]}.items():
        changed = text_of(json.dumps({**right, name: value}).encode())
        yield f"{name} changed after signing", f"{head}.{changed}.{signature}"
    for name, text in {
        "one part": head,
        "two parts": f"{head}.{body}",
        "four parts": f"{good}.{body}",
    }.items():
        yield name, text
    for text in ("", ".", "..", "...", "null", "{}", "a.b.c", "=.=.=", "\x7f", good[::-1], good.upper()):
        yield f"the text {text[:12]!r}", text


def by_claims(right: Claims) -> Iterator[tuple[str, dict[str, Any]]]:
    """Claims that a right signature does not make right."""
    now = int(time.time())
    issuer, audience = str(right["iss"]), str(right["aud"])
    issuers: list[object] = ["https://evil.example", issuer + "/", issuer.upper(), issuer + ".evil.example"]
    for wrong in (*issuers, "", None, [issuer], 1):
        yield f"issuer {wrong!r}", without(right, iss=wrong)
    audiences: list[object] = ["other", audience + "/", audience.upper(), audience[:-1], ""]
    for wrong in (*audiences, None, [], ["other"], {audience: 1}, 7):
        yield f"audience {wrong!r}", without(right, aud=wrong)
    for seconds in (LEEWAY + 2, LEEWAY + 60, 3600, 86_400, now):
        yield f"expired for {seconds} s", without(right, exp=now - seconds)
    ends: list[object] = [None, "never", [], {}, -1, 0, "", -(2**40)]
    for never in ends:
        yield f"expiry {never!r}", without(right, exp=never)
    for seconds in (LEEWAY + 30, 3600, 86_400):
        yield f"valid in {seconds} s only", without(right, nbf=now + seconds)
        yield f"issued in {seconds} s", without(right, iat=now + seconds)
    for name in ("iss", "aud", "exp", "tid"):
        yield f"no {name}", without(right, **{name: _GONE})
    yield "no user", without(right, oid=_GONE, sub=_GONE)
    unusable: list[object] = [None, "", 7, True, [], {}, ["a", "b"], {"a": 1, "b": 2}]
    unusable += ["a/b", "..", ".", "a\\b", "a\x00b", "a%2fb", "\ud800"]
    for value in unusable:
        yield f"organization {value!r}", without(right, tid=value)
        yield f"user {value!r}", without(right, oid=value, sub=value)
    for user in ("~contexts", "~", ["ann"], {"ann": 1}):
        yield f"user {user!r}", without(right, oid=user)


def by_id_token(right: Claims, access_token: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Claims of ID tokens that do not belong to the sign-in, beyond `by_claims`."""
    client = str(right["aud"])
    for nonce in ("", None, "another", str(right["nonce"])[:-1], [right["nonce"]], 0, True, _GONE):
        yield f"nonce {'gone' if nonce is _GONE else repr(nonce)}", without(right, nonce=nonce)
    for azp in ("other", client.upper(), [client], 7):
        yield f"for the party {azp!r}", without(right, azp=azp)
    for several in ([client, "other"], ["other", client]):
        yield f"for {several}, and no party", without(right, aud=several)
        yield f"for {several}, and another party", without(right, aud=several, azp="other")
    for name in ("iat", "sub"):
        yield f"no {name}", without(right, **{name: _GONE})
    half = hashlib.sha256(b"another" + access_token.encode()).digest()[:16]
    yield "of another access token", without(right, at_hash=text_of(half))
    yield "the hash of an access token is a number", without(right, at_hash="7")


def places() -> Iterator[str]:
    """Addresses that a sign-in must not lead to."""
    hosts = ("evil.example", "evil.example:443", "evil.example/#/c", "127.0.0.1:1", "user@evil.example")
    starts = [
        "//",
        "https://",
        "http://",
        "/\\",
        "\\\\",
        "\\/",
        "///",
        "/\t/",
        "/\n/",
        "https:",
        "//\\",
        "/%2f",
    ]
    yield from (start + host for host in hosts for start in starts)
    yield from (
        "javascript:alert(1)",
        "data:text/html,x",
        "/api/sign-out",
        "/api/sign-in",
        "/\r\nset-cookie: a=b",
    )
    yield from ("/#/ x", "/#\n", "/#é", "/#\x00", " /", "#/contexts", "/?a#b", "", "..")
    yield from (".evil.example", "@evil.example", ":1/")


def issued(issuer: Issuer, audience: str) -> dict[str, Any]:
    """The claims of a token that is right."""
    now = int(time.time())
    usual = {"iss": issuer.name, "aud": audience, "iat": now, "exp": now + 600}
    return {**usual, "tid": "acme", "oid": "ada", "sub": "ada"}
