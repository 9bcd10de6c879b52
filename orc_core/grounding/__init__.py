"""Grounding: sources fenced for a model, its citation markers resolved and verified."""
