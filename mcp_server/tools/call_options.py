"""What a call of document_chat asks for in its `_meta`."""

from typing import Annotated

from mcp.server.mcpserver import Context
from pydantic import Field, ValidationError

from orc_core.documents.image_limits import ImageLimits
from orc_core.errors import InvalidInput
from orc_core.grounding.sources import without_markers
from orc_core.llm.messages import USER_WANTS, fence_remembered, remembered_line
from orc_core.mcp_contract import (
    CAP_META_KEY,
    HISTORY_META_KEY,
    IMAGES_META_KEY,
    MAX_WISHES,
    MODEL_META_KEY,
    WHOLE_META_KEY,
    WISHES_META_KEY,
    Said,
)
from orc_core.models import Record

LONGEST_NAME = 200
MAX_WISH_CHARACTERS, MAX_HISTORY = 300, 200


class CallOptions(Record):
    """The model that writes the answer (None: the default one), the longest answer in tokens, how many
    documents may be read whole together, the user's wishes for the form of the answer, what pictures of
    pages the model may be sent (None: none), and what was said before."""

    model: str | None = Field(default=None, max_length=LONGEST_NAME)
    max_tokens: int | None = Field(default=None, ge=1)
    whole_documents: int | None = Field(default=None, ge=1)
    wishes: list[Annotated[str, Field(max_length=MAX_WISH_CHARACTERS)]] = Field(
        default=[], max_length=MAX_WISHES
    )
    images: ImageLimits | None = None
    history: list[Said] = Field(default=[], max_length=MAX_HISTORY)

    @property
    def remembered(self) -> str:
        """The wishes as a block of the prompt; empty without any."""
        lines = [remembered_line(USER_WANTS, without_markers(" ".join(each.split()))) for each in self.wishes]
        return fence_remembered(lines) if lines else ""


DEFAULT_OPTIONS = CallOptions()


def options_of(ctx: Context[None]) -> CallOptions:
    """The options in the call's `_meta`; InvalidInput if they are invalid."""
    meta = ctx.request_context.meta or {}
    try:
        return CallOptions(
            model=meta.get(MODEL_META_KEY),
            max_tokens=meta.get(CAP_META_KEY),
            whole_documents=meta.get(WHOLE_META_KEY),
            wishes=meta.get(WISHES_META_KEY) or [],
            images=meta.get(IMAGES_META_KEY),
            history=meta.get(HISTORY_META_KEY) or [],
        )
    except ValidationError:
        numbers = f"{CAP_META_KEY} and {WHOLE_META_KEY} are numbers from 1"
        texts = f"{WISHES_META_KEY} has at most {MAX_WISHES} texts of {MAX_WISH_CHARACTERS} characters"
        images = f"{IMAGES_META_KEY} has numbers from 0, most and tokens"
        said = f"{HISTORY_META_KEY} has at most {MAX_HISTORY} messages"
        raise InvalidInput(f"{MODEL_META_KEY} is a name, {numbers}, {texts}, {images}, {said}.") from None
