"""The scripted system of tests/system and the web page of tests/web, for campaigns that need them."""

from tests.system.conftest import ann, client_of, double, model_settings, orc, served_double
from tests.web.conftest import program, running, visit

__all__ = [
    "ann",
    "client_of",
    "double",
    "model_settings",
    "orc",
    "program",
    "running",
    "served_double",
    "visit",
]
