"""Whether the check of a citation ended, read from answers that were stored before citations said so."""

from typing import Any

import pytest

from core.grounding.citations import NOT_CHECKED
from core.grounding.models import Mark
from core.grounding.stored_citations import with_checked
from devkit.remembered_turns import citation

REFUTED = '[Page 6 of Document "handbook.pdf", not verified]'
OPEN = '[Page 6 of Document "handbook.pdf", not checked]'


def stored(*marks: Mark, verified: bool = False) -> dict[str, Any]:
    """A citation as an earlier version stored it."""
    cited = citation(6, verified=verified).model_copy(update={"marks": list(marks)})
    return cited.model_dump(mode="json", exclude={"checked"})


def checked_in(answer: str, cited: dict[str, Any]) -> bool:
    [read] = with_checked([cited], answer)
    return bool(read.get("checked", True))


@pytest.mark.parametrize(
    ("answer", "checked"),
    [
        (f"a {REFUTED}", True),
        (f"a {OPEN}", False),
        (f"a {OPEN} {REFUTED}", True),
        (f"a\n\n{NOT_CHECKED}", False),
    ],
)
def test_the_answer_says_whether_a_citation_without_marks_was_checked(answer: str, checked: bool) -> None:
    assert checked_in(answer, stored()) is checked


def test_marks_tell_citations_of_one_page_apart() -> None:
    answer = f"😀 {REFUTED} {OPEN}"
    first, second = answer.index(REFUTED), answer.index(OPEN)
    places = [Mark(start=first, end=first + len(REFUTED)), Mark(start=second, end=second + len(OPEN))]
    assert [checked_in(answer, stored(place)) for place in places] == [True, False]
    assert checked_in(answer, stored(*places)) is True


def test_what_is_verified_or_says_so_itself_stays() -> None:
    said = stored() | {"checked": True}
    cited = [stored(verified=True), said]
    assert with_checked(cited, f"a {OPEN}") == cited
