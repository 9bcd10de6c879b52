"""Who is asking."""

from dataclasses import dataclass

from core.names import Owner

LOCAL_ORGANIZATION = "local"
LOCAL_USER = "me"
"""The one caller of the `local` authentication mode."""


@dataclass(frozen=True, slots=True)
class Principal:
    """A verified caller: an organization, a user in it, and the user's roles."""

    organization_id: str
    user_id: str
    roles: frozenset[str] = frozenset()

    def owner_of(self, conversation_id: str) -> Owner:
        """The place of this caller's conversation."""
        return Owner(self.organization_id, self.user_id, conversation_id)
