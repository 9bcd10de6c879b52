"""Exports over HTTP: a file to be saved, of the caller's own conversations."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from devkit.remembered_turns import CITED, ask
from devkit.system import principal_headers
from orc.api.app import create_app
from orc.api.responses import content_disposition
from orc.settings import AuthMode, Settings
from orc_core.names import Owner

pytestmark = pytest.mark.slow

CONVERSATION = "3f0d8f5e-6f0e-4f5a-9d5f-0b1f8f6b2a11"
PATH = f"/conversations/{CONVERSATION}/export"


@pytest.fixture
async def ann(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a user who has one conversation, with one question."""
    app = create_app(Settings(data_dir=tmp_path, auth_mode=AuthMode.EASYAUTH, azure_auth_enabled=True))
    opened = await app.state.provider.get()
    await ask(opened.log, "Как долго? 中文", CITED, Owner("acme", "ann", CONVERSATION))
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app),
        base_url="http://127.0.0.1/api",
        headers=principal_headers("acme", "ann"),
    ) as client:
        yield client
    await app.state.provider.close()


async def test_a_conversation_is_saved_as_a_file(ann: httpx.AsyncClient) -> None:
    markdown = await ann.get(PATH)
    assert markdown.status_code == 200
    assert markdown.headers["content-type"] == "text/markdown; charset=utf-8"
    assert "1. **handbook.pdf**, page 5: same words" in markdown.text
    disposition = markdown.headers["content-disposition"]
    assert disposition.startswith("attachment; filename=\"_ .md\"; filename*=UTF-8''%D0%9A")
    german = await ann.get(PATH, params={"language": "de", "zone": "Europe/Berlin"})
    assert "Seite 5: dieselben" in german.text and "UTC" not in german.text
    pdf = await ann.get(PATH, params={"format": "pdf"})
    assert pdf.headers["content-type"] == "application/pdf"
    assert pdf.content.startswith(b"%PDF-")
    word = await ann.get(PATH, params={"format": "docx"})
    assert word.headers["content-type"].endswith("wordprocessingml.document")
    assert word.headers["content-disposition"].endswith(".docx")
    assert word.content.startswith(b"PK")


async def test_only_three_formats_exist(ann: httpx.AsyncClient) -> None:
    refused = await ann.get(PATH, params={"format": "odt"})
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["field"] == "format"


async def test_another_users_conversation_is_not_exported(ann: httpx.AsyncClient) -> None:
    for headers in (principal_headers("acme", "bob"), principal_headers("other", "ann")):
        assert (await ann.get(PATH, headers=headers)).status_code == 404


@pytest.mark.parametrize(
    ("name", "header"),
    [
        ("Leave.md", "attachment; filename=\"Leave.md\"; filename*=UTF-8''Leave.md"),
        ('a/b\\c: "d"\r\n.md', "attachment; filename=\"a_b_c_ _d_.md\"; filename*=UTF-8''a_b_c_%20_d_.md"),
        ("naïve 50%.pdf", "attachment; filename=\"naive 50_.pdf\"; filename*=UTF-8''na%C3%AFve%2050%25.pdf"),
        ("中文.md", "attachment; filename=\"md\"; filename*=UTF-8''%E4%B8%AD%E6%96%87.md"),
        ("\u202e...\ud800.pdf", "attachment; filename=\"file.pdf\"; filename*=UTF-8''file.pdf"),
    ],
)
def test_the_name_of_a_file_is_safe_in_a_header(name: str, header: str) -> None:
    assert content_disposition(name) == header


def test_a_long_name_keeps_its_extension() -> None:
    assert content_disposition("中" * 300 + ".pdf").endswith("%E4%B8%AD.pdf")
