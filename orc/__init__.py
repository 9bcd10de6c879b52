"""The orchestrator: it takes a question, has it answered and keeps the turn."""

__version__ = "0.2.0"
