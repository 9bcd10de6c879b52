"""Arguments that several tools have."""

from typing import Annotated

from pydantic import Field

from core.mcp_contract import MAX_QUERY_CHARACTERS

MAX_ID_CHARACTERS = 200

DocumentId = Annotated[
    str, Field(min_length=1, max_length=MAX_ID_CHARACTERS, description="from documents_list or a search")
]
PageId = Annotated[str, Field(min_length=1, max_length=MAX_ID_CHARACTERS, description="from a search")]
Query = Annotated[
    str,
    Field(min_length=1, max_length=MAX_QUERY_CHARACTERS, description="a question or words to look for"),
]
