"""Settings of the tools server, read from the environment and from `.env`."""

from pydantic import Field, SecretStr

from core.settings import CoreSettings


class Settings(CoreSettings):
    """Where the server listens, and the scope of a local stdio session."""

    mcp_host: str = "127.0.0.1"
    mcp_port: int = Field(default=7072, ge=0, le=65535)
    mcp_public_url: str | None = Field(
        default=None, description="the address that clients use, where it differs"
    )
    mcp_until_stdin_ends: bool = Field(
        default=False, description="end with the process that holds the other end of standard input"
    )
    scope_token: SecretStr | None = Field(
        default=None, description="scope of a stdio session, from `orc token`"
    )

    @property
    def mcp_url(self) -> str:
        return self.mcp_public_url or f"http://{self.mcp_host}:{self.mcp_port}/mcp"
