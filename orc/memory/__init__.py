"""What a model is told of a conversation: its latest turns, what is remembered of older ones; budgets."""
