"""Commands that measure how well the product does its work."""
