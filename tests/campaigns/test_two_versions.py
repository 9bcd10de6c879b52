"""Two versions on one store: what one of them does not show as it was acknowledged is found."""

import sys

import httpx
import pytest

from resilience.two_versions import CHANGED, EMBEDDED, LOST, SHOWN, Session, campaign, compare


def a_client(shown: dict[str, str], names: list[str], status: int = 200) -> httpx.Client:
    """A client of an API that shows these answers and documents of every session."""

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/documents"):
            documents = [{"blob_name": name, "status": "completed"} for name in names]
            return httpx.Response(200, json={"documents": documents})
        turns = [{"turn_id": turn, "answer": text} for turn, text in shown.items()]
        return httpx.Response(status, json={"turns": turns})

    return httpx.Client(base_url="http://api", transport=httpx.MockTransport(answer))


@pytest.mark.parametrize(
    ("shown", "names", "found"),
    [
        ({"t1": "Four.", "t2": "Five."}, ["a.txt"], []),
        ({"t1": "Four."}, ["a.txt"], [LOST]),
        ({"t1": "Four.", "t2": "Six."}, ["a.txt"], [CHANGED]),
        ({"t1": "Four.", "t2": "Five.", "t3": "Five."}, ["a.txt"], [CHANGED]),
        ({"t1": "Four.", "t2": "Five."}, [], [LOST]),
    ],
)
def test_what_was_lost_or_changed_is_found(
    monkeypatch: pytest.MonkeyPatch, shown: dict[str, str], names: list[str], found: list[str]
) -> None:
    monkeypatch.setattr("resilience.two_versions.INDEX_SECONDS", 0.0)
    session = Session(answers={"t1": "Four.", "t2": "Five."}, names={"a.txt"})
    compare(a_client(shown, names), "one", session)
    assert [kind for kind, _ in session.found] == found


def test_a_deleted_session_that_is_shown_is_found() -> None:
    session = Session(is_deleted=True)
    compare(a_client({}, [], status=404), "one", session)
    assert session.found == []
    compare(a_client({}, []), "one", session)
    assert [kind for kind, _ in session.found] == [SHOWN]


@pytest.mark.campaign
def test_this_version_loses_nothing_next_to_that_of_the_last_commit() -> None:
    assert campaign("HEAD", sys.executable, EMBEDDED, sessions=5, turns=2).ok
