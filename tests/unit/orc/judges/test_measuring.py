"""Judges are measured on labelled claims, in calls that are made once."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from orc.judges.measuring import MOST_TOGETHER, accuracy_of, judge_claims, read_claims
from orc.judges.ports import Judgement, Pair, Verdict
from orc_core.errors import DependencyDown, InvalidInput
from orc_core.llm.chat_model import CallBudget
from orc_core.llm.errors import ModelOutputInvalid

SECONDS = 30.0
LINES = [
    {"id": 1, "text": "The fee is 10.", "claim": "The fee is 10.", "supported": True},
    {"id": 2, "text": "The fee is 10.", "claim": "It is 12.", "supported": False},
    {"id": 3, "sentences": ["Dogs pay 7."], "claim": "Dogs pay 7.", "label": "supported"},
    {"id": 4, "pages": ["Cats.", "Dogs."], "claim": "Dogs pay.", "label": "partially_supported"},
    {"id": 5, "text": "It has no label.", "claim": "It."},
]


class WordForWord:
    """Supports what the evidence has; fails at the calls that `failures` has an error for."""

    name, version = "words", "1"

    def __init__(self, *failures: Exception | None) -> None:
        self._failures = list(failures)
        self.asked: list[list[str]] = []

    async def judge(self, question: str, pairs: Sequence[Pair], *, budget: CallBudget) -> Judgement:
        if self._failures and (failure := self._failures.pop(0)):
            raise failure
        self.asked.append([pair.sentence for pair in pairs])
        found = [pair.sentence in pair.evidence for pair in pairs]
        verdicts = [
            Verdict(verdict="supported" if right else "unsupported", quote=pair.sentence)
            for pair, right in zip(pairs, found, strict=True)
        ]
        return Judgement(verdicts=verdicts)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "claims.jsonl"
    path.write_text("\n".join(map(json.dumps, LINES)))
    return path


async def test_claims_about_one_text_are_judged_together(file: Path, tmp_path: Path) -> None:
    judge, done = WordForWord(), list[int]()
    judged = await judge_claims(judge, read_claims(file), tmp_path / "kept", done.append, seconds=SECONDS)
    assert judge.asked == [["The fee is 10.", "It is 12."], ["Dogs pay 7."], ["Dogs pay."]]
    assert [verdict for _, verdict in judged] == ["supported", "unsupported", "supported", "unsupported"]
    assert done == [0, 2, 1, 1]
    accuracy = accuracy_of(judge, judged)
    assert (accuracy.right, accuracy.wrong, accuracy.balanced, accuracy.claims) == (1, 0, 1, 4)
    assert accuracy_of(judge, [(claim, "supported") for claim, _ in judged]).balanced == 0.5


async def test_a_measurement_goes_on_where_it_stopped(file: Path, tmp_path: Path) -> None:
    claims, kept = read_claims(file), tmp_path / "kept"
    broken = WordForWord(None, DependencyDown("It is down.", dependency="model"))
    with pytest.raises(DependencyDown):
        await judge_claims(broken, claims, kept, lambda _: None, seconds=SECONDS)
    judge = WordForWord()
    judged = await judge_claims(judge, claims, kept, lambda _: None, seconds=SECONDS)
    assert judge.asked == [["Dogs pay 7."], ["Dogs pay."]]
    assert len(judged) == 4
    another = WordForWord()
    another.version = "2"
    await judge_claims(another, claims, kept, lambda _: None, seconds=SECONDS)
    assert sum(map(len, another.asked)) == 4


async def test_an_answer_that_cannot_be_used_is_unknown(file: Path, tmp_path: Path) -> None:
    judge = WordForWord(ModelOutputInvalid("no form"))
    judged = await judge_claims(judge, read_claims(file), tmp_path / "kept", lambda _: None, seconds=SECONDS)
    assert [verdict for _, verdict in judged] == ["unknown", "unknown", "supported", "unsupported"]


async def test_an_answer_that_is_late_is_unknown(file: Path, tmp_path: Path) -> None:
    class Slow(WordForWord):
        async def judge(self, question: str, pairs: Sequence[Pair], *, budget: CallBudget) -> Judgement:
            if len(pairs) > 1:
                await asyncio.sleep(SECONDS)
            return await super().judge(question, pairs, budget=budget)

    judged = await judge_claims(Slow(), read_claims(file), tmp_path / "kept", lambda _: None, seconds=0.05)
    assert [verdict for _, verdict in judged] == ["unknown", "unknown", "supported", "unsupported"]


async def test_many_claims_about_one_text_are_divided(tmp_path: Path) -> None:
    path, judge = tmp_path / "many.jsonl", WordForWord()
    path.write_text("\n".join(json.dumps({**LINES[0], "id": n}) for n in range(MOST_TOGETHER + 1)))
    await judge_claims(judge, read_claims(path), tmp_path / "kept", lambda _: None, seconds=SECONDS)
    assert [len(each) for each in judge.asked] == [MOST_TOGETHER, 1]


def test_accuracy_needs_right_and_wrong_claims(file: Path) -> None:
    judged = [(claim, "supported") for claim in read_claims(file) if claim.is_right]
    with pytest.raises(InvalidInput, match="Right and wrong"):
        accuracy_of(WordForWord(), judged)
