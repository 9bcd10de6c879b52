"""The eval of the code check: one verdict a line, and a table of right and wrong claims."""

import json
from pathlib import Path

import pytest

from evals.claims import checks, main, report
from orc.judges.measuring import half_of, pages_of

PAGE = "The rent is due on the third of May. Hannah Moss paid 40 pounds for each of the boats."
COPIED, OTHER, WRONG = (
    "The rent is due on the third of May.",
    "Rent has to be paid.",
    "The rent is 871 pounds.",
)


def test_each_form_of_evidence_is_read() -> None:
    assert pages_of({"text": PAGE}) == [PAGE]
    assert pages_of({"pages": [PAGE, COPIED]}) == [PAGE, COPIED]
    assert pages_of({"sentences": [COPIED, OTHER]}) == [f"{COPIED}\n\n{OTHER}"]


@pytest.mark.parametrize(
    "evidence", [{"text": PAGE}, {"pages": ["Another page.", PAGE]}, {"sentences": [PAGE]}]
)
def test_a_claim_is_quoted_reworded_or_differs(evidence: dict[str, object]) -> None:
    lines = [{"claim": claim, **evidence} for claim in (COPIED, OTHER, WRONG)]
    assert list(checks(lines)) == ["quoted", "reworded", "differs"]


def test_all_claims_about_one_text_are_in_one_half() -> None:
    assert half_of({"text": PAGE, "claim": COPIED}) == half_of({"text": PAGE, "claim": WRONG})
    assert {half_of({"text": f"{PAGE} {number}"}) for number in range(20)} == {"tuning", "report"}


def test_the_table_counts_right_and_wrong_claims_by_language() -> None:
    lines: list[dict[str, object]] = [
        {"text": PAGE, "claim": COPIED, "supported": True, "language": "en"},
        {"text": PAGE, "claim": WRONG, "label": "not_supported", "language": "en"},
    ]
    table = report(lines, ["quoted", "differs"]).splitlines()
    (english,) = [row for row in table if row.startswith("| en")]
    assert [cell.strip() for cell in english.split("|")[2:9]] == [
        "1 of 1 (100.0%)",
        "0 of 1 (0.0%)",
        "0 of 1 (0.0%)",
        "0 of 1 (0.0%)",
        "0 of 1 (0.0%)",
        "1 of 1 (100.0%)",
        "1.000",
    ]


def test_the_command_writes_one_verdict_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [{"id": f"c{at}", "text": PAGE, "claim": claim} for at, claim in enumerate((COPIED, WRONG))]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    assert main([str(tmp_path / "in.jsonl"), "--output", str(tmp_path / "out.jsonl")]) == 0
    written = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text("utf-8").splitlines()]
    assert written == [{"id": "c0", "check": "quoted"}, {"id": "c1", "check": "differs"}]
    assert capsys.readouterr().out == ""
