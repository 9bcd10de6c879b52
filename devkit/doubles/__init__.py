"""Test doubles of external services, speaking each service's own protocol."""
