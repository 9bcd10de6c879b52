"""The ports of a conversation's memory. Stores: SQLite and Cosmos DB."""

from collections.abc import Sequence
from typing import Protocol

from core.names import Owner
from orc.conversations.models import Head
from orc.memory.models import Memory, Recalled


class MemoryStore(Protocol):
    """One memory per conversation, in the partition of its owner.

    Any method raises DependencyDown when the store cannot be used; None always means: there is none.
    """

    async def read(self, owner: Owner) -> Memory | None:
        """What is stored for this conversation, of whichever life; of none if its form is not known here."""

    async def write(self, owner: Owner, memory: Memory) -> bool:
        """Store it as the version after `memory.version`, if that is the stored one (0: none is stored).

        Whether it was. The same write may be made twice, its confirmation lost: then it was.
        """

    async def delete(self, owner: Owner) -> None:
        """Forget the conversation; an absent memory is no error."""

    async def ping(self) -> None:
        """Raise DependencyDown unless the store can be used now."""


class Nearness(Protocol):
    """Compares a question with texts by what they mean."""

    async def compare(self, question: str, texts: Sequence[str]) -> list[float]:
        """How near each text is to the question, up to 1; texts come up again from turn to turn.

        Raises an OrcError where no model answers, TimeoutError where it would take longer than a turn waits.
        """


class Remembering(Protocol):
    """What turns need of memory."""

    async def read(self, head: Head, told: int | None = None) -> Memory:
        """What is remembered of this life of the conversation; an empty memory where there is nothing.

        `told`: of how many turns the caller has sent the history, where it is not the stored one's.

        Never fails a turn: a store that fails, or does not answer within a moment, is told in the log,
        and gives an empty memory that says so.
        """

    async def recall(self, question: str, memory: Memory) -> Recalled:
        """What of the memory bears on the question, within the limits of the settings."""

    async def update(self, head: Head) -> None:
        """Take in what was committed since; called after a turn, off its path, maybe late or twice."""

    async def forget(self, owner: Owner) -> None:
        """Delete what is remembered of a conversation, of whichever life.

        Once the conversation is gone, nothing comes back: an update that had begun before sees that it is.
        """
