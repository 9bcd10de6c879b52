"""How often judges are right, as measured in this installation, and whether that is often enough."""

import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from pydantic import Field, TypeAdapter, ValidationError

from orc.judges.ports import SupportJudge
from orc_core.llm.model_catalog import ModelCatalogue
from orc_core.models import Record

log = logging.getLogger(__name__)

FILE = "judges.json"
# Why a judge has to earn it: docs/decisions/second-reading.md.
LEAST_ACCURACY = 0.70
"""Balanced accuracy from which on a judge's verdicts count. A judge that always says yes has .5."""
LEAST_CLAIMS = 100
"""Claims of which that must be measured: of 40, a judge that guesses gets .70 now and then."""


class Accuracy(Record):
    """Shares of the right and of the wrong claims that a judge calls supported, of so many claims."""

    right: float = Field(ge=0, le=1)
    wrong: float = Field(ge=0, le=1)
    claims: int = Field(ge=0)
    version: str = Field(description="of the judge that was measured")
    measured: datetime = Field(default_factory=lambda: datetime.now(UTC))

    @property
    def balanced(self) -> float:
        """The mean of the shares that are judged correctly among right and among wrong claims."""
        return (self.right + 1 - self.wrong) / 2


_KEPT: TypeAdapter[dict[str, Accuracy]] = TypeAdapter(dict[str, Accuracy])


def read_measured(folder: Path) -> dict[str, Accuracy]:
    """What was measured in this installation, by the name of the judge; nothing if the file is damaged."""
    try:
        return _KEPT.validate_json((folder / FILE).read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValidationError):
        log.warning("%s cannot be read: no judge counts as measured", FILE)
        return {}


def keep_measured(folder: Path, name: str, accuracy: Accuracy) -> None:
    """Keep a measurement, in place of an earlier one of this judge."""
    kept = {**read_measured(folder), name: accuracy}
    folder.mkdir(parents=True, exist_ok=True)
    written = folder / f"{FILE}.new"
    written.write_bytes(_KEPT.dump_json(kept, indent=2))
    written.replace(folder / FILE)


def why_not(judge: SupportJudge, kept: Mapping[str, Accuracy], catalogue: ModelCatalogue) -> str | None:
    """Why the verdicts of a judge do not count; None if they do.

    The installation's own measurement goes before what the catalogue of models says.
    """
    found = kept.get(judge.name)
    if found is not None and found.version == judge.version:
        if found.claims < LEAST_CLAIMS:
            return f"it was measured on {found.claims} claims only, of at least {LEAST_CLAIMS}"
        accuracy: float | None = found.balanced
    else:
        accuracy = catalogue.facts(judge.name).judge_accuracy
    if accuracy is None:
        return "it was not measured"
    return None if accuracy >= LEAST_ACCURACY else f"its balanced accuracy is {accuracy:.2f}"
