"""How much a user may do in a time, over all processes."""
