"""Documents: their names, bytes, text, passages and catalog."""
