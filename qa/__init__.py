"""Campaigns against the running product: `python -m qa.NAME` tries to make it lose something."""
