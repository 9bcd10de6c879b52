"""The collections that Orc keeps in SQLite, as data, and how what Orc 0.2 has stored becomes their items."""

from orc_core.storage.sqlite.items import Table

OWNER = ("organization_id", "user_id", "conversation_id")
FIRST_LIFE = "first"
"""The life of conversations that were stored before each had a name for it."""
_NEW = "lower(hex(randomblob(16))), unixepoch()"
"""A version, and the time."""


def _object(item_id: str, *columns: str, **fields: str) -> str:
    """An item with these columns of a row under their names, and other fields as expressions."""
    values = {"id": item_id, **{name: name for name in columns}, **fields}
    pairs = ", ".join(f"'{name}', {value}" for name, value in values.items())
    return f"json_object({pairs})"


def _earlier(table: str, partition: tuple[str, ...], item_id: str, item: str, expires: str = "NULL") -> str:
    return f"SELECT {', '.join(partition)}, {item_id}, {_NEW}, {expires}, {item} FROM {table}"


def _table(
    name: str, partition: tuple[str, ...], *indexes: tuple[str, ...], earlier: dict[str, str] | None = None
) -> Table:
    return Table(name, partition, indexes, tuple((earlier or {}).items()))


_TURN_ID = rf"'turn:{FIRST_LIFE}:' || id_part(turn_id, '[\w.-]+')"
_HEAD = _object(
    "'head'",
    *OWNER,
    life=f"'{FIRST_LIFE}'",
    place="updated_at || ' ' || conversation_id",
    home="item ->> '$.home'",
    item="json(item)",
)
_TURN = _object(
    _TURN_ID, *OWNER, "seq", "status", life=f"'{FIRST_LIFE}'", item="json(item)", said_twice="json('[]')"
)
CONVERSATIONS = _table(
    "conversations",
    OWNER,
    ("organization_id", "user_id", "place"),
    (*OWNER, "life", "seq", "status"),
    earlier={
        "conversation_heads": _earlier("conversation_heads", OWNER, "'head'", _HEAD),
        "conversation_turns": _earlier("conversation_turns", OWNER, _TURN_ID, _TURN),
    },
)

_MEMORY = _object("'memory'", *OWNER, item="json(item)")
MEMORY = _table(
    "memory",
    OWNER,
    earlier={"conversation_memories": _earlier("conversation_memories", OWNER, "'memory'", _MEMORY)},
)

_USER = ("organization_id", "user_id")
_COUNTS = _object("name", *_USER, counts="json(counts)", mark="''")
# The longest window is a day.
LIMITS = _table(
    "limits",
    _USER,
    earlier={"rate_limits": _earlier("rate_limits", _USER, "name", _COUNTS, "unixepoch() + 172800")},
)

_DAY = ("organization_id", "day")
_TRACE = _object(
    "attempt",
    *("trace_id", "attempt", *OWNER, "day", "status", "intent", "model"),
    *("input_tokens", "output_tokens", "cost_usd", "duration_ms"),
    place="started_at || ' ' || attempt",
    item="json(item)",
)
TRACES = _table(
    "traces",
    _DAY,
    ("organization_id", "place"),
    ("organization_id", "trace_id", "place"),
    OWNER,
    # The figures of a day are read from the index alone.
    (*_DAY, "expires", "status", "input_tokens", "output_tokens", "cost_usd", "duration_ms"),
    earlier={
        "turn_traces": _earlier("turn_traces", _DAY, "attempt", _TRACE).replace(
            "unixepoch()", "unixepoch(started_at)"
        )
    },
)

