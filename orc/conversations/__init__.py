"""The turn log: every question and answer of a conversation, kept once and in order."""
