"""A trial: questions with known answers, asked with the configured model, and what became of them."""