_ORGANIZATION = ("organization_id",)
_CONTEXT_ID = "'context:' || context_id"
_CONTEXT = _object(
    _CONTEXT_ID,
    *("organization_id", "context_id", "parent_id", "name_folded", "sort_key", "state"),
    kind="'context'",
    restricts="json(CASE WHEN json_extract(item, '$.tools_off') <> '[]' THEN 'true' ELSE 'false' END)",
    item="json(item)",
)
_MEMBER_ID = r"'member:' || context_id || ':' || id_part(principal, '[\w:.@-]{1,200}')"
_MEMBER = _object(
    _MEMBER_ID,
    *("organization_id", "context_id", "principal", "sort_key"),
    kind="'member'",
    item="json(item)",
)
_ENTRY_ID = "'audit:' || (item ->> '$.entry_id')"
_ENTRY = _object(_ENTRY_ID, *("organization_id", "context_id", "sort_key"), kind="'audit'", item="json(item)")
CONTEXTS = _table(
    "contexts",
    _ORGANIZATION,
    ("organization_id", "kind", "context_id", "sort_key"),
    ("organization_id", "kind", "principal", "context_id"),
    ("organization_id", "kind", "parent_id", "sort_key"),
    ("organization_id", "kind", "sort_key"),
    ("organization_id", "kind", "state", "context_id"),
    ("organization_id", "kind", "restricts", "context_id"),
    ("state",),
    earlier={
        "contexts": _earlier("contexts", _ORGANIZATION, _CONTEXT_ID, _CONTEXT),
        "context_members": _earlier("context_members", _ORGANIZATION, _MEMBER_ID, _MEMBER),
        "context_audit": _earlier("context_audit", _ORGANIZATION, _ENTRY_ID, _ENTRY),
    },
)

# Records have a field for each column of their key.
_DOCUMENT_ID = "'document:' || document_id"
_FILE_ID = "'file:' || f.document_id"
# Orc 0.1 did not write whose a reference is: its record knows.
_FILES = f"""
SELECT d.organization_id, d.user_id, d.conversation_id, {_FILE_ID}, {_NEW}, NULL, json_set(f.body,
    '$.id', {_FILE_ID}, '$.user_id', d.user_id, '$.conversation_id', d.conversation_id)
FROM stored_files AS f JOIN items_documents AS d
ON d.organization_id = f.organization_id AND d.id = 'document:' || f.document_id
"""
_ALL_OWNERS = ("'-'", "'-'", "'-'")
_UNWANTED_ID = "'unwanted:' || substr(id_part(provider || ' ' || file_id, 'no text'), 2)"
DOCUMENTS = _table(
    "documents",
    OWNER,
    (*OWNER, "id", "readable", "status", "expires"),
    ("organization_id", "user_id", "id", "conversation_id", "readable", "status", "expires"),
    ("organization_id", "user_id", "sha256"),
    ("organization_id", "id", "size", "expires"),
    ("status",),
    earlier={
        "documents": _earlier("documents", OWNER, _DOCUMENT_ID, f"json_set(body, '$.id', {_DOCUMENT_ID})"),
        "stored_files": _FILES,
        "unwanted_files": _earlier(
            "unwanted_files", _ALL_OWNERS, _UNWANTED_ID, f"json_set(body, '$.id', {_UNWANTED_ID})"
        ),
    },
)

_DOCUMENT = ("document_id",)
_PAGE_ID = "'page:' || number"
ANALYSES = _table(
    "analyses",
    _DOCUMENT,
    earlier={
        "analyses": _earlier(
            "analyses",
            _DOCUMENT,
            "'analysis'",
            "json_set(body, '$.id', 'analysis', '$.pieces', 0, '$.write', 'earlier', '$.batch', 'earlier')",
        ),
        "page_analyses": _earlier(
            "page_analyses",
            _DOCUMENT,
            _PAGE_ID,
            f"json_set(body, '$.id', {_PAGE_ID}, '$.document_id', document_id)",
        ),
    },
)

CREDENTIALS = _table("credentials", ("credential_id",), ("organization_id", "user_id", "kind"))

TABLES = {
    table.name: table
    for table in (CONVERSATIONS, MEMORY, LIMITS, TRACES, CONTEXTS, DOCUMENTS, ANALYSES, CREDENTIALS)
}
