"""A server that resets connections as it accepts them."""

import contextlib
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager

AT_ONCE = struct.pack("ii", 1, 0)
BACKLOG = 100


@contextmanager
def resetting() -> Iterator[str]:
    """Its address, while it listens."""

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
                connection.close()

    with socket.create_server(("127.0.0.1", 0), backlog=BACKLOG) as listener:
        threading.Thread(target=accept, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)
