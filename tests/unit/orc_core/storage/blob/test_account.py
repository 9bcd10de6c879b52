"""A storage account: addresses, what is made where it is missing, and signatures by key or by identity."""

import asyncio
import base64
import ssl
import time
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import jwt
import pytest
from azure.core.credentials import AccessToken
from azure.storage.blob.aio import BlobServiceClient
from azure.storage.queue.aio import QueueServiceClient
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from devkit.azure.storage import fresh_container, opened
from devkit.azure.targets import Target
from devkit.doubles.azurite import KEY, running
from orc_core.errors import DependencyDown
from orc_core.infra.azure import DependencyMisconfigured
from orc_core.storage.blob.account import Storage, queue_address

UNREACHABLE = "http://127.0.0.1:9/devstoreaccount1"
ANY = "documents"
TENANT, IDENTITY = "a-tenant", "an-identity"


@pytest.fixture
def name() -> str:
    return f"test-{uuid.uuid4().hex}"


@pytest.mark.parametrize(
    ("blobs", "queues"),
    [
        ("https://orc.blob.core.windows.net", "https://orc.queue.core.windows.net"),
        ("https://blob.blob.core.chinacloudapi.cn/", "https://blob.queue.core.chinacloudapi.cn/"),
        ("https://orc.z01.blob.storage.azure.net", "https://orc.z01.queue.storage.azure.net"),
        ("http://127.0.0.1:10000/devstoreaccount1", "http://127.0.0.1:10001/devstoreaccount1"),
    ],
)
def test_the_usual_address_of_the_blobs_tells_that_of_the_queues(blobs: str, queues: str) -> None:
    assert queue_address(blobs) == queues


def test_an_unusual_address_does_not() -> None:
    with pytest.raises(ValueError, match="set it too"):
        queue_address("https://files.example.com")


async def test_what_is_missing_is_made_and_what_is_there_stays(storage_target: Target, name: str) -> None:
    async with opened(storage_target) as storage:
        await storage.create_missing([name], [name])
        await storage.container(name).upload_blob("a", b"kept")
        await storage.create_missing([name], [name])
        assert [blob.name async for blob in storage.container(name).list_blobs()] == ["a"]
        await storage.queue(name).send_message("hello")
        await storage.container(name).delete_container()
        await storage.queue(name).delete_queue()


async def test_many_processes_may_make_it_at_once(storage_target: Target, name: str) -> None:
    async with opened(storage_target) as storage:
        await asyncio.gather(*(storage.create_missing([name], [name]) for _ in range(8)))
        await storage.container(name).delete_container()
        await storage.queue(name).delete_queue()


async def test_pings_pass_where_everything_is_there(storage_target: Target, name: str) -> None:
    async with opened(storage_target) as storage:
        await storage.create_missing([name], [name])
        await storage.ping([name], [name])
        await storage.container(name).delete_container()
        with pytest.raises(DependencyDown):
            await storage.ping([name], [name])
        await storage.queue(name).delete_queue()
        with pytest.raises(DependencyDown):
            await storage.ping([], [name])


async def test_pings_name_what_does_not_answer() -> None:
    async with opened(Target(UNREACHABLE, KEY, UNREACHABLE)) as storage:
        with pytest.raises(DependencyDown) as blobs:
            await storage.ping([ANY], [])
        with pytest.raises(DependencyDown) as queues:
            await storage.ping([], [ANY])
    assert (blobs.value.dependency, queues.value.dependency) == ("blobs", "queue")
    assert blobs.value.retryable


async def test_a_wrong_key_is_no_outage_and_is_never_retried(storage_target: Target) -> None:
    wrong = base64.b64encode(b"not the key").decode()
    async with opened(Target(storage_target.url, wrong, storage_target.queue_url)) as storage:
        with pytest.raises(DependencyMisconfigured) as refused:
            await storage.ping([ANY], [])
    assert not refused.value.retryable
    assert wrong not in str(refused.value.message)


async def test_a_signed_address_never_holds_the_key(storage_target: Target) -> None:
    async with fresh_container(storage_target) as (storage, container):
        url = await storage.upload_url(container, "a/b/c/d.pdf", datetime.now(UTC) + timedelta(minutes=1))
    assert storage_target.key is None or storage_target.key not in url
    assert urlsplit(url).path.endswith(f"{container}/a/b/c/d.pdf")


