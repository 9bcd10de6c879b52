"""A product that lets vendors' libraries write what they like."""

from core import logs
from qa.loudness import log_everything

log_everything()
setattr(logs, "keep_content_out", lambda: None)  # noqa: B010 - what is planted has no type
