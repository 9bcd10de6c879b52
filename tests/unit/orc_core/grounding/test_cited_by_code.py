"""Code cites a paragraph or item without a marker: the source that has its words, or one closest place."""

from collections.abc import Sequence

import pytest

from orc_core.grounding.citations import WITHOUT_SOURCE, CitationWriter
from orc_core.grounding.sources import Source

LEAVE = "Every full-time employee has 28 working days of annual leave. Unused leave lapses on 31 March."
DEVICES = "A lost device is reported to the duty desk within two hours. The duty desk wipes it from afar."
QUOTED = "Every full-time employee has 28 working days of annual leave."
WIPED = "The duty desk wipes it from afar."
FIRST, SECOND = '[Page 1 of Document "a.pdf"]', '[Page 2 of Document "a.pdf"]'


def shown(*texts: str) -> list[Source]:
    return [
        Source(number=n, document_id="d", blob_name="a.pdf", page=n, start=0, text=text, page_text=text)
        for n, text in enumerate(texts, 1)
    ]


def written(
    reply: str, sources: Sequence[Source] = shown(LEAVE, DEVICES), step: int = 7
) -> tuple[str, CitationWriter]:
    writer = CitationWriter(sources, "How much leave do I get?")
    pieces = [reply[at : at + step] for at in range(0, len(reply), step)]
    return "".join(map(writer.feed, pieces)) + writer.finish() + writer.add_notes(), writer


def places(writer: CitationWriter) -> list[tuple[int, str, bool]]:
    return [(each.page, each.check, each.by_code) for each in writer.citations]


@pytest.mark.parametrize("step", [1, 7, 1000])
@pytest.mark.parametrize(
    ("reply", "text"),
    [
        (QUOTED, f"{QUOTED} {FIRST}"),
        (f"{QUOTED}\n", f"{QUOTED} {FIRST}"),
        (f"{QUOTED}\n{WIPED} [S1]", f"{QUOTED}\n{WIPED} {FIRST}"),
        (f"{QUOTED} {WIPED}", f"{QUOTED} {WIPED} {FIRST} {SECOND}"),
        (f"{QUOTED}\n\n{WIPED}\n", f"{QUOTED} {FIRST}\n\n{WIPED} {SECOND}"),
        (f"Rules:\n- {QUOTED}\n- {WIPED}", f"Rules:\n- {QUOTED} {FIRST}\n- {WIPED} {SECOND}"),
        (f"{WIPED}\n\nYou have 28 days. [S1]", f"{WIPED} {SECOND}\n\nYou have 28 days. {FIRST}"),
        (f"You have 28 days. [S1]\n\n{WIPED}", f"You have 28 days. {FIRST}\n\n{WIPED} {SECOND}"),
    ],
)
def test_the_source_that_has_the_words_is_cited_where_the_paragraph_ends(
    reply: str, text: str, step: int
) -> None:
    said, writer = written(reply, step=step)
    assert said == text == writer.text
    marks = [(mark.start, mark.end) for each in writer.citations for mark in each.marks]
    assert {text[start:end] for start, end in marks} <= {FIRST, SECOND}
    assert len(marks) == text.count("[Page")
    assert (writer.grounding.grounded, writer.grounding.objections) == (True, [])
    assert all(each.check == "quoted" for each in writer.citations if each.by_code)


@pytest.mark.parametrize("marked", [" [S1]", "\n[S1]", "\n\n[S1]"])
def test_a_source_that_the_answer_names_stays_its_own(marked: str) -> None:
    _, writer = written(f"{QUOTED}{marked}\n\n{WIPED}")
    assert places(writer) == [(1, "quoted", False), (2, "quoted", True)]


@pytest.mark.parametrize(
    "reply",
    [
        "Every full-time employee has 30 working days of annual leave.",
        f"{QUOTED} Shall I go on?",
        f"## {QUOTED[:-1]}:\n",
        f"| {QUOTED} |\n| --- |\n| x |",
        f"```\n{QUOTED}\n```\n{QUOTED}",
        f"**Leave of 2023**\n{QUOTED}",
        f"**Leave of 2023**\n\n{QUOTED}",
    ],
)
def test_what_differs_or_is_no_whole_sentence_gets_none(reply: str) -> None:
    assert written(reply)[1].citations == []


