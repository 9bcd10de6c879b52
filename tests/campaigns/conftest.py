"""The scripted system of tests/system, for campaigns that need its model double."""

from tests.system.conftest import ann, client_of, double, model_settings, orc, served_double

__all__ = ["ann", "client_of", "double", "model_settings", "orc", "served_double"]
