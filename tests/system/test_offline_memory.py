"""The offline model recalls in a late turn what the user said in turn 3, among questions about a document."""

from devkit.shared_data import HANDBOOK
from devkit.system import System, upload

CONVERSATION = "0d9c2f0a-6a6e-4d0a-9a44-5b0f5a3d8c22"
TURNS, ALL_TURNS = 30, 120
QUESTIONS = (
    "How many days of leave does a new employee get?",
    "How soon must a lost device be reported?",
    "Who approves a travel claim?",
)


def test_a_fact_of_turn_3_is_recalled_in_a_late_turn(offline_system: System, full_size: bool) -> None:
    with offline_system.client() as client:
        assert upload(client, CONVERSATION, HANDBOOK).status_code == 201

        def ask(question: str, *names: str) -> str:
            body = {"question": question, "conversation_id": CONVERSATION, "blob_names": list(names)}
            response = client.post("/orc", json=body)
            assert response.status_code == 200, response.text
            return str(response.json()["answer"])

        assert "7431-K" not in ask("What is my badge number?")
        ask(QUESTIONS[0], HANDBOOK.name)
        ask("Remember that my badge number is 7431-K.")
        for seq in range(4, ALL_TURNS if full_size else TURNS):
            if seq % 4:
                ask(f"Thank you for number {seq}.")
            else:
                ask(QUESTIONS[seq % 3], *([HANDBOOK.name] if seq % 8 else []))
        assert "7431-K" in ask("What is my badge number?")
