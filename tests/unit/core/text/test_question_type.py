"""The type of a message by its wording."""

import time

import pytest

from core.text.question_type import (
    asked_parts,
    asks_about_whole,
    asks_for_listing,
    asks_for_overview,
    concerns_no_document,
    is_bare_answer,
    is_small_talk,
    is_statement,
    mentions_documents,
    topic_of_summary,
)


@pytest.mark.parametrize(
    "text",
    [
        "Hello!", "Hi Orc, how are you?", "Thanks a lot!!! 🙏", "OK, thanks", "What can you do?", "bye bye",
        "Guten Tag", "Grüß Gott!", "Danke für deine Hilfe", "Wie geht’s dir?", "Wer bist du?",
        "Bonjour à tous, ça va ?", "Merci beaucoup", "Qu’est-ce que tu peux faire ?",
        "¡Hola! ¿Qué tal?", "Muchas gracias por tu ayuda", "¿Quién eres?", "Ciao",
    ],
)  # fmt: skip
def test_courtesies_are_small_talk(text: str) -> None:
    assert is_small_talk(text)
    assert not is_bare_answer(text)


@pytest.mark.parametrize(
    "text",
    [
        "Hi, what is the fee?", "No deposit due?", "Thanks, and for families?", "What are you charging?",
        "How can you help me with the tax return?", "Good reasons?", "Who are you and what is the fee?",
        "Danke, und die Kinder?", "Merci de résumer le contrat", "Qui paie ?", "Hola, ¿cuánto cuesta?",
        "Thanks " * 40,
    ],
)  # fmt: skip
def test_a_message_with_a_request_is_not_small_talk(text: str) -> None:
    assert not is_small_talk(text)
    assert not is_bare_answer(text)


@pytest.mark.parametrize(
    "text",
    ["yes", "Yes, please!", "Yes, thanks", "ok", "No.", "Ja, bitte", "Oui", "Sí", "d’accord", "👍", "?"],
)
def test_agreeing_or_declining_is_an_answer(text: str) -> None:
    assert is_bare_answer(text)
    assert not is_small_talk(text)


@pytest.mark.parametrize(
    "text",
    [
        "What is the weather like in Paris?", "How's the weather today?", "Wie wird das Wetter morgen?",
        "Quel temps fait-il ?", "¿Qué tiempo hará mañana?", "What time is it?", "What's the date today?",
        "Tell me a joke", "Write a short poem about spring", "Erzähl mir einen Witz", "2+2",
        "What is 17 * 23?",
    ],
)  # fmt: skip
def test_what_no_document_has_is_recognised(text: str) -> None:
    assert concerns_no_document(text)


@pytest.mark.parametrize(
    "text",
    [
        "Who pays for damage by weather?", "May ships leave in bad weather?",
        "What is the date of the lease?",
        "What is clause 4-2 about?", "What does the handbook say about the weather today?",
        "What is the time limit?",
        "How many days of leave are there?", "Is 25 + 3 days in the contract right?", "Who wrote the poem?",
        "What is form 2023-17?", "When is it due: 2024-03-01?",
    ],
)  # fmt: skip
def test_what_a_document_may_have_is_not(text: str) -> None:
    assert not concerns_no_document(text)


@pytest.mark.parametrize(
    ("text", "tells"),
    [
        ("My name is Ada.", True), ("Bitte antworte auf Deutsch", True), ("Remember that I am in", True),
        ("Mon budget est de 500 euros", True), ("My name is Ada. And the fee?", False), ("The fee?", False),
    ],
)  # fmt: skip
def test_statements_are_recognised(text: str, tells: bool) -> None:
    assert is_statement(text) == tells


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("How long is my contract?", True), ("Was steht auf Seite 3?", True), ("dans le rapport", True),
        ("under the lease?", True), ("nach meinem Mietvertrag", True), ("selon le propriétaire", True),
        ("¿qué dice el informe?", True), ("What is my project called?", False), ("Is it profiled?", False),
    ],
)  # fmt: skip
def test_documents_and_their_parts_are_recognised(text: str, expected: bool) -> None:
    assert mentions_documents(text) == expected


@pytest.mark.parametrize(
    "question", ["Which documents do I have?", "list my files", "What files are attached?"]
)
def test_a_request_for_the_document_list_is_recognised(question: str) -> None:
    assert asks_for_listing(question)


@pytest.mark.parametrize(
    "question",
    ["What does the document say about fees?", "Which file mentions dental care?", "What is a deductible?"],
)
def test_a_question_about_document_content_is_not_a_listing(question: str) -> None:
    assert not asks_for_listing(question)


