"""Chooses the engine that reads scanned pages, from settings."""

import shutil
from pathlib import Path

from core.azure.credentials import Credentials
from core.documents.ocr.azure import AzureDocumentIntelligence
from core.documents.ocr.ports import Ocr
from core.documents.ocr.tesseract import Tesseract
from core.errors import InvalidInput
from core.settings import CoreSettings

PROGRAM = "tesseract"


def build_ocr(settings: CoreSettings, credentials: Credentials) -> Ocr | None:
    """The engine to use, or None: then pages without text stay so, and are reported.

    `auto` takes Azure where its endpoint is set, else Tesseract where it is installed. Raises InvalidInput
    for an engine that was asked for by name and cannot be had. Nothing is started or asked yet.
    """
    if settings.ocr == "off":
        return None
    if settings.ocr == "azure" or (settings.ocr == "auto" and settings.azure_document_intelligence_endpoint):
        return _azure(settings, credentials)
    program = shutil.which(PROGRAM)
    if program is not None:
        return _tesseract(settings, Path(program))
    if settings.ocr == "tesseract":
        raise InvalidInput("ORC_OCR is tesseract, but that program is not installed (Debian: tesseract-ocr).")
    return None


def _azure(settings: CoreSettings, credentials: Credentials) -> Ocr:
    endpoint, key = settings.azure_document_intelligence_endpoint, settings.azure_document_intelligence_key
    if not endpoint:
        raise InvalidInput("OCR by Azure needs AZURE_DOCUMENT_INTELLIGENCE_ENDPOINT.")
    return AzureDocumentIntelligence(
        endpoint.rstrip("/"),
        key.get_secret_value() if key else credentials,
        seconds=settings.ocr_seconds,
        memory_bytes=settings.extraction_memory_bytes,
    )


def _tesseract(settings: CoreSettings, program: Path) -> Ocr:
    return Tesseract(
        program,
        languages=settings.ocr_languages,
        seconds=settings.ocr_seconds,
        memory_bytes=settings.extraction_memory_bytes,
        processes=settings.extraction_processes,
    )
