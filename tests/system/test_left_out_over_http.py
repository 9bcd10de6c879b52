"""An answer says which files the question names that are not there, and which were not searched."""

import json
from collections.abc import Iterator

import pytest

from devkit.in_process import InProcess, Variant, running_here
from devkit.system import principal_headers, upload
from tests.system.steps import new_id
from tests.unit.orc_core.extraction.samples import pdf

ORGANIZATION = "acme"
NOTE = "“{}” is not among the documents that I can read for this question"


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcess]:
    with running_here(tmp_path_factory.mktemp("unknown files"), {"": Variant()}, common={}, tools={}) as here:
        yield here


def test_an_answer_names_a_missing_file_and_one_with_a_similar_name(here: InProcess) -> None:
    conversation = new_id()
    with here.client("", ORGANIZATION) as ann, here.client("", ORGANIZATION, "bob") as bob:
        upload(bob, new_id(), ("quays.txt", b"The quays of Bob are closed.")).raise_for_status()
        files = [
            ("quay.txt", b"The quay opens at seven."),
            ("scan.pdf", pdf("")),
            ("tides.txt", b"High: six."),
        ]
        upload(ann, conversation, *files).raise_for_status()
        here.index()
        body = {"conversation_id": conversation, "question": "When does the quay open, as quays.txt says?"}
        # The whole conversation, named documents, and a conversation without any.
        found = ann.post("/orc", json=body).json()
        assert found["answer"].endswith(f"\n\n{NOTE.format('quays.txt')}; “quay.txt” is.")
        assert found["metadata"]["unknown_files"] == [{"name": "quays.txt", "similar": "quay.txt"}]
        stored = ann.get(f"/conversations/{conversation}").json()["turns"][0]
        assert stored["answer"] == found["answer"]
        assert stored["metadata"]["unknown_files"] == found["metadata"]["unknown_files"]
        named = ann.post("/orc", json={**body, "blob_names": ["tides.txt"]}).json()
        assert named["answer"].endswith(f"\n\n{NOTE.format('quays.txt')}.")
        alone = ann.post("/orc", json={"question": body["question"]}).json()
        assert alone["answer"].endswith(f"\n\n{NOTE.format('quays.txt')}.")
        # A file that cannot be read is there.
        there = ann.post("/orc", json={**body, "question": "What does scan.pdf say about quay.txt?"}).json()
        assert there["metadata"]["unknown_files"] == []


def test_the_note_is_streamed_as_a_part_of_the_answer(here: InProcess) -> None:
    with here.client("", ORGANIZATION) as ann:
        text = ann.post("/orc/stream", json={"question": "What does foo.pdf say?"}).raise_for_status().text
    events = [block.split("\n") for block in text.split("\n\n") if "event: " in block]
    data = [
        (lines, json.loads(next(line for line in lines if line.startswith("data: "))[6:])) for lines in events
    ]
    shown = "".join(each["text"] for lines, each in data if "event: token" in lines)
    assert shown == data[-1][1]["answer"]
    assert shown.endswith(f"{NOTE.format('foo.pdf')}.")


def test_the_name_of_a_missing_file_neither_links_nor_cites(here: InProcess) -> None:
    conversation = new_id()
    with here.client("", ORGANIZATION) as ann:
        upload(ann, conversation, ("notes [S1].txt", b"The quay opens at seven.")).raise_for_status()
        here.index()
        question = 'What do "www.docks.example a.pdf" and notes1.txt say?'
        found = ann.post("/orc", json={"conversation_id": conversation, "question": question}).json()
    assert "“`www.docks.example` a.pdf” is not among" in found["answer"]
    assert "“notes [S 1].txt” is." in found["answer"]


def test_names_of_files_in_contexts_are_compared_and_not_shown(here: InProcess) -> None:
    headers = principal_headers(ORGANIZATION, "root", "orc.admin")
    with here.client("", ORGANIZATION, "root") as root:
        root.headers.update(headers)
        made = root.post("/contexts", json={"type": "workspace", "name": "Quays"}).raise_for_status().json()
        texts = [("Quay.txt", b"The quay opens at seven."), ("Notes of May.txt", b"The crane is blue.")]
        files = [("file", each) for each in texts]
        root.post(f"/contexts/{made['context_id']}/documents", files=files).raise_for_status()
        here.index()
        contexts = [{"type": "workspace", "id": made["context_id"]}]
        known = root.post("/orc", json={"question": "What does quay.txt say?", "contexts": contexts}).json()
        assert known["metadata"]["unknown_files"] == []
        # Without quotation marks only the last word of a name is read.
        blanks = {"question": "What does Notes of May.txt say?", "contexts": contexts}
        assert root.post("/orc", json=blanks).json()["metadata"]["unknown_files"] == []
        missing = root.post(
            "/orc", json={"question": "What does quays.txt say?", "contexts": contexts}
        ).json()
        assert missing["metadata"]["unknown_files"] == [{"name": "quays.txt", "similar": None}]
        without = root.post("/orc", json={"question": "What does quay.txt say?"}).json()
        assert without["metadata"]["unknown_files"] == [{"name": "quay.txt", "similar": None}]


def test_an_answer_names_the_documents_that_were_not_searched(here: InProcess) -> None:
    conversation = new_id()
    with here.client("", ORGANIZATION) as ann:
        files = [("quay.txt", b"The quay opens at seven."), ("Scan.pdf", pdf("")), ("blank.pdf", pdf("", ""))]
        assert upload(ann, conversation, *files).status_code == 201
        here.index()
        body = {"conversation_id": conversation, "question": "When does the quay open?"}
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
        found = root.post("/orc", json={"question": "When does the quay open?", "contexts": contexts}).json()
    assert "seven" in found["answer"]
    assert found["metadata"]["not_searched"] == {"documents": [], "total": 1}