@pytest.mark.parametrize(
    "reply",
    [
        "You have 28 days of annual leave a year.",
        "Every full-time employee does not have 28 working days of annual leave.",
        f"{QUOTED} They are paid twice.",
    ],
)
def test_other_words_lead_to_the_closest_place_and_get_no_tick(reply: str) -> None:
    text, writer = written(reply)
    (cited,) = writer.citations
    assert text == f"{reply} {FIRST}"
    assert (cited.check, cited.by_code, cited.verified) == ("reworded", True, False)
    assert cited.quote == QUOTED


DUTIES = "Duties:\n- Wipe lost devices\n- Order new laptops\n- Train the staff of the branches"
LISTED = "Their duties are wiping lost devices, ordering new laptops, and training the staff of branches."


def test_a_sentence_that_lists_what_a_page_has_in_several_places_is_cited() -> None:
    _, writer = written(LISTED, shown(LEAVE, DUTIES))
    assert places(writer) == [(2, "reworded", True)]


def test_sentences_from_two_pages_are_cited_with_both() -> None:
    _, writer = written(f"You have 28 days of annual leave a year. {LISTED}", shown(LEAVE, DUTIES, "Other."))
    assert places(writer) == [(1, "reworded", True), (2, "reworded", True)]


def test_of_places_on_two_pages_that_share_as_much_none_is_cited() -> None:
    text, _ = written("You have 28 days of annual leave a year.", shown(LEAVE, DEVICES, LEAVE))
    assert text.endswith(WITHOUT_SOURCE)


def test_a_page_that_shares_less_than_half_of_the_words_is_not_cited() -> None:
    text, _ = written("Employees of the branch in Oslo may park two cars behind the harbour.")
    assert text.endswith(WITHOUT_SOURCE)


@pytest.mark.parametrize("step", [1, 7, 1000])
@pytest.mark.parametrize(
    "code",
    [
        f"```\nFirst. [S2]\n\n{QUOTED}\n\n{QUOTED}\n```",
        f"{QUOTED}\n```\nthat\n\nis all\n```",
        f"- ```\n  {QUOTED}\n\n  ```",
    ],
)
def test_no_block_of_code_gets_a_citation_by_code(code: str, step: int) -> None:
    _, writer = written(code, step=step)
    assert [each for each in writer.citations if each.by_code] == []


@pytest.mark.parametrize("step", [1, 7, 1000])
@pytest.mark.parametrize("code", ["```\na = 1\n```", "```\na = 1\n```\nIt is one. [S2]"])
def test_a_paragraph_next_to_a_block_of_code_is_cited(code: str, step: int) -> None:
    text, _ = written(f"{QUOTED}\n\n{code}\n\n{QUOTED}\n\nThat is all.", step=step)
    assert text.count(f"{QUOTED} {FIRST}") == 2


def test_a_statement_without_a_source_is_still_said_to_have_none() -> None:
    text, writer = written("The canteen opens at noon.")
    assert text.endswith(WITHOUT_SOURCE)
    assert writer.grounding.uncited == 1


def test_words_that_two_sources_have_are_no_place() -> None:
    assert written(QUOTED, shown(LEAVE, DEVICES, LEAVE))[1].citations == []


def test_of_many_sources_none_is_looked_for() -> None:
    assert written(QUOTED, shown(LEAVE, *[DEVICES] * 20))[1].citations == []


@pytest.mark.parametrize("status", ["none", "talk"])
def test_what_needs_no_source_gets_none(status: str) -> None:
    assert written(f"{WIPED} [{status}]")[1].citations == []


@pytest.mark.parametrize("heading", ["**3.1 Annual leave**", "3.1 Annual leave", "## 3.1 Annual leave"])
def test_a_heading_is_not_cited_although_a_page_has_it(heading: str) -> None:
    sources = shown(f"3.1 Annual leave\n\n{LEAVE}", DEVICES)
    text, writer = written(f"{heading}\n\n{QUOTED} [S1]", sources)
    assert text == f"{heading}\n\n{QUOTED} {FIRST}"
    assert places(writer) == [(1, "quoted", False)]
