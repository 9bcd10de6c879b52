"""Settings of the tools server, read from the environment and from `.env`."""

from typing import Literal

from pydantic import AliasChoices, Field, SecretStr

from core.infra.settings import CoreSettings


class Settings(CoreSettings):
    """Where the server listens, the scope of a local stdio session, and the limits of tools."""

    mcp_host: str = Field(default="127.0.0.1", description="address on which the server listens")
    mcp_port: int = Field(
        default=7072,
        ge=0,
        le=65535,
        description="and its port; `python -m mcp_server` alone goes by it, `orc serve` by MCP_SERVER_URL",
    )
    mcp_public_url: str | None = Field(
        default=None, description="the address that clients use, where it differs"
    )
    mcp_until_stdin_ends: bool = Field(
        default=False, description="end with the process that holds the other end of standard input"
    )
    scope_token: SecretStr | None = Field(
        default=None, description="scope of a stdio session, from `orc token`"
    )
    page_characters: int = Field(default=20_000, ge=1, description="text of one page that get_page returns")
    content_characters: int = Field(
        default=8000, ge=1, description="documents_get_content returns longer texts as summaries"
    )
    analyze_model_calls: int = Field(default=40, ge=2, description="for one documents_analyze")
    analyze_part_tokens: int = Field(default=6000, ge=1000, description="of a document, read at once")
    analyze_largest_part_tokens: int = Field(
        default=12_000, ge=4000, description="where the calls would not suffice otherwise"
    )

    web_search: Literal["auto", "google", "brave", "off"] = Field(
        default="auto",
        description="who searches the web; auto: Google where its key and engine are set, else Brave where"
        " its key is, else nobody; one that is named and lacks its key keeps the server from starting."
        " Questions, or what a model makes of them, then go to that company",
    )
    google_search_key: SecretStr | None = Field(
        default=None,
        validation_alias=AliasChoices("GOOGLE_SEARCH_KEY"),
        description="of Google's Programmable Search (Custom Search JSON API), which takes no new customers"
        " and ends on 1 January 2027",
    )
    google_search_engine: str | None = Field(
        default=None,
        validation_alias=AliasChoices("GOOGLE_SEARCH_ENGINE"),
        description="the id of the search engine there",
    )
    brave_search_key: SecretStr | None = Field(
        default=None, validation_alias=AliasChoices("BRAVE_SEARCH_KEY"), description="of Brave's Search API"
    )
    google_search_url: str = Field(
        default="https://www.googleapis.com/customsearch/v1",
        validation_alias=AliasChoices("GOOGLE_SEARCH_URL"),
        description="where it answers",
    )
    brave_search_url: str = Field(
        default="https://api.search.brave.com/res/v1/web/search",
        validation_alias=AliasChoices("BRAVE_SEARCH_URL"),
        description="where it answers",
    )
    web_search_seconds: float = Field(default=8.0, gt=0, description="how long a search of the web may take")

    @property
    def web_search_engine(self) -> Literal["google", "brave"] | None:
        """Who is asked; None without the keys that it takes."""
        has_google = bool(self.google_search_key and self.google_search_engine)
        if has_google and self.web_search in ("auto", "google"):
            return "google"
        return "brave" if self.brave_search_key and self.web_search in ("auto", "brave") else None

    @property
    def mcp_url(self) -> str:
        return self.mcp_public_url or f"http://{self.mcp_host}:{self.mcp_port}/mcp"
