"""Search engines of the web: the port, an adapter for each, and what is let through of what they say."""
