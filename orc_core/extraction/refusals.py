"""The errors of files whose child process did not come to its end."""

from orc_core.errors import OrcError, Unavailable
from orc_core.extraction.pages import unreadable
from orc_core.infra.sandbox import Ended, Reason

_CODES = {
    Reason.SLOW_STEP: "too_slow",
    Reason.TOO_SLOW: "too_slow",
    Reason.IDLE: "too_slow",
    Reason.TOO_MUCH_MEMORY: "too_much_memory",
    Reason.KILLED: "too_much_memory",
    Reason.FAILED: "corrupt",
}


def refusal(ended: Ended) -> OrcError:
    """The error that users get: of the file, or of a server that cannot read it now."""
    if ended.reason is Reason.STOPPED:
        return Unavailable("Reading the file was interrupted. Try again.")
    if ended.reason is Reason.BROKEN:
        return Unavailable(
            "Files cannot be read on this server. Its administrator finds the reason in the log."
        )
    return unreadable(_CODES[ended.reason])
