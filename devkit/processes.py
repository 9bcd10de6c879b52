"""The processes that a test has started, without those that were running before it."""

import psutil

_earlier: set[psutil.Process] = set()


def ignore_running_children() -> None:
    """Leave the children that run now out of `children`: servers that tests share."""
    _earlier.clear()
    _earlier.update(psutil.Process().children(recursive=True))


def children(*, recursive: bool = False) -> list[psutil.Process]:
    """Running children of this process that were started since `ignore_running_children`."""
    found = psutil.Process().children(recursive=recursive)
    return [child for child in found if child not in _earlier and child.is_running()]
