"""Settings of the tools server, read from the environment and from `.env`."""

from typing import Literal

from pydantic import AliasChoices, Field, SecretStr

from orc_core.infra.setting_names import Section
from orc_core.infra.settings import CoreSettings, tools_url


class ReadingSettings(Section):
    """How much text of documents that are not indexed is given to the model."""

    unindexed_text_tokens: int = Field(
        default=32_000, description="tokens that are read in full of documents that are not yet indexed"
    )


class WebSearchSettings(Section):
    """Which search engine searches the web."""

    web_search: Literal["auto", "google", "brave", "off"] = Field(
        default="auto",
        description="search engine for the web; auto: Google if its key and engine are set, else Brave if its"
        " key is set, else none; the server does not start if the key of the named engine is missing."
        " Questions are sent to that company; search terms of a model too, but if there are documents only in"
        " words of the user",
    )
    google_search_key: SecretStr | None = Field(
        default=None,
        validation_alias=AliasChoices("GOOGLE_SEARCH_KEY"),
        description="key of Google's Custom Search JSON API, which accepts no new customers and ends on"
        " 1 January 2027",
    )
    google_search_engine: str | None = Field(
        default=None,
        validation_alias=AliasChoices("GOOGLE_SEARCH_ENGINE"),
        description="id of the Google Programmable Search engine",
    )
    google_search_url: str = Field(
        default="https://www.googleapis.com/customsearch/v1",
        validation_alias=AliasChoices("GOOGLE_SEARCH_URL"),
        description="address of Google's Custom Search JSON API",
    )
    brave_search_key: SecretStr | None = Field(
        default=None,
        validation_alias=AliasChoices("BRAVE_SEARCH_KEY"),
        description="key of the Brave Search API",
    )
    brave_search_url: str = Field(
        default="https://api.search.brave.com/res/v1/web/search",
        validation_alias=AliasChoices("BRAVE_SEARCH_URL"),
        description="address of the Brave Search API",
    )

    @property
    def web_search_engine(self) -> Literal["google", "brave"] | None:
        """The engine in use; None without the keys that it needs."""
        has_google = bool(self.google_search_key and self.google_search_engine)
        if has_google and self.web_search in ("auto", "google"):
            return "google"
        return "brave" if self.brave_search_key and self.web_search in ("auto", "brave") else None


class Settings(ReadingSettings, WebSearchSettings, CoreSettings):
    """The address for clients, the scope of a stdio session, reading limits and web search."""

    mcp_public_url: str | None = Field(
        default=None,
        description="address of the tools server for its clients, if it differs from where it listens",
    )
    mcp_until_stdin_ends: bool = Field(
        default=False, description="set by `orc serve`: exit when standard input ends"
    )
    scope_token: SecretStr | None = Field(
        default=None, description="scope of a stdio session, printed by `orc token`"
    )

    @property
    def mcp_url(self) -> str:
        return self.mcp_public_url or tools_url(self.mcp_host, self.mcp_port)
