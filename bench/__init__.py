"""Measures the running product against the bare model call: `python -m bench`."""
