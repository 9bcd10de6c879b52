"""Microsoft Graph as a directory: users and groups of one tenant, asked with the identity of this process."""

import re
from functools import partial

import httpx2

from orc.contexts.people import Person
from orc_core.errors import DependencyDown, OrcError
from orc_core.infra.azure import Credentials, error_translator
from orc_core.infra.resilience import CircuitBreaker

SECONDS = 5.0
MOST = 10
URL, TOKEN_SCOPE = "https://graph.microsoft.com/v1.0", "https://graph.microsoft.com/.default"
_DEPENDENCY, _SERVICE = "directory", "Microsoft Graph"


class MicrosoftGraph:
    """See Directory. Other organizations than `tenant`, by its id, are never asked about."""

    def __init__(self, http: httpx2.AsyncClient, identity: Credentials, tenant: str) -> None:
        self._http = http
        self._identity = identity
        self._tenant = tenant
        self._breaker = CircuitBreaker(_DEPENDENCY, _translate)

    async def find(self, organization_id: str, words: str) -> list[Person]:
        words = re.sub(r'["\\]', " ", words).strip()
        if organization_id != self._tenant or not words:
            return []
        return await self._breaker.call_once(partial(self._search, words))

    async def _search(self, words: str) -> list[Person]:
        # Without the tenant an identity of another one would find people of that one.
        token = await self._identity.default.get_token(TOKEN_SCOPE, tenant_id=self._tenant)
        # Without this header Graph searches for nothing.
        headers = {"Authorization": f"Bearer {token.token}", "ConsistencyLevel": "eventual"}
        named = f'"displayName:{words}"'
        found: list[Person] = []
        for path, search in (("users", f'{named} OR "mail:{words}"'), ("groups", named)):
            asked = {"$search": search, "$select": "id,displayName,mail", "$top": str(MOST)}
            reply = await self._http.get(f"{URL}/{path}", params=asked, headers=headers)
            for each in reply.raise_for_status().json()["value"]:
                name, email = each.get("displayName") or "", each.get("mail") or ""
                kind = "user" if path == "users" else "group"
                found.append(Person(kind=kind, id=each["id"], name=name, email=email))
        return found


def _translate(exc: Exception) -> OrcError | None:
    if isinstance(exc, httpx2.HTTPError | ValueError | KeyError | TypeError):
        message = f"{_SERVICE} did not answer as expected: check its permissions. ({type(exc).__name__})"
        return DependencyDown(message, dependency=_DEPENDENCY)
    return error_translator(_DEPENDENCY, _SERVICE)(exc)
