"""The ports of a conversation's memory. Stores: SQLite and Cosmos DB."""

from collections.abc import Sequence
from typing import Protocol

from core.names import Owner
from orc.conversations.models import Head
from orc.memory.models import Memory, Recalled


class MemoryStore(Protocol):
    """One memory per conversation, in the partition of its owner.

    Every method raises DependencyDown if the store cannot be used.
    """

    async def read(self, owner: Owner) -> Memory | None:
        """The stored memory, maybe of a deleted conversation with the same id; None if none is stored."""

    async def write(self, owner: Owner, memory: Memory) -> bool:
        """Store it as the version after `memory.version`, if that is the stored version (0: none is stored).

        Returns whether it is stored. Repeating a write whose confirmation was lost returns True.
        """

    async def delete(self, owner: Owner) -> None:
        """Delete the memory; an absent one is no error."""

    async def ping(self) -> None:
        """Raise DependencyDown unless the store can be used now."""


class TextSimilarity(Protocol):
    """Compares a question with texts by their meaning."""

    async def compare(self, question: str, texts: Sequence[str]) -> list[float]:
        """The similarity of each text to the question, up to 1. Texts are repeated from turn to turn.

        Raises an OrcError if no model answers, and TimeoutError if it takes longer than a turn waits.
        """


class ConversationMemory(Protocol):
    """The memory as turns use it."""

    async def read(self, head: Head, sent_turns: int | None = None) -> Memory:
        """The memory of this conversation; an empty one if there is none.

        `sent_turns`: the number of turns in the history that the caller sent, if it sent one.

        Never fails a turn: if the store fails or is slow, that is logged, and the memory is empty and has the
        reason in `unread`.
        """

    async def recall(self, question: str, memory: Memory) -> Recalled:
        """The part of the memory that is relevant to the question, within the limits of the settings."""

    async def update(self, head: Head) -> None:
        """Add the turns committed since. Called in the background after a turn, maybe late or twice."""

    async def forget(self, owner: Owner) -> None:
        """Delete the memory of a conversation.

        An update that began before the conversation was deleted does not restore it.
        """
