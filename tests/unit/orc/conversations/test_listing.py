"""The seed's history list, from turns."""

from datetime import UTC, datetime

from orc.conversations.listing import history_view
from orc.conversations.models import Failure, Head, NewTurn, Turn, TurnOutcome
from orc.conversations.transitions import commit_turn, fail_turn, first_head, open_turn
from orc_core.grounding.models import Citation
from orc_core.models import FileRef
from orc_core.names import Owner

NOW = datetime(2025, 1, 1, tzinfo=UTC)
CITATION = Citation(
    document_id="d", blob_name="a.pdf", page=5, page_id="d.p5", quote="Teeth", start=0, end=5, check="quoted"
)
HEAD = first_head(Owner("acme", "ada", "c-1"), NOW)


def open_question(head: Head, key: str) -> tuple[Head, Turn]:
    return open_turn(head, NewTurn(key=key, request_hash="h", question=f"{key}?"), 60, NOW)


def answer(head: Head, turn: Turn, outcome: TurnOutcome) -> tuple[Head, Turn]:
    return commit_turn(head, turn, turn.attempt, outcome, NOW)


def test_history_is_the_messages_of_committed_turns_by_seq() -> None:
    head, first = open_question(HEAD, "k1")
    head, failed = open_question(head, "k2")
    head, second = open_question(head, "k3")
    head, pending = open_question(head, "k4")
    head, first = answer(head, first, TurnOutcome(answer="one", result={}))
    head, second = answer(head, second, TurnOutcome(answer="two", result={}))
    failed = fail_turn(failed, failed.attempt, Failure(code="x", message="X."), NOW)
    view = history_view([second, pending, failed, first])
    assert [(message["role"], message["content"]) for message in view] == [
        ("user", "k1?"),
        ("assistant", "one"),
        ("user", "k3?"),
        ("assistant", "two"),
    ]
    own = {"role": "user", "content": "k1?", "created_at": "2025-01-01T00:00:00Z", "contexts": []}
    assert view[0] == own


def test_the_assistants_message_has_the_fields_that_the_next_turn_needs() -> None:
    refs = [FileRef(file_id="file-1", blob_name="a.pdf")]
    head, turn = open_question(HEAD, "k1")
    outcome = TurnOutcome(
        answer="one",
        result={},
        uploaded_file_refs=refs,
        last_mcp_tool_used="document_chat",
        citations=[CITATION],
    )
    head, turn = answer(head, turn, outcome)
    assert history_view([turn])[1] == {
        "role": "assistant",
        "content": "one",
        "created_at": "2025-01-01T00:00:00Z",
        "uploaded_file_refs": [{"file_id": "file-1", "blob_name": "a.pdf"}],
        "last_mcp_tool_used": "document_chat",
        "citations": [CITATION.model_dump()],
        "contexts": [],
    }


def test_a_conversation_without_turns_has_no_history() -> None:
    assert history_view([]) == []
