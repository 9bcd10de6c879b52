"""Answers name the documents that were not searched."""

from collections.abc import Iterator

import pytest

from devkit.in_process import InProcess, Variant, running_here
from devkit.system import principal_headers, upload
from tests.system.steps import new_id
from tests.unit.orc_core.extraction.samples import pdf

ORGANIZATION = "acme"
QUESTION = "When does the quay open?"


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcess]:
    with running_here(tmp_path_factory.mktemp("not searched"), {"": Variant()}, common={}, tools={}) as here:
        yield here


def test_an_answer_names_the_documents_that_were_not_searched(here: InProcess) -> None:
    conversation = new_id()
    with here.client("", ORGANIZATION) as ann:
        files = [("quay.txt", b"The quay opens at seven."), ("Scan.pdf", pdf("")), ("blank.pdf", pdf("", ""))]
        assert upload(ann, conversation, *files).status_code == 201
        here.index()
        body = {"conversation_id": conversation, "question": QUESTION}
        found = ann.post("/orc", json=body).json()
        assert "seven" in found["answer"]
        not_searched = found["metadata"]["not_searched"]
        assert not_searched["total"] == 2
        named = [(each["blob_name"], each["reason_code"]) for each in not_searched["documents"]]
        assert named == [("blank.pdf", "no_text"), ("Scan.pdf", "no_text")]
        stored = ann.get(f"/conversations/{conversation}").json()["turns"][0]
        assert stored["metadata"]["not_searched"] == not_searched
        # A search that finds nothing has left them out too.
        nothing = ann.post("/orc", json={**body, "question": "Xylophone zebra quasar?"}).json()
        assert nothing["metadata"]["not_searched"] == not_searched
        assert [each["reason_code"] for each in nothing["metadata"]["lookups"]] == ["nothing_found"]
        # A turn that names its documents searches no others.
        named_turn = ann.post("/orc", json={**body, "blob_names": ["quay.txt"]}).json()
        assert named_turn["metadata"]["not_searched"]["total"] == 0
        # A greeting looks nothing up.
        greeted = ann.post("/orc", json={**body, "question": "Hello!"}).json()
        assert greeted["metadata"]["not_searched"]["total"] == 0


def test_documents_of_contexts_count_without_their_names(here: InProcess) -> None:
    headers = principal_headers(ORGANIZATION, "root", "orc.admin")
    with here.client("", ORGANIZATION, "root") as root:
        root.headers.update(headers)
        made = root.post("/contexts", json={"type": "workspace", "name": "Quays"}).raise_for_status().json()
        for name, content in (("quay.txt", b"The quay opens at seven."), ("scan.pdf", pdf(""))):
            files = [("file", (name, content))]
            root.post(f"/contexts/{made['context_id']}/documents", files=files).raise_for_status()
        here.index()
        contexts = [{"type": "workspace", "id": made["context_id"]}]
        found = root.post("/orc", json={"question": QUESTION, "contexts": contexts}).json()
    assert "seven" in found["answer"]
    assert found["metadata"]["not_searched"] == {"documents": [], "total": 1}
