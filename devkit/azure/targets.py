"""Where the tests find Azure's services: emulators, or real services named in the environment.

docs/azure.md says how to name real ones.
"""

import os
from dataclasses import dataclass

PREFIX = "ORC_TEST_"


@dataclass(frozen=True)
class Target:
    """A service's address and key; no key: the identity of the user who runs the tests."""

    url: str
    key: str | None = None
    queue_url: str | None = None


def real(service: str) -> Target | None:
    """The real `COSMOS`, `STORAGE` or `SEARCH` that ORC_TEST_<service>_URL names, if it does."""
    url = os.environ.get(f"{PREFIX}{service}_URL")
    return Target(url, os.environ.get(f"{PREFIX}{service}_KEY")) if url else None
