"""A process that loads modules collects nothing meanwhile, and does not look through them afterwards."""

import gc

import pytest

from orc_core.infra.collector import collector_paused


def test_nothing_is_collected_within_and_what_was_made_is_left_out_afterwards() -> None:
    gc.unfreeze()
    with collector_paused():
        assert not gc.isenabled()
        made: list[object] = [[] for _ in range(1000)]
    assert gc.isenabled()
    assert gc.get_freeze_count() > len(made)


def test_collections_go_on_after_an_error() -> None:
    with pytest.raises(ImportError), collector_paused():
        raise ImportError
    assert gc.isenabled()
