"""Documents that are read although no request names them: those that a question is about as such."""

from typing import Any

import pytest

from devkit.fakes import FakeTools
from devkit.graph_turns import (
    CHAT_TOOL,
    HISTORY,
    PAGES,
    SEARCH_TOOL,
    Turn,
    document_chat_result,
    passage,
    says,
)
from orc.graphs.models import ConversationState
from orc_core.models import Document, DocumentStatus

FOUND = {"passages": [passage("secret-id", 5, PAGES["secret-id", 5])], "steps": []}
MOST = 3


def shelf(count: int) -> dict[str, Document]:
    common: dict[str, Any] = {"organization_id": "o", "user_id": "u", "conversation_id": "c", "etag": "1"}
    known = {"size": 1, "status": DocumentStatus.COMPLETED, "readable": True}
    names = [f"{number}.pdf" for number in range(count)]
    return {name: Document(document_id=name, blob_name=name, **common, **known) for name in names}


async def looked_up(question: str, *, rounds: int, documents: int = 1, **state: Any) -> list[str]:
    """The tools that code calls for a question, if the model may call tools so many times."""
    results = {"document_chat": document_chat_result(), "semantic_search": FOUND}
    turn = Turn(FakeTools([SEARCH_TOOL, CHAT_TOOL], **results), says("I cannot tell."))
    settings = {"max_tool_rounds": rounds, "max_documents_per_request": MOST}
    turn.change(settings=turn.uses.context.settings.model_copy(update=settings))
    files = shelf(documents)
    given = ConversationState(
        question=question, conversation_id="c", has_documents=True, shelf=files, **state
    )
    await turn.run_from(given)
    return [name for name, _ in turn.tools.calls]


@pytest.mark.parametrize("question", ["What is this about?", "Worum geht es hier?", "Who wrote this?"])
async def test_a_model_without_tools_reads_what_is_asked_about_as_such(question: str) -> None:
    assert await looked_up(question, rounds=0, documents=MOST) == ["document_chat"]


async def test_documents_are_searched_if_they_are_many_or_the_question_has_a_subject() -> None:
    assert await looked_up("What is this about?", rounds=0, documents=MOST + 1) == ["semantic_search"]
    assert await looked_up("What is the fee?", rounds=0) == ["semantic_search"]


async def test_a_model_with_tools_chooses_what_it_reads() -> None:
    assert await looked_up("What is this about?", rounds=3) == []


async def test_a_message_that_could_not_be_planned_is_searched() -> None:
    assert await looked_up("And what about it?", rounds=0, history=HISTORY) == ["semantic_search"]
