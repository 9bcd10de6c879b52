"""Who is calling a tool: the verified scope token of the request, or of the stdio session."""

from collections.abc import Callable

from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import AccessToken, TokenVerifier

from orc_core.documents.scope import Scope, ScopeTokens
from orc_core.errors import NotAuthenticated

REQUIRED_SCOPE = "documents.read"


class ScopeTokenVerifier(TokenVerifier):
    """Accepts the orchestrator's scope tokens and nothing else."""

    def __init__(self, tokens: ScopeTokens) -> None:
        self._tokens = tokens

    async def verify_token(self, token: str) -> AccessToken | None:
        try:
            scope, expires_at = self._tokens.verify(token)
        except NotAuthenticated:
            return None
        return AccessToken(
            token=token,
            client_id="orc",
            scopes=[REQUIRED_SCOPE],
            expires_at=expires_at,
            subject=f"{scope.organization_id}/{scope.user_id}",
            claims={"scope": scope},
        )


def request_scope() -> Scope:
    """The scope of the HTTP request that is being served."""
    token = get_access_token()
    scope = token.claims.get("scope") if token is not None and token.claims is not None else None
    if not isinstance(scope, Scope):
        raise NotAuthenticated("This call carries no scope token.")
    return scope


def session_scope(tokens: ScopeTokens, token: str | None) -> Callable[[], Scope]:
    """The scope of a stdio session, verified at every call since tokens expire."""

    def scope() -> Scope:
        if token is None:
            raise NotAuthenticated(
                "This session has no scope. Set ORC_SCOPE_TOKEN to what `orc token` prints, or use `orc mcp`."
            )
        return tokens.verify(token)[0]

    return scope
