"""The MCP interface as a protected resource of OAuth 2.1, as MCP's specification has it (RFC 9728)."""

from dataclasses import dataclass
from typing import Any

from orc.api.sign_in import origin_of
from orc.settings import AuthMode, Settings
from orc_core.errors import InvalidInput

MCP_PATH = "/mcp"
METADATA_PATH = f"/.well-known/oauth-protected-resource{MCP_PATH}"


@dataclass(frozen=True)
class McpResource:
    """Where clients find the interface, and of which issuer and audience their tokens are."""

    origin: str
    issuer: str
    audience: str
    scopes: list[str]

    @classmethod
    def of(cls, settings: Settings) -> "McpResource | None":
        """None unless callers have tokens of an issuer and the address of this server is one for clients.

        Raises InvalidInput for an audience that other tokens of the same issuer have.
        """
        if settings.auth_mode not in (AuthMode.JWT, AuthMode.OIDC) or not settings.public_url:
            return None
        try:
            origin = origin_of(settings.public_url)
        except InvalidInput:
            # The sign-in of a page needs such an address, and says so; bearer tokens do not.
            return None
        audience = settings.mcp_audience or origin + MCP_PATH
        if audience in (settings.jwt_audience, settings.oidc_client_id):
            raise InvalidInput(
                "The audience of MCP clients is that of ORC_JWT_AUDIENCE or ORC_OIDC_CLIENT_ID: a token for"
                " one interface would be one for the other."
            )
        return cls(origin, str(settings.jwt_issuer), audience, settings.mcp_scope.split())

    @property
    def metadata(self) -> dict[str, Any]:
        """What clients read to find the issuer (RFC 9728)."""
        return {
            "resource": self.origin + MCP_PATH,
            "resource_name": "Orc",
            "authorization_servers": [self.issuer],
            "scopes_supported": self.scopes,
            "bearer_methods_supported": ["header"],
        }

    def challenge(self, *, has_token: bool) -> str:
        """The header `WWW-Authenticate` of a refusal, by which clients begin a sign-in."""
        error = 'error="invalid_token", ' if has_token else ""
        scope = " ".join(self.scopes)
        return f'Bearer {error}scope="{scope}", resource_metadata="{self.origin}{METADATA_PATH}"'
