"""How often judges are right, on claims that people have labelled, and whether that is often enough."""

import asyncio
import json
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha256
from itertools import chain, groupby
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, TypeAdapter, ValidationError

from orc.judges.ports import UNKNOWN, Pair, SupportJudge, Verdict, confirmed
from orc_core.errors import InvalidInput
from orc_core.infra.slices import slices
from orc_core.llm.chat_model import CallBudget
from orc_core.llm.errors import ContentFiltered, ModelOutputInvalid, ModelRefused, ReplyCut
from orc_core.llm.model_catalog import ModelCatalogue
from orc_core.models import Record

log = logging.getLogger(__name__)

FILE = "judges.json"
# Why a judge has to earn it: docs/decisions/second-reading.md.
LEAST_ACCURACY = 0.70
"""Balanced accuracy from which on a judge's verdicts count. A judge that always says yes has .5."""
LEAST_CLAIMS = 100
"""Claims of which that must be measured: of 40, a judge that guesses gets .70 now and then."""
Line = Mapping[str, Any]
Half = Literal["tuning", "report"]
MOST_TOGETHER = 8
"""Claims about one evidence in a call, as of the sentences of an answer."""
_UNLIMITED = 1_000_000


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


class Labelled(Record):
    """A claim about an evidence, and whether people said that this supports it."""

    id: str
    pair: Pair
    is_right: bool
    half: Half


Judged = tuple[Labelled, str]
"""A claim, and the verdict of a judge on it."""


def pages_of(line: Line) -> list[str]:
    """The pages of a line's evidence; sentences of one page are its paragraphs."""
    if "pages" in line:
        return list(line["pages"])
    return ["\n\n".join(line["sentences"])] if "sentences" in line else [line["text"]]


def is_right(line: Line) -> bool | None:
    """Whether people said that the evidence supports the claim; None if the line has no label."""
    if "label" in line:
        return bool(line["label"] == "supported")
    return line.get("supported")


def half_of(line: Line) -> Half:
    """`tuning` or `report`, the same for all claims about one evidence."""
    is_odd = sha256("\n".join(pages_of(line)).encode()).digest()[-1] % 2
    return "report" if is_odd else "tuning"


def read_claims(file: Path) -> list[Labelled]:
    """The labelled claims of a file with a JSON object a line: `id`, `claim`, evidence and label.

    The evidence is a `text`, a list of `pages`, or a list of `sentences` of one page; the label is
    `supported`, or a `label` that is `supported` or something else.
    """
    lines = [json.loads(line) for line in file.read_text("utf-8").split("\n") if line.strip()]
    return [
        Labelled(
            id=str(line["id"]),
            pair=Pair(sentence=line["claim"], evidence="\n\n".join(pages_of(line))),
            is_right=right,
            half=half_of(line),
        )
        for line in lines
        if (right := is_right(line)) is not None
    ]


async def judge_claims(
    judge: SupportJudge,
    claims: Sequence[Labelled],
    kept: Path,
    advance: Callable[[int], None],
    *,
    seconds: float,
) -> list[Judged]:
    """The claims with their verdicts, each written to `kept` when it is there; none is asked for again.

    `advance` receives how many more are done. What the judge does not answer within `seconds`, or so that it
    cannot be used, is `unknown`, as in a turn; raises OrcError if the judge cannot be reached.
    """
    known = _read(kept, judge)
    advance(sum(each.id in known for each in claims))
    left = groupby((each for each in claims if each.id not in known), key=lambda each: each.pair.evidence)
    for some in chain.from_iterable(slices(list(about), MOST_TOGETHER) for _, about in left):
        verdicts = await _verdicts(judge, [each.pair for each in some], seconds)
        said = {each.id: found.verdict for each, found in zip(some, verdicts, strict=True)}
        lines = [json.dumps({"judge": _key(judge), "id": id, "verdict": found}) for id, found in said.items()]
        with kept.open("a", encoding="utf-8") as file:
            file.write("".join(f"{line}\n" for line in lines))
        known |= said
        advance(len(some))
    return [(each, known[each.id]) for each in claims]


def accuracy_of(judge: SupportJudge, judged: Sequence[Judged]) -> Accuracy:
    """How often these verdicts are right. Raises InvalidInput without right or without wrong claims."""
    right, wrong = counted(judged, is_right=True), counted(judged, is_right=False)
    if not (right and wrong):
        raise InvalidInput("Right and wrong claims are needed.")
    return Accuracy(
        right=right["supported"] / right.total(),
        wrong=wrong["supported"] / wrong.total(),
        claims=len(judged),
        version=judge.version,
    )


def counted(judged: Iterable[Judged], *, is_right: bool) -> Counter[str]:
    """The verdicts on the right or on the wrong claims."""
    return Counter(verdict for claim, verdict in judged if claim.is_right is is_right)


async def _verdicts(judge: SupportJudge, pairs: Sequence[Pair], seconds: float) -> list[Verdict]:
    try:
        async with asyncio.timeout(seconds):
            judgement = await judge.judge("", pairs, budget=CallBudget(_UNLIMITED))
    except (TimeoutError, ContentFiltered, ModelOutputInvalid, ModelRefused, ReplyCut):
        return [UNKNOWN for _ in pairs]
    return [confirmed(*each) for each in zip(pairs, judgement.verdicts, strict=True)]


def _read(kept: Path, judge: SupportJudge) -> dict[str, str]:
    """The verdicts of this judge that are there, by the id of the claim."""
    found = {}
    for line in kept.read_text("utf-8").split("\n") if kept.exists() else []:
        with suppress(json.JSONDecodeError):  # the last line may not have been written whole
            said = json.loads(line)
            if said["judge"] == _key(judge):
                found[said["id"]] = said["verdict"]
    return found


def _key(judge: SupportJudge) -> str:
    return f"{judge.name} {judge.version}"
