"""A double of the endpoint of Application Insights that takes telemetry."""

import gzip
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "InstrumentationKey=0b1f2f53-1c5e-4f2d-9a55-2f0c1de7a9b4"


@contextmanager
def ingesting() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A connection string, and the items that arrive there."""
    received: list[dict[str, Any]] = []

    class Track(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.headers.get("content-encoding") == "gzip":
                body = gzip.decompress(body)
            items = json.loads(body)
            received.extend(items)
            self.send_response(200)
            self.end_headers()
            answer = {"itemsReceived": len(items), "itemsAccepted": len(items), "errors": []}
            self.wfile.write(json.dumps(answer).encode())

        def log_message(self, format: str, *args: object) -> None:
            return None

    server = ThreadingHTTPServer(("127.0.0.1", 0), Track)
    serving = threading.Thread(target=server.serve_forever)
    serving.start()
    try:
        yield f"{KEY};IngestionEndpoint=http://127.0.0.1:{server.server_port}/", received
    finally:
        server.shutdown()
        server.server_close()
        serving.join()
