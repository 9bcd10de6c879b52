"""`python -m orc`: the command line."""

from orc.cli.app import app

app()
