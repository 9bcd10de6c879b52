"""What campaigns do when a signal arrives."""

import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from types import FrameType

import pytest

from devkit.system import interrupted_by_sigterm, results

pytestmark = pytest.mark.slow


class Interrupted(Exception):
    """What the handler of the test raises."""


def interrupt(_number: int, _frame: FrameType | None) -> None:
    raise Interrupted


def test_a_signal_that_another_thread_receives_interrupts_the_wait() -> None:
    may_end, before = threading.Event(), signal.signal(signal.SIGUSR1, interrupt)
    with ThreadPoolExecutor(1) as pool:
        working = pool.submit(may_end.wait, 5)
        # Neither this thread nor those that it starts from here on receive it.
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGUSR1)).start()
        try:
            with pytest.raises(Interrupted):
                results([working])
            assert not working.done()
        finally:
            may_end.set()
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGUSR1])
            signal.signal(signal.SIGUSR1, before)


def test_results_are_those_of_all_futures_in_their_order() -> None:
    with ThreadPoolExecutor(2) as pool:
        assert results([pool.submit(divmod, 7, divisor) for divisor in (2, 3)]) == [(3, 1), (2, 1)]


def test_an_exception_is_raised_while_others_go_on() -> None:
    may_end = threading.Event()
    with ThreadPoolExecutor(2) as pool:
        working = pool.submit(may_end.wait, 5)
        with pytest.raises(ZeroDivisionError):
            results([working, pool.submit(lambda: 7 // 0 > 1)])
        assert not working.done()
        may_end.set()


@pytest.mark.parametrize("handler", [signal.SIG_IGN, signal.default_int_handler])
def test_sigterm_interrupts_whether_or_not_ctrl_c_is_ignored(handler: signal.Handlers) -> None:
    before = signal.signal(signal.SIGINT, handler)
    try:
        with pytest.raises(KeyboardInterrupt), interrupted_by_sigterm():
            signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGINT, before)
