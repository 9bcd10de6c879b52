"""Models: the chat model factory, the offline model and token counts."""
