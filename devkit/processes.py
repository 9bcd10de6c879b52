"""The processes that a test has started, without the servers that the whole suite shares."""

import psutil

SHARED_SERVERS = ("cosmos_server", "azurite")


def children(*, recursive: bool = False) -> list[psutil.Process]:
    """Running children of this process, less the suite's servers."""
    found = psutil.Process().children(recursive=recursive)
    return [child for child in found if child.is_running() and not _is_shared(child)]


def _is_shared(process: psutil.Process) -> bool:
    try:
        command = " ".join(process.cmdline())
    except psutil.Error:
        return False
    return any(server in command for server in SHARED_SERVERS)
