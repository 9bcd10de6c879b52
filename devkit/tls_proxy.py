"""A proxy on loopback that ends TLS and passes everything else on, with a certificate of its making."""

import asyncio
import ssl
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from devkit.issuer import private_key

HOST = "127.0.0.1"


@asynccontextmanager
async def ending_tls(port: int, upstream: int) -> AsyncIterator[str]:
    """Listen at `port` with TLS, and pass connections on to `upstream`; gives the address."""

    async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_server, to_server = await asyncio.open_connection(HOST, upstream)
        open_writers.update((writer, to_server))
        await asyncio.gather(_pass_on(reader, to_server), _pass_on(from_server, writer))

    open_writers = set[asyncio.StreamWriter]()
    server = await asyncio.start_server(forward, HOST, port, ssl=_context())
    try:
        yield f"https://{HOST}:{port}"
    finally:
        server.close()
        for each in open_writers:
            each.close()


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    writer.close()


def _context() -> ssl.SSLContext:
    key, name = private_key("tls"), x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address(HOST))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "both.pem")
        secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        file.write_bytes(secret + certificate.public_bytes(Encoding.PEM))
        context.load_cert_chain(file)
    return context
