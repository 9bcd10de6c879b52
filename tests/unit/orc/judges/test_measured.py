"""A judge's verdicts count only after it was measured, and if it was right often enough."""

import json
import logging
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from devkit.fakes import scripted
from devkit.graph_turns import says
from orc.judges.azure import GroundednessDetection
from orc.judges.building import ModelJudge, build_judge, trusted
from orc.judges.measuring import FILE, Accuracy, keep_measured, read_measured
from orc.settings import Settings
from orc_core.errors import InvalidInput
from orc_core.infra.azure import Credentials
from orc_core.infra.model_settings import ModelFacts
from orc_core.llm.model_catalog import ModelCatalogue

MODEL, _ = scripted(says("x"))
JUDGE = ModelJudge(MODEL, "Judge.")
GOOD = Accuracy(right=0.8, wrong=0.2, claims=100, version=JUDGE.version)
NOTHING = ModelCatalogue()


def stated(accuracy: float) -> ModelCatalogue:
    return ModelCatalogue({JUDGE.name: ModelFacts(judge_accuracy=accuracy)})


@pytest.mark.parametrize(
    ("measured", "catalogue", "counts"),
    [
        (None, NOTHING, False),
        (GOOD, NOTHING, True),
        (GOOD.model_copy(update={"right": 0.6}), NOTHING, True),
        (GOOD.model_copy(update={"right": 0.59}), NOTHING, False),
        (GOOD.model_copy(update={"claims": 99}), NOTHING, False),
        (GOOD.model_copy(update={"version": "another prompt"}), NOTHING, False),
        (None, stated(0.7), True),
        (None, stated(0.69), False),
        (GOOD.model_copy(update={"right": 0.1}), stated(0.9), False),
    ],
)
def test_verdicts_count_from_a_balanced_accuracy_on(
    measured: Accuracy | None, catalogue: ModelCatalogue, counts: bool, tmp_path: Path
) -> None:
    if measured is not None:
        keep_measured(tmp_path, JUDGE.name, measured)
    assert (trusted(JUDGE, Settings(data_dir=tmp_path), catalogue) is JUDGE) is counts


def test_a_measurement_replaces_that_of_the_same_judge_only(tmp_path: Path) -> None:
    better = GOOD.model_copy(update={"right": 0.9})
    for name, accuracy in (("a", GOOD), ("b", GOOD), ("a", better)):
        keep_measured(tmp_path / "new", name, accuracy)
    assert read_measured(tmp_path / "new") == {"a": better, "b": GOOD}
    assert [file.name for file in (tmp_path / "new").iterdir()] == [FILE]


@pytest.mark.parametrize("content", ["", "{", "[]", json.dumps({"a": {"right": 2}})])
def test_a_damaged_file_measures_nothing(
    content: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / FILE).write_text(content)
    with caplog.at_level(logging.WARNING):
        assert read_measured(tmp_path) == {}
    assert "cannot be read" in caplog.text


async def test_the_settings_choose_the_judge(tmp_path: Path) -> None:
    azure = {"judge": "azure", "azure_content_safety_endpoint": "https://safety.example"}
    async with AsyncExitStack() as stack:

        def built(**values: object) -> object:
            return build_judge(Settings.model_validate(values), MODEL, Credentials(), stack)

        assert isinstance(built(), ModelJudge)
        assert isinstance(built(**azure), GroundednessDetection)
        assert built(judge="off") is None
        assert build_judge(Settings(), None, Credentials(), stack) is None, "there is no model"
        with pytest.raises(InvalidInput, match="AZURE_CONTENT_SAFETY_ENDPOINT"):
            built(judge="azure")