@pytest.mark.parametrize(
    "question",
    [
        "What is this about?", "What is this presentation about?", "what's in this spreadsheet?",
        "What is this file?", "Give me a summary of this mail.", "Worum geht es in diesem Dokument?",
        "Fasse den Vertrag zusammen", "De quoi parle ce document ?", "¿De qué trata este informe?",
        "Resume este contrato", "What are the main points?", "What are the key takeaways of this report?",
        "Was sind die wichtigsten Punkte dieses Berichts?",
        "Was sind die wichtigsten Punkte?", "Quels sont les points principaux ?",
        "¿Cuáles son los puntos clave?",
    ],
)  # fmt: skip
def test_an_overview_is_asked_for_in_several_languages(question: str) -> None:
    assert asks_for_overview(question)


@pytest.mark.parametrize(
    "question",
    [
        "What are the key points to consider about pets?", "What are the main points of the lease on pets?",
        "Was sind die wichtigsten Punkte zur Kündigung der Wohnung?",
        "What is an excess and what does it cover?",
        "What is the rent?", "What is this clause for?", "What is the deposit for the excavator?",
        "Wer geht?", "When does the service resume?", "Where do I send my resume?",
    ],
)  # fmt: skip
def test_a_question_about_one_thing_asks_for_no_overview(question: str) -> None:
    assert not asks_for_overview(question)


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("Who wrote the minutes?", "author"), ("When was the invoice issued?", "date"),
        ("Who wrote this?", "author"), ("Who is the author of this paper?", "author"),
        ("Who are the authors?", "author"), ("Wer hat das geschrieben?", "author"),
        ("Wer ist der Verfasser dieses Berichts?", "author"), ("Von wem stammt dieser Text?", "author"),
        ("Qui a écrit ce rapport ?", "author"), ("¿Quién escribió este informe?", "author"),
        ("When was this published?", "date"), ("How old is this document?", "date"),
        ("When was the e-mail sent?", "date"), ("Wann wurde die Mail verschickt?", "date"),
        ("What is the date of the report?", "date"), ("Wann wurde das veröffentlicht?", "date"),
        ("Von wann ist dieses Dokument?", "date"), ("De quand date ce rapport ?", "date"),
        ("¿Cuándo se publicó este informe?", "date"), ("Summarize this", "overview"),
        ("Who wrote the report on the wells?", None), ("Who is the author of the second poem?", None),
        ("When was the lease signed by the tenant?", None), ("When was the permit issued?", None),
        ("Wann wurde die Brücke erstellt?", None), ("What is the rent?", None),
    ],
)  # fmt: skip
def test_the_author_and_the_date_of_a_whole_document_are_asked_for(question: str, asked: str | None) -> None:
    assert asks_about_whole(question) == asked


@pytest.mark.parametrize(
    ("question", "topic"),
    [
        ("Give me an overview of the vacation policy", "vacation"),
        ("Summarize the rules for dogs", "rules dogs"), ("Fasse die Urlaubsregeln zusammen", "Urlaubsregeln"),
        ("Einen Überblick über die Reisekosten bitte", "Reisekosten bitte"),
        ("Summarize this document in three sentences", None), ("Can you summarize it for me?", None),
        ("A summary of the paper's results", None), ("Fasse mir bitte den Vertrag kurz zusammen", None),
        ("Zusammenfassung der wichtigsten Ergebnisse", None), ("Summarize", None),
        ("Summarize the policy", None), ("What is the vacation policy?", None),
    ],
)  # fmt: skip
def test_a_summary_of_a_topic_is_none_of_a_document(question: str, topic: str | None) -> None:
    assert topic_of_summary(question) == topic


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        (
            "What is the rent and how much is the deposit?",
            ["What is the rent", "how much is the deposit?"],
        ),
        ("Wie groß ist sie und seit wann gilt das?", ["Wie groß ist sie", "seit wann gilt das?"]),
        ("What is the rent, and when is it due?", ["What is the rent", "when is it due?"]),
        ("Tell me, what is it and who pays?", ["Tell me, what is it", "who pays?"]),
        ("When is it, what is it and who pays?", ["When is it", "what is it", "who pays?"]),
        ("What is the fee, which is due in May?", ["What is the fee, which is due in May?"]),
        ("What is a fee, which is due, and who pays?", ["What is a fee, which is due", "who pays?"]),
        ("Who is it and why and how and when is it?", ["Who is it", "why", "how", "when is it?"]),
        (" and ".join(["who"] * 8), ["who"] * 5 + ["who and who and who"]),
        ("Is it new? What is the fee? Who pays?", ["Is it new?", "What is the fee?", "Who pays?"]),
        ("Is it new? I would like to know.", ["Is it new? I would like to know."]),
        ("Is it? " * 7, ["Is it?"] * 5 + ["Is it? Is it?"]),
        ("What is the price of salt and pepper?", ["What is the price of salt and pepper?"]),
    ],
)
def test_two_questions_in_one_are_separated(question: str, parts: list[str]) -> None:
    assert asked_parts(question) == parts


def test_a_long_question_without_an_overview_is_read_fast() -> None:
    begun = time.process_time()
    assert not asks_for_overview("fass " * 10_000)
    assert time.process_time() - begun < 0.2
