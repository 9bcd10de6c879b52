"""Faults on the way to a server: a proxy that makes them, and the rules by which it does."""