@dataclass
class Certificate:
    """A certificate for this machine, and its key, in files."""

    file: Path
    key: Path


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    folder = tmp_path_factory.mktemp("certificate")
    key = rsa.generate_private_key(65537, 2048)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    address = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    now, day = datetime.now(UTC), timedelta(days=1)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), 1, now - day, now + day)
        .add_extension(address, critical=False)
        .sign(key, hashes.SHA256())
    )
    certificate = Certificate(folder / "certificate.pem", folder / "key.pem")
    certificate.file.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    certificate.key.write_bytes(key.private_bytes(*form))
    return certificate


@pytest.fixture(scope="module")
def secure_target(certificate: Certificate) -> Iterator[Target]:
    """Azurite that takes identities, which it does over https only."""
    with running(
        "--oauth", "basic", "--cert", str(certificate.file), "--key", str(certificate.key)
    ) as target:
        yield target


class Identity:
    """A credential with tokens such as Entra's, which Azurite accepts with any signature."""

    async def get_token(self, *_scopes: str, **_options: Any) -> AccessToken:
        now = int(time.time())
        claims = {
            "aud": "https://storage.azure.com",
            "iss": f"https://sts.windows.net/{TENANT}/",
            "nbf": now - 60,
            "iat": now - 60,
            "exp": now + 3600,
            "oid": IDENTITY,
            "tid": TENANT,
            "ver": "1.0",
        }
        return AccessToken(jwt.encode(claims, "not checked, but it must be long"), now + 3600)

    async def close(self) -> None:
        """Nothing to close."""

    async def __aenter__(self) -> "Identity":
        return self

    async def __aexit__(self, *_: object) -> None:
        """Nothing to close."""


@asynccontextmanager
async def opened_with_identity(
    target: Target, certificate: Certificate, asked: list[str]
) -> AsyncIterator[Storage]:
    options: dict[str, Any] = {"connection_verify": str(certificate.file), "retry_total": 0}
    note: dict[str, Any] = {"raw_request_hook": lambda request: asked.append(request.http_request.url)}
    blobs = BlobServiceClient(target.url, Identity(), **options, **note)
    storage = Storage(blobs, QueueServiceClient(str(target.queue_url), Identity(), **options))
    try:
        yield storage
    finally:
        await storage.close()


@pytest.mark.slow
async def test_without_a_key_the_identity_gets_one_to_sign_with_once(
    secure_target: Target, certificate: Certificate
) -> None:
    asked: list[str] = []
    soon = datetime.now(UTC).replace(microsecond=0) + timedelta(minutes=15)
    async with opened_with_identity(secure_target, certificate, asked) as storage:
        await storage.create_missing(["documents"])
        urls = [await storage.upload_url("documents", f"a/b/c/{n}.pdf", soon) for n in range(5)]
        late = await storage.upload_url("documents", "a/b/c/d.pdf", soon + timedelta(hours=8))
    assert sum("userdelegationkey" in url for url in asked) == 2
    for url in urls:
        signed = {key: value for key, [value] in parse_qs(urlsplit(url).query).items()}
        assert (signed["sp"], signed["sr"], signed["spr"]) == ("cw", "b", "https")
        assert (signed["skoid"], signed["sktid"]) == (IDENTITY, TENANT)
        assert signed["se"] == soon.strftime("%Y-%m-%dT%H:%M:%SZ") < signed["ske"]
        assert signed["skt"] <= signed["st"]
    assert parse_qs(urlsplit(late).query)["ske"][0] >= parse_qs(urlsplit(late).query)["se"][0]


@pytest.mark.slow
async def test_a_secure_account_signs_for_https_only(secure_target: Target, certificate: Certificate) -> None:
    options: dict[str, Any] = {"connection_verify": str(certificate.file)}
    blobs = BlobServiceClient(secure_target.url, KEY, **options)
    storage = Storage(blobs, QueueServiceClient(str(secure_target.queue_url), KEY, **options), KEY)
    await storage.create_missing(["documents"])
    url = await storage.upload_url("documents", "a/b/c/d.pdf", datetime.now(UTC) + timedelta(minutes=1))
    await storage.close()
    assert parse_qs(urlsplit(url).query)["spr"] == ["https"]
    context = ssl.create_default_context(cafile=str(certificate.file))
    async with httpx.AsyncClient(verify=context) as client:
        put = await client.put(url, content=b"hello", headers={"x-ms-blob-type": "BlockBlob"})
    assert put.status_code == 201
