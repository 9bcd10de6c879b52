"""Reads the claims of an identity: the organization, the user, and the user's name, roles and groups."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from orc.identity import Principal
from orc.settings import Settings
from orc_core.errors import NotAuthenticated, UnsafeName
from orc_core.names import check_segment, is_reserved

Claims = Mapping[str, Any]
MOST_GROUPS = 250
"""Entra names at most 200 in a token."""
NAME_CHARACTERS = 200


@dataclass(frozen=True)
class ClaimNames:
    """Where an issuer writes what Orc needs. Of several names the first one that is there counts.

    With `only_tenant` all callers are of this organization. If a claim for it was chosen as well, it has to
    name that organization.
    """

    tenant: tuple[str, ...] = ("tid", "http://schemas.microsoft.com/identity/claims/tenantid")
    user: tuple[str, ...] = ("oid", "http://schemas.microsoft.com/identity/claims/objectidentifier", "sub")
    name: tuple[str, ...] = ("name", "preferred_username")
    email: tuple[str, ...] = (
        "email",
        "preferred_username",
        "upn",
        "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress",
    )
    roles: tuple[str, ...] = ("roles", "http://schemas.microsoft.com/ws/2008/06/identity/claims/role")
    groups: tuple[str, ...] = ("groups",)
    only_tenant: str | None = None

    @classmethod
    def of(cls, settings: Settings) -> "ClaimNames":
        """The names that the settings choose, and the usual ones of Entra and of OpenID Connect."""
        names = {field: (name,) for field, name in settings.jwt_claims.items()}
        only = settings.jwt_tenant
        # A tenant that is fixed without a claim is not looked for.
        return cls(only_tenant=only, **({"tenant": ()} if only else {}) | names)

    def are_in(self, claims: Claims) -> bool:
        """Whether the claims have all that is looked for."""
        each = filter(None, (self.tenant, self.user, self.name, self.roles, self.groups))
        return all(any(_claim(claims, name) is not None for name in names) for names in each)


def principal_of(claims: Claims, names: ClaimNames) -> Principal:
    """The caller that verified claims describe. Raises NotAuthenticated if they name none."""
    organization, user = _organization(claims, names), _first(claims, names.user)
    if organization is None or not isinstance(user, str):
        raise NotAuthenticated("The identity names no tenant or no user.")
    try:
        check_segment(organization)
        check_segment(user)
    except UnsafeName as exc:
        raise NotAuthenticated("The identity holds characters that cannot be used.") from exc
    if is_reserved(user):
        raise NotAuthenticated("The identity has a user id that is reserved for Orc itself.")
    known = _known_groups(claims, names)
    # Users may have written any other address into their account. Some issuers send "false" as a text.
    addresses = names.email if str(claims.get("email_verified")).lower() != "false" else ()
    return Principal(
        organization,
        user,
        frozenset(each for each in _all(claims, names.roles) if isinstance(each, str)),
        known or frozenset(),
        groups_complete=known is not None,
        name=next(_shown(claims, names.name), None),
        email=next((each for each in _shown(claims, addresses) if "@" in each), None),
    )


def _shown(claims: Claims, names: tuple[str, ...]) -> Iterator[str]:
    """The values of these claims that can be shown."""
    given = (_claim(claims, name) for name in names)
    texts = (each.strip() for each in given if isinstance(each, str) and each.isprintable())
    return (each[:NAME_CHARACTERS] for each in texts if each)


def _claim(claims: Claims, name: str) -> Any:
    """The claim of this name, or the value inside of others that the parts between its dots lead to."""
    if name in claims:
        return claims[name]
    found: Any = claims
    for part in name.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def _first(claims: Claims, names: tuple[str, ...]) -> Any:
    return next((found for name in names if (found := _claim(claims, name))), None)


def _all(claims: Claims, names: tuple[str, ...]) -> list[object]:
    """The values of all these claims. Some issuers write one value as a text instead of a list."""
    found = [value for name in names if (value := _claim(claims, name)) is not None]
    return [each for value in found for each in (value if isinstance(value, list) else [value])]


def _organization(claims: Claims, names: ClaimNames) -> str | None:
    """The organization; None if the claims name none, or several of which none is chosen."""
    if names.only_tenant and not names.tenant:
        return names.only_tenant
    value = _first(claims, names.tenant)
    # A list or, if facts about each are added, an object with their names as keys: so writes Keycloak.
    named = list(value) if isinstance(value, list | Mapping) else [value]
    if names.only_tenant:
        return names.only_tenant if names.only_tenant in named else None
    return named[0] if len(named) == 1 and isinstance(named[0], str) else None


def _known_groups(claims: Claims, names: ClaimNames) -> frozenset[str] | None:
    """The groups of a user; None if they are too many for the identity, which then names where to ask."""
    named = _all(claims, names.groups)
    # Easy Auth passes a claim that is an object on as text.
    elsewhere = "groups" in str(claims.get("_claim_names", "")) or claims.get("hasgroups")
    if elsewhere or len(named) > MOST_GROUPS or not all(isinstance(group, str) for group in named):
        return None
    return frozenset(each for each in named if isinstance(each, str))
