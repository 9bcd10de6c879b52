"""The orchestrator: it takes a question, has it answered and keeps the turn."""
