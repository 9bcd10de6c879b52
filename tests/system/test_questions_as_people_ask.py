"""Without a model: follow-ups with a new subject, requests that are no questions, parts, and versions.

What is asked for has to be the first passage that is shown.
"""

import re
from collections.abc import Iterator

import httpx
import pytest

from devkit.in_process import InProcess, Variant, running_here
from devkit.system import upload
from tests.system.steps import Json, answered, new_id
from tests.unit.orc_core.extraction.samples import pdf

FEES = "The fee for the Bell berth is EUR 340.\n\nThe fee for the Crane berth is EUR 560."
TARIFF = "tariff.pdf", pdf("The harbour of Wexley has two berths.", FEES, "The gate closes at 22:30.")
STAFF = "staff.txt", b"The harbour master is Ola Lind.\n\nThe deputy of the master is Jon Berg."
OLD = "2025.txt", b"Water is included in the fee."
NEW = "2026.txt", b"Water is not included in the fee."
FIRST = "What is the fee for the Bell berth?"
CRANE = [
    "What about the Crane berth?",
    "And for the Crane berth?",
    "And the Crane berth?",
    "How much is it for the Crane berth?",
    "Same for the Crane berth?",
    "Und für die Crane berth?",
    "Et pour la Crane berth ?",
    "¿Y para la Crane berth?",
]
REQUESTS = [
    "I need the fee for the Crane berth.",
    "I want to know the fee for the Crane berth.",
    "Tell me the fee for the Crane berth.",
    "Ich brauche die fee der Crane berth.",
    "Je voudrais connaître la fee pour la Crane berth",
    "Necesito la fee de la Crane berth",
]
IN_OTHER_WORDS = [
    "I would like to know how much I have to pay for the Crane berth",
    "We need to know what the Crane berth costs",
]
"""Within a conversation, too little of these is in the document for them to be a request."""


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcess]:
    with running_here(tmp_path_factory.mktemp("questions"), {"": Variant()}, common={}, tools={}) as here:
        yield here


def asked(here: InProcess, files: list[tuple[str, bytes]], *questions: str, named: bool = False) -> Json:
    """The answer to the last of these questions in a new conversation with the files."""
    conversation = new_id()
    with here.client("", "acme") as client:
        upload(client, conversation, *files).raise_for_status()
        here.index()
        names = [name for name, _ in files] if named else []
        replies: list[httpx.Response] = [
            client.post("/orc", json={"question": each, "conversation_id": conversation, "blob_names": names})
            for each in questions
        ]
    return answered(replies[-1])


def first_of(answer: Json) -> str:
    """The first passage that is shown, with the heading above it."""
    return re.split(r"\[Page|\[Section", str(answer["answer"]))[0]


@pytest.mark.parametrize("named", [False, True], ids=["searched", "named"])
@pytest.mark.parametrize("question", [*CRANE, *REQUESTS])
def test_a_new_subject_takes_the_place_of_the_old_one(question: str, named: bool, here: InProcess) -> None:
    assert "560" in first_of(asked(here, [TARIFF], FIRST, question, named=named))


@pytest.mark.parametrize("question", [*REQUESTS, *IN_OTHER_WORDS])
def test_a_request_is_looked_up_like_a_question(question: str, here: InProcess) -> None:
    assert "560" in first_of(asked(here, [TARIFF], question))


@pytest.mark.parametrize(
    ("question", "shown"),
    [
        ("What is on page 3?", "22:30"),
        ("What is on the last page?", "22:30"),
        ("Was steht auf Seite 1?", "two berths"),
        ("How many pages does the document have?", "3 pages"),
    ],
)
def test_a_question_about_a_page_is_answered_from_it(question: str, shown: str, here: InProcess) -> None:
    assert shown in first_of(asked(here, [TARIFF], question))


@pytest.mark.parametrize("files", [[OLD, NEW], [NEW, OLD], [OLD, TARIFF, NEW]])
def test_versions_that_contradict_each_other_are_both_shown(
    files: list[tuple[str, bytes]], here: InProcess
) -> None:
    answer = str(asked(here, files, "Is water included in the fee?")["answer"])
    assert {"2025.txt", "2026.txt"} <= {name for name, _ in files if name in answer}


@pytest.mark.parametrize("said", ["My name is Ann.", "Please answer in German.", "I like short answers."])
def test_what_users_say_of_themselves_is_not_looked_up(said: str, here: InProcess) -> None:
    assert asked(here, [TARIFF], FIRST, said)["metadata"]["lookups"] == []


def test_a_pronoun_does_not_carry_a_subject_to_the_next_question(here: InProcess) -> None:
    assert "Jon Berg" in first_of(asked(here, [STAFF], "Who is the harbour master?", "And the deputy?"))
