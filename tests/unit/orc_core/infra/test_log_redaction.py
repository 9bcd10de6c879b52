"""What is left out of logs: vendors' chatter, and the text of exceptions."""

import io
import logging
from collections.abc import Iterator

import pytest

from orc_core.infra.logs import TALKATIVE, keep_content_out


@pytest.fixture
def written() -> Iterator[io.StringIO]:
    """What a host writes whose root logger lets everything through."""
    root, factory = logging.getLogger(), logging.getLogRecordFactory()
    levels = {name: logging.getLogger(name).level for name in TALKATIVE}
    level, out = root.level, io.StringIO()
    handler = logging.StreamHandler(out)
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    keep_content_out()
    yield out
    root.removeHandler(handler)
    root.setLevel(level)
    logging.setLogRecordFactory(factory)
    for name, before in levels.items():
        logging.getLogger(name).setLevel(before)


def fail_over(content: str) -> None:
    try:
        int(content)
    except ValueError as exc:
        raise RuntimeError(content) from exc


def test_an_exception_is_logged_by_its_kinds_and_places(written: io.StringIO) -> None:
    try:
        fail_over("quokka")
    except RuntimeError:
        logging.getLogger("orc.turns.service").exception("turn %s failed", 7)
    text = written.getvalue()
    assert "quokka" not in text.replace('fail_over("quokka")', "")
    for expected in ("turn 7 failed", "builtins.ValueError\nand from that:", "RuntimeError", "in fail_over"):
        assert expected in text


def test_the_parts_of_a_group_are_logged(written: io.StringIO) -> None:
    error = ExceptionGroup("quokka", [ValueError("quokka"), AttributeError("no attribute 'x'")])
    logging.getLogger("orc").error("failed", exc_info=error)
    text = written.getvalue()
    assert "quokka" not in text
    assert "builtins.ValueError" in text
    assert "builtins.AttributeError: no attribute 'x'" in text


@pytest.mark.parametrize("name", ["openai._base_client", "httpx", "httpcore.http11", "azure.core.pipeline"])
def test_vendors_write_warnings_only(written: io.StringIO, name: str) -> None:
    logging.getLogger(name).debug("Request options: quokka")
    logging.getLogger(name).info("GET /?sig=quokka")
    logging.getLogger(name).warning("a retry")
    assert written.getvalue() == "a retry\n"


def test_our_own_debugging_stays(written: io.StringIO) -> None:
    logging.getLogger("orc_core.documents.worker").debug("job taken")
    assert written.getvalue() == "job taken\n"
