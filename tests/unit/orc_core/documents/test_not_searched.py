"""Which documents a search leaves out."""

import pytest

from orc_core.documents.not_searched import MOST_NAMED, NotSearched
from orc_core.models import Document, DocumentStatus


def document(name: str, *, readable: bool = False, status: str = "failed") -> Document:
    return Document(
        document_id=name,
        organization_id="o",
        user_id="u",
        conversation_id="c",
        blob_name=name,
        etag="1",
        size=1,
        status=DocumentStatus(status),
        readable=readable,
    )


def test_only_documents_whose_text_is_not_stored_are_left_out() -> None:
    given = [document("b.pdf"), document("a.pdf", readable=True), document("A.txt", status="uploaded")]
    found = NotSearched.among(given)
    assert [(each.blob_name, each.status) for each in found.documents] == [
        ("A.txt", "uploaded"),
        ("b.pdf", "failed"),
    ]
    assert found.total == 2


@pytest.mark.parametrize("more", [0, 3])
def test_many_are_counted_and_not_named(more: int) -> None:
    found = NotSearched.among([document(f"{number:03}.pdf") for number in range(MOST_NAMED + 5)]).and_more(
        more
    )
    assert (len(found.documents), found.total) == (MOST_NAMED, MOST_NAMED + 5 + more)


def test_an_answer_names_what_is_being_read_and_failed_ones_if_nothing_was_found() -> None:
    failed = document("scan.pdf").model_copy(update={"reason": "It looks scanned."})
    found = NotSearched.among([failed, document("meters.xlsx", status="processing")])
    being_read = "“meters.xlsx” is still being read and was not searched. Ask again in a moment."
    assert list(found.sentences("How long?", is_found=True)) == [being_read]
    assert list(found.sentences("How long?", is_found=False)) == [
        being_read,
        "“scan.pdf” was not searched: It looks scanned.",
    ]
    assert "wird noch gelesen" in next(found.sentences("Wie lange ist die Frist?", is_found=True))
