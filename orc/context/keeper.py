"""Remembers conversations, or, where the settings say so, does not."""

from core.documents.names import Owner
from orc.context.models import Memory, Recalled
from orc.conversations.models import Head


class NoMemory:
    """A Remembering that keeps nothing: turns then know the latest ones alone."""

    async def read(self, head: Head) -> Memory:  # noqa: ARG002
        return Memory()

    async def recall(self, question: str, memory: Memory) -> Recalled:  # noqa: ARG002
        return Recalled()

    async def update(self, head: Head) -> None:  # noqa: ARG002
        return None

    async def forget(self, owner: Owner) -> None:  # noqa: ARG002
        return None
