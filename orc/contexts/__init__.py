"""Contexts: shared places for documents, who may use them, and what was changed."""
