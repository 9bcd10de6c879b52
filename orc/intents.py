"""Kinds of questions, and what each brings with it: a model, a cap on its words, a way to look things up."""

from typing import Literal

from pydantic import ConfigDict, Field

from orc_core.models import Record

Step = Literal["retrieve", "web_search", "both", "answer"]
"""What a plan is made of. `both`: documents and web side by side."""

Retriever = Literal["document_chat", "search", "summaries", "tools", "web", "none"]
"""How a turn looks things up by default: named documents, a search for passages, one for summaries first,
tools that the model chooses, the web, or nothing."""

MAX_STEPS = 4


class Intent(Record):
    """One kind of question. What is None is as for every other kind."""

    # Written by people, in a setting: a field with a wrong name would otherwise do nothing, silently.
    model_config = ConfigDict(extra="forbid")

    description: str = Field(default="", description="for the model that tells the kinds apart")
    keywords: list[str] = Field(default=[], description="a question with one of these is of this kind")
    model: str | None = Field(default=None, description="answers; one of the configured models")
    max_output_tokens: int | None = Field(default=None, ge=1, description="how long an answer may become")
    retriever: Retriever | None = None
