"""What a process starts with is spared the garbage collector."""

import gc

from core.heap import keep_what_stays


def test_what_is_there_as_a_process_starts_to_serve_is_not_looked_through_again() -> None:
    try:
        keep_what_stays()
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()
