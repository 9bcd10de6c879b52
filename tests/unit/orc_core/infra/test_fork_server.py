"""The process that forks the children of the sandbox."""

import socket
import subprocess
import sys

import pytest

from orc_core.infra.fork_server import ANSWER, REQUEST

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="children are forked on Linux only")


def test_a_parent_that_ends_with_an_answer_unread_ends_the_server_without_an_error() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    command = [sys.executable, "-m", "orc_core.infra.fork_server"]
    with (
        ours,
        subprocess.Popen(
            command, stdin=theirs.fileno(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as run,
    ):
        theirs.close()
        ours.send(REQUEST.pack(1))
        assert len(ours.recv(ANSWER.size, socket.MSG_PEEK)) == ANSWER.size
        ours.close()
        assert run.communicate(timeout=60) == (b"", b"")
    assert run.returncode == 0
