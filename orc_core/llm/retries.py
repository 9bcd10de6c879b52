"""How long a provider asks its callers to wait before they try again."""

import math
import time
from collections.abc import Mapping
from email.utils import mktime_tz, parsedate_tz

LONGEST_WAIT_SECONDS = 5.0
"""A longer wait is reported to the caller at once: the time of a turn is not spent on it."""


def seconds_to_wait(headers: Mapping[str, str]) -> float:
    """The seconds that `Retry-After` names, as a number or as a date; 0 if there are none."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) / unit
        except (KeyError, ValueError):
            continue
        return max(seconds, 0.0) if math.isfinite(seconds) else 0.0
    date = parsedate_tz(headers.get("retry-after", ""))
    try:
        return max(mktime_tz(date) - time.time(), 0.0) if date else 0.0
    except (ValueError, OverflowError):
        return 0.0
