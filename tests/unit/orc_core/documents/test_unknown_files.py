"""Files that a question names and that are not there are said to be missing."""

import pytest

from orc_core.documents.unknown_files import LONGEST_NAME, MOST_NAMED, unknown_files, unknown_files_note

KNOWN = ["handbook.pdf", "Annual_Report_2021.docx", "Notes of May.txt", "a.pdf"]


def names(question: str) -> list[str]:
    return [file.name for file in unknown_files(question, KNOWN)]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What does foo.pdf say about rent?", ["foo.pdf"]),
        ("What does HANDBOOK.pdf say about rent?", []),
        ("What is in “Annual Report 2020.docx”?", ["Annual Report 2020.docx"]),
        ("What is in 'My file.pdf'?", ["My file.pdf"]),
        ("What does Notes of May.txt say?", []),
        ("Notes of May.txt: what is in it?", []),
        ('Is "old handbook.pdf" longer than storybook.pdf?', ["storybook.pdf"]),
        ("Compare a.pdf, data.pdf and (c.docx). And data.pdf?", ["data.pdf", "c.docx"]),
        ("Que dit l'annexe.pdf ?", ["annexe.pdf"]),
        ("Read https://docs.example/x/foo.pdf, then write to me@foo.md.", []),
        ("Is foo.pdf.exe a virus, and what is Node.js?", []),
        ("What do the handbook and its PDF say?", []),
    ],
)
def test_names_of_files_are_compared_with_the_known_ones(question: str, expected: list[str]) -> None:
    assert names(question) == expected


@pytest.mark.parametrize(
    "name",
    [
        *(
            "R&D_plan.pdf",
            "report+v2.pdf",
            "Müller&Söhne.pdf",
            "2024–25.pdf",
            "a,b.pdf",
            "x~1.pdf",
            "a-b.pdf",
        ),
        *("lease(signed)v2.pdf", "Smith's_report.pdf", "Bob’s plan.pdf", "Notes of May.txt", "报告.pdf"),
        *("plan (2).pdf", "final  plan.pdf", "İzmir.pdf"),
    ],
)
@pytest.mark.parametrize(
    "question",
    [
        *("What does {} say?", "{}: what is in it?", "(see {})", "**{}**?", "'{}'", "« {} »", "Is it\n{}"),
        *(
            "{}里有什么",
            'Say "I cannot read the text in {}" if unsure',
            'Explain "Why?" using {} "as is"',
            "請{}?",
        ),
    ],
)
def test_a_known_file_is_never_said_to_be_missing(name: str, question: str) -> None:
    written = (name, name.upper(), name.replace("'", "’").replace(" ", "\u00a0"))
    asked = [question.format(each) for each in written]
    assert [unknown_files(each, ["v2.pdf", name]) for each in asked] == [[], [], []]


def test_parts_of_unknown_names_are_not_names() -> None:
    for name in ("R&D_plan.pdf", "report+v2.pdf", "lease(signed)v2.pdf", "Smith's_report.pdf", "old-a.pdf"):
        assert names(f"What does {name} say?") == [name]
    assert names("What does plan (2).pdf say?") == ["plan (2).pdf"]
    assert names("What does plan (old).pdf say?") == names("请总结报告.pdf") == []


def test_a_file_that_is_to_be_written_is_not_missing() -> None:
    assert names("Write it as summary.md, and compare it with data.md") == ["data.md"]
    assert names("Speichere das als Miete.csv. Ist es so, wie Haus.csv sagt?") == ["Haus.csv"]
    assert names("Make a page named index.html. When is it due, as b.txt says?") == ["b.txt"]


@pytest.mark.parametrize(
    ("question", "note"),
    [
        (
            "What does foo.pdf say about the rent?",
            "“foo.pdf” is not among the documents that I can read for this question.",
        ),
        (
            "What does handbok.pdf say about the rent?",
            "“handbok.pdf” is not among the documents that I can read for this question; “handbook.pdf” is.",
        ),
        (
            'Was steht in der Datei "Annual Report 2021.docx" über die Miete?',
            "„Annual Report 2021.docx“ gehört nicht zu den Dokumenten, die ich für diese Frage lesen kann; "
            "„Annual_Report_2021.docx“ schon.",
        ),
        (
            "Que dit « bail.pdf » sur le loyer ?",
            "« bail.pdf » ne fait pas partie des documents que je peux lire pour cette question.",
        ),
        (
            "¿Qué dice el contrato.pdf sobre la renta?",
            "«contrato.pdf» no está entre los documentos que puedo leer para esta pregunta.",
        ),
    ],
)
def test_a_missing_file_is_named_in_the_language_of_the_question(question: str, note: str) -> None:
    assert unknown_files_note(unknown_files(question, KNOWN), question) == note


def test_only_a_known_name_is_suggested() -> None:
    assert [file.similar for file in unknown_files("What does handbok.pdf say?", [])] == [None]
    assert [file.similar for file in unknown_files("What does lease.pdf say?", KNOWN)] == [None]


def test_a_few_of_many_names_are_given() -> None:
    many = " ".join(f"f{number}.pdf" for number in range(3 * MOST_NAMED))
    assert len(names(many)) == MOST_NAMED


def test_what_is_too_long_is_no_name() -> None:
    assert names(f"What does {'a' * (LONGEST_NAME + 9)}.pdf say?") == []
