"""Questions that name a file are answered from it alone, and those that compare are answered from all.

Three languages and two engines: without a model, and a model that cites its first source and repeats the
question in its plans.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

import httpx
import pytest

from devkit.doubles.openai_double import OpenAIDouble
from devkit.system import upload
from devkit.system_here import system_here
from tests.system.steps import Json, answered, ask, new_id

NOTICE = "The notice period of this contract is {} days.\n\nPayment\n\nInvoices are paid in {} days."
HANDBOOK = "\n\n".join(
    f"Chapter {n}\n\nThe employees get {n} days of leave. The notice period is long in year {n}."
    for n in range(1, 60)
)
FILES = {
    "doc1.pdf.txt": NOTICE.format("thirty", 14),
    "Lease 2024.txt": NOTICE.format("ninety", 45),
    "handbook.txt": HANDBOOK,
}
DOC1, LEASE, BOOK = FILES


class Case(NamedTuple):
    """A question, the file that it is about, and words that its answer has."""

    question: str
    file: str
    said: str = ""


NAMED = [
    Case("What's in doc1.pdf.txt?", DOC1, "thirty"),
    Case("What is doc1.pdf.txt about?", DOC1, "thirty"),
    Case("What about doc1.pdf.txt?", DOC1),
    Case("What does doc1.pdf.txt say about the employees?", DOC1),
    Case("What does doc1.pdf.txt say about “Payment”?", DOC1, "14"),
    Case("What is the notice period in doc1.pdf.txt?", DOC1, "thirty"),
    Case("Summarize DOC1.PDF.TXT", DOC1, "thirty"),
    Case("Give me an overview of lease 2024.txt", LEASE, "ninety"),
    Case("When are invoices paid according to Lease 2024.txt?", LEASE, "45"),
    Case('In "Lease 2024.txt", what is the notice period?', LEASE, "ninety"),
    Case("How many days of leave are in chapter 7 of handbook.txt?", BOOK, "7 days"),
    Case("Is there a notice period in handbook.txt?", BOOK),
    Case("Was steht in doc1.pdf.txt?", DOC1, "thirty"),
    Case("Worum geht es in Lease 2024.txt?", LEASE, "ninety"),
    Case("Fasse doc1.pdf.txt zusammen.", DOC1, "thirty"),
    Case("Was sagt Lease 2024.txt über invoices?", LEASE, "45"),
    Case("Und was ist mit LEASE 2024.TXT?", LEASE),
    Case("Welche notice period hat doc1.pdf.txt?", DOC1, "thirty"),
    Case("Gib mir einen Überblick über handbook.txt", BOOK),
    Case("Que contient doc1.pdf.txt ?", DOC1, "thirty"),
    Case("De quoi parle Lease 2024.txt ?", LEASE, "ninety"),
    Case("Résume doc1.pdf.txt", DOC1, "thirty"),
    Case("Quelle est la notice period de Lease 2024.txt ?", LEASE, "ninety"),
    Case("Et handbook.txt ?", BOOK),
    Case("Que dit doc1.pdf.txt des invoices ?", DOC1, "14"),
]
COMPARING = [
    "Compare both documents",
    "Compare the two.",
    "What are the differences?",
    "How do both contracts differ?",
    "Vergleiche beide Dokumente.",
    "Was sind die Unterschiede?",
    "Worin unterscheiden sich die beiden?",
    "Compare les deux documents.",
    "Quelles sont les différences ?",
]
FOLLOWING = [
    ("What is the notice period in doc1.pdf.txt?", Case("And in Lease 2024.txt?", LEASE, "ninety")),
    ("Was ist die notice period in doc1.pdf.txt?", Case("Und in Lease 2024.txt?", LEASE, "ninety")),
    ("Quelle est la notice period de Lease 2024.txt ?", Case("Et dans doc1.pdf.txt ?", DOC1, "thirty")),
    ("What's in doc1.pdf.txt?", Case("What about Lease 2024.txt?", LEASE)),
]


@pytest.fixture(scope="module", params=["offline", "scripted"])
def client(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[httpx.Client]:
    settings: dict[str, str] = {}
    if request.param == "scripted":
        settings = request.getfixturevalue("model_settings")
    with system_here(tmp_path_factory.mktemp("meant"), **settings) as system, system.client() as http:
        yield http


def _conversation(client: httpx.Client, *names: str) -> str:
    conversation = new_id()
    upload(client, conversation, *((name, FILES[name].encode()) for name in names)).raise_for_status()
    return conversation


def asked(client: httpx.Client, conversation: str, question: str) -> Json:
    return answered(ask(client, conversation, question=question, feature_flags={"memory": False}))


def files_of(answer: Json) -> set[str]:
    return {each["blob_name"] for each in answer["citations"]}


def check(answer: Json, case: Case, *, total: int) -> None:
    assert files_of(answer) <= {case.file}, answer["answer"]
    assert answer["metadata"]["plan"]["documents"] == [case.file]
    note = answer["answer"].rpartition("\n\n")[2]
    assert case.file in note and str(total) in note, "it says how it was limited"
    assert "web_search" not in str(answer["metadata"]["plan"]["steps"])


@pytest.mark.slow
@pytest.mark.parametrize("case", NAMED, ids=[case.question for case in NAMED])
def test_a_question_that_names_a_file_is_answered_from_it(
    case: Case, client: httpx.Client, double: OpenAIDouble
) -> None:
    answer = asked(client, _conversation(client, *FILES), case.question)
    check(answer, case, total=3)
    # The scripted model cites whatever comes first.
    assert case.said in answer["answer"] or double.requests


@pytest.mark.slow
@pytest.mark.parametrize(("first", "case"), FOLLOWING, ids=[case.question for _, case in FOLLOWING])
def test_a_follow_up_that_names_another_file_is_answered_from_that(
    first: str, case: Case, client: httpx.Client, double: OpenAIDouble
) -> None:
    conversation = _conversation(client, DOC1, LEASE)
    asked(client, conversation, first)
    answer = asked(client, conversation, case.question)
    check(answer, case, total=2)
    assert case.said in answer["answer"] or double.requests


@pytest.mark.slow
@pytest.mark.parametrize("case", COMPARING)
def test_a_question_that_compares_reads_all_documents_if_they_fit(
    case: str, client: httpx.Client, double: OpenAIDouble
) -> None:
    answer = asked(client, _conversation(client, DOC1, LEASE), case)
    assert {each["blob_name"] for each in answer["metadata"]["files"]} == {DOC1, LEASE}
    assert answer["metadata"]["retrieval_mode"] == "inline"
    assert files_of(answer), answer["answer"]
    assert not re.search(r"found nothing|not find", answer["answer"] + answer["metadata"]["retrieval_reason"])


@pytest.mark.slow
def test_a_question_without_a_name_is_about_all(client: httpx.Client, double: OpenAIDouble) -> None:
    answer = asked(client, _conversation(client, *FILES), "When are invoices paid?")
    assert answer["metadata"]["plan"]["documents"] == []
