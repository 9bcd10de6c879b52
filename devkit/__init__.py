"""Test doubles, fakes, fault injection and running systems, shared by tests, bench, evals and campaigns."""
