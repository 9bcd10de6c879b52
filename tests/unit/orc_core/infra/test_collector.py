"""A process that loads modules collects nothing meanwhile, and does not look through them afterwards."""

import gc

import pytest

from orc_core.infra.collector import collector_paused


def test_collections_go_on_after_an_error() -> None:
    with pytest.raises(ImportError), collector_paused():
        raise ImportError
    assert gc.isenabled()
