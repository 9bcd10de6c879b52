"""Python runs this as it starts, where this folder is on PYTHONPATH: for the processes of qa.canaries."""

from qa.loudness import log_everything

log_everything()
