"""Open WebUI shows Orc's answer with its source, and a click on the source shows the quote."""

import pytest

from resilience.open_webui import campaign

pytestmark = pytest.mark.campaign


def test_a_person_sees_the_source_of_an_answer() -> None:
    seen = campaign()
    assert "1 source: 1 in the same words" in seen.answer
    assert "The quay opens at seven." in seen.answer
    assert "1 Source\n" in seen.answer
    assert "(page 1)" in seen.source
    assert "The quay opens at seven." in seen.source.partition("(page 1)")[2]
    # Its requests for a title, tags and suggestions are no turns.
    assert len(seen.turns) == 1
