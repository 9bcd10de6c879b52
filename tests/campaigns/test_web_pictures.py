"""States of the page look as they did when people reviewed them."""

import json

import pytest

from devkit.browser import Program
from devkit.page_pictures import (
    LOOKS,
    STATES,
    differing,
    installed_browser,
    reviewed,
    reviewed_browser,
    take,
)
from devkit.shared_data import ROOT

MOST_DIFFERING = 0.001
SEND_BUTTON = (74, 52, 78, 56)


@pytest.mark.campaign
async def test_states_look_as_they_were_reviewed(program: Program) -> None:
    """After a change that is meant, look at the states, and run `python -m scripts.picture_page --review`."""
    if installed_browser() != reviewed_browser():
        pytest.skip(
            f"The pictures are of browser {reviewed_browser()}, and {installed_browser()} is installed"
        )
    known, now = reviewed(), await take(program)
    assert len(now) == len(STATES) * len(LOOKS) == 72
    shares = {state: differing(picture, known[state]) for state, picture in now.items()}
    assert {state: share for state, share in shares.items() if share > MOST_DIFFERING} == {}


def test_the_reviewed_pictures_are_of_the_locked_browser() -> None:
    packages = json.loads((ROOT / "package-lock.json").read_bytes())["packages"]
    assert packages["node_modules/@sparticuz/chromium"]["version"] == reviewed_browser()


def test_a_button_that_moved_is_a_difference() -> None:
    picture = reviewed()["answered", "1440-light"]
    moved = picture.copy()
    moved.paste(picture.crop(SEND_BUTTON), (SEND_BUTTON[0] - 1, SEND_BUTTON[1]))
    assert differing(picture, moved) > MOST_DIFFERING
    assert differing(picture, picture.copy()) == 0
