"""The offline model as a critic: it looks for the answer's sentences in the sources, and asks for nothing."""

import pytest

from core.grounding.claims import NOT_FOUND_ANSWER
from core.grounding.sources import FencedSource
from core.offline.critic import fill_judgement

SOURCE = FencedSource(number=1, blob_name="a.pdf", page=2, text="The fee is 10 < 20. Families pay 15.")
CITED = '[Page 2 of Document "a.pdf"]'


def judged(answer: str) -> dict[str, object]:
    asked = f"What is the fee?\n\n<answer>\n{answer}\n</answer>"
    return fill_judgement(asked, [SOURCE])


@pytest.mark.parametrize(
    "answer",
    [
        f"The fee is 10 &lt; 20. {CITED} Families pay 15. {CITED}",
        f"- Families pay 15. {CITED}",
        NOT_FOUND_ANSWER,
    ],
)
def test_what_stands_in_a_source_word_for_word_is_grounded(answer: str) -> None:
    assert judged(answer) == {
        "grounded": True,
        "coverage": 1.0,
        "issues": [],
        "action": "accept",
        "query": "",
    }


def test_a_sentence_that_no_source_has_is_named() -> None:
    verdict = judged(f"Families pay 15. {CITED} Dogs pay 3. {CITED}")
    assert verdict["grounded"] is False
    assert verdict["coverage"] == 0.5
    assert verdict["issues"] == ["No source has this word for word: Dogs pay 3."]
    assert verdict["action"] == "accept"


@pytest.mark.parametrize("asked", ["", "What is the fee?", "<answer>\n\n</answer>"])
def test_no_answer_is_not_grounded(asked: str) -> None:
    assert fill_judgement(asked, [SOURCE])["grounded"] is False
