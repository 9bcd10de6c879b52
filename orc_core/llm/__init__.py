"""Model providers: chat, embeddings, token counts and token budgets."""
