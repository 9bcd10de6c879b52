"""Claims of the usual issuers name the organization, the user, the name, the roles and the groups."""

from typing import Any

import pytest

from orc.api.claims import ClaimNames, principal_of
from orc.settings import Settings
from orc_core.errors import NotAuthenticated

ENTRA = {
    "tid": "t-1",
    "oid": "o-1",
    "sub": "pairwise",
    "name": "Ada L",
    "roles": ["orc.admin"],
    "groups": ["g"],
}
KEYCLOAK = {
    "sub": "k-1",
    "preferred_username": "ada",
    "realm_access": {"roles": ["orc.admin", "reader"]},
    "groups": ["/staff/quay"],
}
AUTH0 = {"sub": "auth0|1", "org_id": "org_1", "name": "Ada", "https://orc.example.com/roles": ["reader"]}
OKTA = {"sub": "00u1", "name": "Ada", "groups": ["Everyone"]}
GOOGLE = {"sub": "108", "hd": "acme.com", "name": "Ada", "email": "ada@acme.com"}


@pytest.mark.parametrize(
    ("claims", "settings", "expected"),
    [
        ({**ENTRA, "preferred_username": "ada@acme.com"}, {}, "ada@acme.com"),
        ({**ENTRA, "preferred_username": "ada"}, {}, None),
        ({**ENTRA, "mail": "ada@acme.com"}, {"jwt_claims": {"email": "mail"}}, "ada@acme.com"),
        ({**ENTRA, "email": 5, "upn": "ada@acme.com"}, {}, "ada@acme.com"),
        # Anybody may have written it into an account.
        ({**ENTRA, "email": "ada@acme.com", "email_verified": False}, {}, None),
        ({**ENTRA, "email": "ada@acme.com", "email_verified": "False"}, {}, None),
        ({**ENTRA, "email": "ada@acme.com", "email_verified": True}, {}, "ada@acme.com"),
        ({**ENTRA, "email": "ada@acme.com", "email_verified": "true"}, {}, "ada@acme.com"),
    ],
)
def test_a_verified_address_is_that_of_the_user(
    claims: dict[str, Any], settings: dict[str, Any], expected: str | None
) -> None:
    assert principal_of(claims, ClaimNames.of(Settings(**settings))).email == expected


def read(claims: dict[str, Any], **settings: Any) -> tuple[str, str, str | None, set[str], set[str]]:
    who = principal_of(claims, ClaimNames.of(Settings(**settings)))
    return who.organization_id, who.user_id, who.name, set(who.roles), set(who.groups)


@pytest.mark.parametrize(
    ("claims", "settings", "expected"),
    [
        (ENTRA, {}, ("t-1", "o-1", "Ada L", {"orc.admin"}, {"g"})),
        (
            KEYCLOAK,
            {"jwt_tenant": "acme", "jwt_claims": {"roles": "realm_access.roles"}},
            ("acme", "k-1", "ada", {"orc.admin", "reader"}, {"/staff/quay"}),
        ),
        (
            {**KEYCLOAK, "organization": ["acme"]},
            {"jwt_claims": {"tenant": "organization"}},
            ("acme", "k-1", "ada", set(), {"/staff/quay"}),
        ),
        (
            {**KEYCLOAK, "organization": {"acme": {"id": "1"}}},
            {"jwt_claims": {"tenant": "organization"}},
            ("acme", "k-1", "ada", set(), {"/staff/quay"}),
        ),
        (
            {**KEYCLOAK, "organization": ["globex", "acme"]},
            {"jwt_tenant": "acme", "jwt_claims": {"tenant": "organization"}},
            ("acme", "k-1", "ada", set(), {"/staff/quay"}),
        ),
        (
            AUTH0,
            {"jwt_claims": {"tenant": "org_id", "roles": "https://orc.example.com/roles"}},
            ("org_1", "auth0|1", "Ada", {"reader"}, set()),
        ),
        (OKTA, {"jwt_tenant": "acme"}, ("acme", "00u1", "Ada", set(), {"Everyone"})),
        (
            GOOGLE,
            {"jwt_tenant": "acme.com", "jwt_claims": {"tenant": "hd"}},
            ("acme.com", "108", "Ada", set(), set()),
        ),
    ],
    ids=["Entra", "Keycloak", "organizations", "with facts", "one of several", "Auth0", "Okta", "Google"],
)
def test_claims_of_an_issuer_name_a_caller(
    claims: dict[str, Any], settings: dict[str, Any], expected: tuple[object, ...]
) -> None:
    assert read(claims, **settings) == expected


@pytest.mark.parametrize(
    ("claims", "settings"),
    [
        (KEYCLOAK, {}),
        (ENTRA, {"jwt_claims": {"tenant": "org_id"}}),
        (ENTRA, {"jwt_claims": {"user": "email"}}),
        ({**GOOGLE, "hd": "globex.com"}, {"jwt_tenant": "acme.com", "jwt_claims": {"tenant": "hd"}}),
        ({"sub": "108"}, {"jwt_tenant": "acme.com", "jwt_claims": {"tenant": "hd"}}),
        ({**KEYCLOAK, "organization": ["acme", "globex"]}, {"jwt_claims": {"tenant": "organization"}}),
        ({**KEYCLOAK, "organization": {}}, {"jwt_claims": {"tenant": "organization"}}),
        ({**KEYCLOAK, "a": {"b": {"c": "acme", "d": "x"}}}, {"jwt_claims": {"tenant": "a.b"}}),
        ({**KEYCLOAK, "sub": "~contexts"}, {"jwt_tenant": "acme"}),
    ],
    ids=[
        "no tenant", "another claim", "no such user claim", "another domain", "no domain", "several", "none",
        "an object", "reserved",
    ],
)  # fmt: skip
def test_claims_that_name_no_single_organization_and_user_are_refused(
    claims: dict[str, Any], settings: dict[str, Any]
) -> None:
    with pytest.raises(NotAuthenticated):
        read(claims, **settings)
