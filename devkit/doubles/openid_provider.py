"""An OpenID provider for tests, the certified `oidc-provider` from npm. Its process ends with this one."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import jwt

from devkit.issuer import private_key
from devkit.node import from_npm, node

SERVER = Path(__file__).with_name("openid_provider.mjs")
CLIENT, SECRET = "orc", "a secret/with+signs~"
KEY_ID = "provider"
AUDIENCE = "api://orc"


@dataclass(frozen=True)
class Provider:
    """A running provider, whose key tests know."""

    issuer: str

    def settings(self, origin: str) -> dict[str, Any]:
        """The settings of an Orc that signs in here; its page has this origin."""
        return {
            "auth_mode": "oidc",
            "public_url": origin,
            "jwt_issuer": self.issuer,
            "jwt_audience": AUDIENCE,
            "jwt_claims": {"tenant": "org"},
            "oidc_client_id": CLIENT,
            "oidc_client_secret": SECRET,
        }

    def token_of_a_program(self) -> str:
        """A token that a program got for itself."""
        form = {"grant_type": "client_credentials", "scope": "ask", "resource": AUDIENCE}
        answer = httpx.post(f"{self.issuer}/token", data=form, auth=("robot", SECRET_IN_HEADER))
        assert answer.status_code == 200, answer.text
        return str(answer.json()["access_token"])


SECRET_IN_HEADER = "a%20secret%2Fwith%2Bsigns~"


@contextmanager
def running(*origins: str) -> Iterator[Provider]:
    """A provider for pages of these origins. Raises NotInstalled."""
    from_npm("oidc-provider")
    key = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(private_key(KEY_ID)))
    signing = {name: value for name, value in key.items() if name != "key_ops"} | {
        "kid": KEY_ID,
        "use": "sig",
    }
    given = {"key": signing, "origins": origins}
    with subprocess.Popen(
        [node(), str(SERVER), json.dumps(given)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        try:
            assert server.stdout is not None
            issuer = server.stdout.readline().strip()
            assert issuer.startswith("http"), "the OpenID provider did not start"
            yield Provider(issuer)
        finally:
            server.kill()
