"""The OCR engine that the settings choose."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from orc_core.errors import InvalidInput
from orc_core.infra.azure import Credentials
from orc_core.infra.sandbox import Sandbox
from orc_core.infra.settings import CoreSettings
from orc_core.ocr.azure import AzureDocumentIntelligence
from orc_core.ocr.ports import Ocr
from orc_core.ocr.service import build_ocr as build_ocr_with
from orc_core.ocr.tesseract import Tesseract

AZURE = {"AZURE_DOCUMENT_INTELLIGENCE_ENDPOINT": "https://x.test/", "AZURE_DOCUMENT_INTELLIGENCE_KEY": "k"}


def build_ocr(settings: CoreSettings) -> Ocr | None:
    return build_ocr_with(settings, Credentials(), Sandbox())


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "tesseract"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))


@pytest.fixture
def absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))


def settings(monkeypatch: pytest.MonkeyPatch, **variables: str) -> CoreSettings:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return CoreSettings()


@pytest.mark.usefixtures("installed")
def test_tesseract_is_used_if_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(build_ocr(settings(monkeypatch)), Tesseract)
    assert isinstance(build_ocr(settings(monkeypatch, ORC_OCR="tesseract")), Tesseract)


@pytest.mark.usefixtures("absent")
def test_without_an_engine_there_is_no_ocr(monkeypatch: pytest.MonkeyPatch) -> None:
    assert build_ocr(settings(monkeypatch)) is None


@pytest.mark.usefixtures("installed")
def test_azure_is_preferred_if_its_endpoint_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(build_ocr(settings(monkeypatch, **AZURE)), AzureDocumentIntelligence)
    assert isinstance(build_ocr(settings(monkeypatch, ORC_OCR="tesseract")), Tesseract)
    assert build_ocr(settings(monkeypatch, ORC_OCR="off")) is None


@pytest.mark.usefixtures("absent")
def test_azure_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    endpoint = {"AZURE_DOCUMENT_INTELLIGENCE_ENDPOINT": "https://x.test"}
    assert isinstance(build_ocr(settings(monkeypatch, **endpoint)), AzureDocumentIntelligence)


@pytest.mark.usefixtures("absent")
@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"ORC_OCR": "tesseract"}, "not installed"),
        ({"ORC_OCR": "azure"}, "AZURE_DOCUMENT_INTELLIGENCE_ENDPOINT"),
    ],
)
def test_an_unavailable_configured_engine_is_an_error(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], words: str
) -> None:
    with pytest.raises(InvalidInput, match=words):
        build_ocr(settings(monkeypatch, **variables))


@pytest.mark.parametrize("languages", ["", "-c x", "eng deu", "../eng", "eng+", "a/b/c"])
def test_invalid_language_names_are_refused(monkeypatch: pytest.MonkeyPatch, languages: str) -> None:
    with pytest.raises(ValidationError):
        settings(monkeypatch, ORC_OCR_LANGUAGES=languages)


def test_several_languages_can_be_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    assert settings(monkeypatch, ORC_OCR_LANGUAGES="eng+script/Latin").ocr_languages == "eng+script/Latin"
