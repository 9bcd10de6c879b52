"""Objections to answers: a code with its values, and a sentence."""

import sys
from types import FrameType
from typing import get_args

import pytest

from devkit.shared_data import ROOT
from orc.events import Critique
from orc_core.grounding.citations import MAX_BRACKETS, CitationWriter
from orc_core.grounding.models import Grounding, Objection, ObjectionCode
from orc_core.grounding.sources import Source

pytestmark = pytest.mark.slow

PAGE = "Members pay a fee of 10 crowns a year."


def objections_to(answer: str, **of_source: object) -> list[Objection]:
    source = Source(
        number=1, document_id="d", blob_name="fees.pdf", page=4, start=0, text=PAGE, page_text=PAGE
    ).model_copy(update=of_source)
    writer = CitationWriter([source])
    writer.feed(answer)
    writer.finish()
    return writer.grounding.objections


def test_a_number_that_is_not_there_is_named_with_the_page() -> None:
    [found] = objections_to("Members pay a fee of 12 crowns a year. [S1]")
    assert found == Objection(
        code="differs",
        text='Page 4 of Document "fees.pdf": 12 is not there: Members pay a fee of 12 crowns a year.',
        claim="Members pay a fee of 12 crowns a year.",
        name="fees.pdf",
        page=4,
        missing=("12",),
    )


def test_brackets_that_are_not_read_are_one_objection_and_cost_no_comparisons() -> None:
    compared: list[FrameType] = []

    def note(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call" and frame.f_code is Objection.__eq__.__code__:
            compared.append(frame)

    writer = CitationWriter([])
    before = sys.getprofile()
    sys.setprofile(note)
    try:
        for _ in range(MAX_BRACKETS + 50):
            writer.feed("Ab is 1. [S1] ")
        writer.finish()
    finally:
        sys.setprofile(before)
    codes = [each.code for each in writer.grounding.objections]
    assert codes.count("too_many_brackets") == 1
    assert codes.count("unknown_source") == MAX_BRACKETS
    assert compared == []


def test_a_web_page_has_a_name_and_no_page() -> None:
    web = {"url": "https://example.org/fees", "blob_name": "Fees"}
    [found] = objections_to("All 40 dogs are welcome. [S1]", **web)
    assert (found.code, found.name, found.page) == ("differs", 'Web page "Fees", example.org', None)


def test_sources_and_claims_that_do_not_fit_each_other_have_codes() -> None:
    found = objections_to(f"{PAGE} [S1] [S7] Dogs are welcome.")
    assert [(each.code, each.number, each.claim) for each in found] == [
        ("unknown_source", 7, None),
        ("uncited", None, "Dogs are welcome."),
    ]


def test_turns_that_were_stored_without_codes_keep_their_texts() -> None:
    stored = {"grounded": False, "issues": ["The answer says 12.", "It is vague."], "contradicted": []}
    checks = Grounding.model_validate({**stored, "contradicted": ["The answer says 12."]})
    assert [each.code for each in checks.objections] == ["other", "other"]
    verdict = Critique.model_validate({**stored, "coverage": 0.5, "action": "revise"})
    assert verdict.issues == stored["issues"]
    assert Critique.model_validate(verdict.data()) == verdict


def test_a_code_of_a_newer_version_is_read_by_its_text() -> None:
    stored = {"grounded": False, "objections": [{"code": "too_polite", "text": "It is too polite.", "n": 1}]}
    [found] = Grounding.model_validate(stored).objections
    assert (found.code, found.text) == ("other", "It is too polite.")


def test_the_reference_lists_every_code() -> None:
    text = (ROOT / "docs" / "api.md").read_text()
    assert [code for code in get_args(ObjectionCode) if f"| `{code}` |" not in text] == []
