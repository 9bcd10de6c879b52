"""Search engines of the web: the port, an adapter for each, and the filter of their results."""
