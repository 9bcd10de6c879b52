"""Optical character recognition, behind a port: the text of pages that are pictures."""
