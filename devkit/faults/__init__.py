"""Fault injection: a proxy in front of a server, and the rules for its faults."""
