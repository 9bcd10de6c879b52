"""Campaigns against the running product: `python -m resilience.NAME` tries to make it lose something."""
