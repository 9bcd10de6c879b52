"""`python -m orc`: the command line."""

from orc.cli import app

app()
