"""The memory of a conversation: the history of a caller, notes, and a rolling summary of old turns."""
