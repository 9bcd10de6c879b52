"""A product that lets vendors' libraries write what they like."""

from orc_core.infra import logs as logs
from resilience.verbose_logging import log_everything

log_everything()
setattr(logs, "keep_content_out", lambda: None)  # noqa: B010 - what is planted has no type
