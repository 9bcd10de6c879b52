"""Document names. Only this module parses or builds `organization/user/conversation/file`."""

import unicodedata
import uuid
from dataclasses import dataclass
from urllib.parse import unquote

from orc_core.errors import NotFound, UnsafeName

MAX_SEGMENT_BYTES = 255
LONGEST_NAME = 4 * (MAX_SEGMENT_BYTES + 1)
RESERVED_PREFIX = "~"
CONTEXTS_USER = RESERVED_PREFIX + "contexts"
"""In place of a user's id in the owner of a context's documents."""
_DOCUMENT_NAMESPACE = uuid.UUID("6f0d6a4e-5d3c-4c39-9a52-0d0f4f2a7c11")
_SEPARATORS = frozenset("\\%/")
_INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
_JOINERS = "\u200c\u200d"


@dataclass(frozen=True, slots=True)
class Owner:
    """The owner of documents: one conversation of one user of one organization, or one context of it."""

    organization_id: str
    user_id: str
    conversation_id: str

    def __post_init__(self) -> None:
        for segment in self.key:
            check_segment(segment)

    @property
    def key(self) -> tuple[str, str, str]:
        """The three ids, as stores use them in keys."""
        return self.organization_id, self.user_id, self.conversation_id

    @property
    def prefix(self) -> str:
        """The start of the blob names of the conversation's documents."""
        return f"{self.organization_id}/{self.user_id}/{self.conversation_id}/"

    @classmethod
    def of_context(cls, organization_id: str, context_id: str) -> "Owner":
        """The owner of a context's documents."""
        return cls(organization_id, CONTEXTS_USER, context_id)

    @property
    def context_id(self) -> str | None:
        """The context whose documents these are; None for those of a conversation."""
        return self.conversation_id if self.user_id == CONTEXTS_USER else None


@dataclass(frozen=True, slots=True)
class BlobPath:
    """The path of one document. `str()` returns the full blob name."""

    owner: Owner
    file: str

    def __post_init__(self) -> None:
        check_segment(self.file)

    def __str__(self) -> str:
        return self.owner.prefix + self.file

    @property
    def document_id(self) -> str:
        """Derived from the name, so every process computes the same id."""
        return str(uuid.uuid5(_DOCUMENT_NAMESPACE, str(self)))


def _composed(name: str) -> str:
    """The name in NFC; one that is too long in any form as it is, since many marks take long."""
    return unicodedata.normalize("NFC", name) if len(name) <= LONGEST_NAME else name


def is_reserved(user_id: str) -> bool:
    """Whether no user can have this id, because it names an owner that is no user."""
    return user_id.startswith(RESERVED_PREFIX)


def resolve_blob_name(name: str, owner: Owner) -> BlobPath:
    """The path for a caller's `name`: a bare file name, or a full path under `owner`.

    Raises UnsafeName for an invalid name. Raises NotFound for a valid path of another owner, as if no
    such document existed.
    """
    path = path_named(name, owner)
    if path.owner != owner:
        raise missing_document(name)
    return path


def name_in_context(context_id: str, name: str) -> str:
    """The name of a context's document for `path_named`, without the organization, which is the caller's."""
    return f"{CONTEXTS_USER}/{context_id}/{name}"


def path_named(name: str, owner: Owner) -> BlobPath:
    """The path that a name means: that of a file of `owner`, or a full path, which may be of another owner.

    The name may be in any normal form of Unicode, and a full path may begin with the name of its container.

    Raises UnsafeName for an invalid name.
    """
    name = _composed(name)
    segments = name.split("/")
    for segment in segments:
        check_segment(segment)
    if len(segments) == 1:
        return BlobPath(owner, name)
    if len(segments) == 3 and segments[0] == CONTEXTS_USER:
        return BlobPath(Owner.of_context(owner.organization_id, segments[1]), segments[2])
    if len(segments) not in (4, 5):
        raise UnsafeName(
            "A document name is a file name, or organization/user/conversation/file.", field="blob_names"
        )
    return BlobPath(Owner(*segments[-4:-1]), segments[-1])


def missing_document(name: str, similar: str | None = None) -> NotFound:
    """The error for a missing document and for another owner's document: the two look the same.

    `similar`: the name of one of the owner's own that may be meant.
    """
    hint = f' Did you mean "{similar}"?' if similar else ""
    return NotFound(f'There is no document "{name}" in this conversation.{hint}')


def page_id(document_id: str, page: int) -> str:
    """The id of a page; pages count from 1."""
    return f"{document_id}.p{page}"


def name_for_upload(file_name: str) -> str:
    """The document name for an uploaded file: its own name with harmless corrections.

    Percent signs become underscores, invisible formatting characters are removed, and letters with accents
    are composed, which macOS does not do. Raises UnsafeName for anything else that a document name may not
    contain, and for a name whose percent-decoded form contains a path.
    """
    visible = _composed("".join(c for c in file_name if unicodedata.category(c) != "Cf" or c in _JOINERS))
    name = visible.replace("%", "_")
    check_segment(name)
    hidden = visible
    while (decoded := unquote(hidden)) != hidden:
        hidden = decoded
    is_odd = "\\" in hidden or any(unicodedata.category(character) == "Cc" for character in hidden)
    if is_odd or not {"", ".", ".."}.isdisjoint(hidden.split("/")):
        raise UnsafeName("The document name hides a path or a control character.", field="blob_names")
    return name


def check_segment(segment: str) -> None:
    """Raise UnsafeName unless `segment` is one plain, visible, NFC path segment of at most 255 bytes."""
    if reason := _unsafe(segment):
        raise UnsafeName(f"The document name {reason}. Rename the document.", field="blob_names")


def _unsafe(segment: str) -> str | None:
    if not segment.strip().strip(_JOINERS):
        return "has an empty part"
    if segment != segment.strip():
        return "starts or ends with a space"
    if segment in {".", ".."}:
        return 'contains "." or ".." as a part'
    if not _SEPARATORS.isdisjoint(segment):
        return "contains a slash, a backslash or a percent sign"
    is_plain = segment.isascii() and segment.isprintable()
    if not is_plain and any(unicodedata.category(c) in _INVISIBLE and c not in _JOINERS for c in segment):
        return "contains invisible or control characters"
    if not unicodedata.is_normalized("NFC", segment):
        return "is not in Unicode normal form C (NFC)"
    if len(segment.encode()) > MAX_SEGMENT_BYTES:
        return f"has a part of more than {MAX_SEGMENT_BYTES} bytes"
    return None
