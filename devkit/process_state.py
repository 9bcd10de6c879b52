"""State of this process that outlives a test unless it is put back: the rules of logging."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def logging_restored() -> Iterator[None]:
    """Put back what is logged and how: the record factory, the levels, and the root's handlers.

    A logger that was made within has no level afterwards.
    """
    factory, disabled = logging.getLogRecordFactory(), logging.root.manager.disable
    handlers, levels = list(logging.root.handlers), {logger: logger.level for logger in _loggers()}
    try:
        yield
    finally:
        logging.setLogRecordFactory(factory)
        logging.disable(disabled)
        logging.root.handlers[:] = handlers
        for logger in _loggers():
            if logger.level != (level := levels.get(logger, logging.NOTSET)):
                logger.setLevel(level)


def _loggers() -> list[logging.Logger]:
    known = logging.root.manager.loggerDict.values()
    return [logging.root, *(logger for logger in known if isinstance(logger, logging.Logger))]


def is_busy() -> bool:
    """Whether others keep this machine so busy that the clock says little about our own work."""
    return os.getloadavg()[0] > 2 * (os.cpu_count() or 1)
