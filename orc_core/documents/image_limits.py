"""What pictures of pages may take of a prompt, and what they took."""

from collections.abc import Mapping

from pydantic import Field

from orc_core.infra.model_settings import ModelFacts
from orc_core.models import Record

MOST_IMAGES = 10
"""Of one prompt: Azure OpenAI takes no more."""
MOST_IMAGE_TOKENS = 100_000


class ImageLimits(Record):
    """What pictures may take of one prompt: their number, and their tokens together."""

    most: int = Field(ge=0, le=MOST_IMAGES)
    tokens: int = Field(ge=0, le=MOST_IMAGE_TOKENS)

    def number(self, facts: ModelFacts) -> int:
        """How many pictures a model may be sent, each counted with the most that it can cost."""
        return min(self.most, self.tokens // facts.image_tokens) if facts.images else 0

    def why_none(self, model: str, facts: ModelFacts) -> str:
        """Why a model is sent no pictures at all; empty if it may be sent some."""
        if not facts.images:
            return f"the model {model} does not read pictures"
        if self.number(facts):
            return ""
        return (
            f"one takes up to {facts.image_tokens:,} tokens of {model}, and {self.most} pictures with"
            f" {self.tokens:,} tokens are allowed"
        )


class ImageCounts(Record):
    """The pictures of pages in a prompt. `tokens` are the most that those sent can take."""

    sent: int = Field(default=0, description="pages that the model was sent as pictures")
    failed: int = Field(default=0, description="pages that could not be drawn")
    tokens: int = Field(default=0, description="the most that the pictures take of the prompt")

    def of(self, sent: int) -> "ImageCounts":
        """The counts of a prompt that has only `sent` of these pictures."""
        return self.model_copy(update={"sent": sent, "tokens": self.tokens * sent // max(1, self.sent)})


def with_image_tokens(sizes: Mapping[str, int], counts: ImageCounts) -> dict[str, int]:
    """The tokens of each part of a prompt, and their `total`, with those of its pictures if it has any."""
    if not counts.sent:
        return dict(sizes)
    return {**sizes, "images": counts.tokens, "total": sizes["total"] + counts.tokens}
