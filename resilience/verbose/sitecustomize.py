"""Python runs this at start-up if this folder is on PYTHONPATH: for processes of resilience.leak_scan."""

from resilience.verbose_logging import log_everything

log_everything()
