"""How PDFs reach the model: as files where it takes them, else as text, and why."""

from typing import Any

import pytest

from devkit.doubles.openai_double import OpenAIDouble
from orc_core.documents.ports import ProviderFiles
from orc_core.llm.errors import ContentFiltered, ContextTooLong, ModelMisconfigured
from orc_core.llm.provider import Provider, endpoint_of
from orc_core.storage.attachments import (
    MOST_BYTES,
    MOST_PAGES,
    LocalProviderFiles,
    build_provider_files,
    way_of,
)
from tests.unit.orc_core.conftest import MakeSettings
from tests.unit.orc_core.storage.kept_files import TTL, KeptFiles

REFUSED = ModelMisconfigured("The model refused the request.", code="model_refused_request")


@pytest.fixture
def files(kept: KeptFiles, provider: Provider, make_settings: MakeSettings) -> ProviderFiles:
    """What a process with provider_files=files uses."""
    return files_by("files", kept, provider, make_settings)


def files_by(way: str, kept: KeptFiles, provider: Provider, make_settings: MakeSettings) -> ProviderFiles:
    settings = make_settings(provider_files=way)
    return build_provider_files(
        settings, provider, catalog=kept.catalog, blobs=kept.blobs, clock=kept.clock.utc, ttl_seconds=TTL
    )


AZURE = {"azure_openai_endpoint": "https://team.openai.azure.com"}


@pytest.mark.parametrize(
    ("given", "way"),
    [
        ({}, "text"),
        ({"provider_files": "files"}, "text"),
        ({"openai_api_key": "key"}, "file"),
        (AZURE, "file"),
        ({"openai_base_url": "https://models.example.com/v1"}, "text"),
        ({"openai_base_url": "https://api.openai.com.example.com/v1"}, "text"),
        ({"openai_base_url": "https://models.example.com/v1", "provider_files": "files"}, "file"),
        ({**AZURE, "provider_files": "base64"}, "base64"),
        ({**AZURE, "provider_files": "text"}, "text"),
    ],
)
def test_the_settings_and_the_address_decide(
    given: dict[str, Any], way: str, make_settings: MakeSettings
) -> None:
    settings = make_settings(**given)
    assert way_of(settings, endpoint_of(settings)) == way


async def test_where_text_is_asked_for_nothing_is_sent(
    kept: KeptFiles, provider: Provider, make_settings: MakeSettings, double: OpenAIDouble
) -> None:
    files = files_by("text", kept, provider, make_settings)
    [attached] = await files.attach([await kept.put("a.pdf")])
    assert (attached.sent_as, attached.reason, double.files.uploads) == ("text", "", 0)
    assert isinstance(files_by("auto", kept, provider, make_settings), LocalProviderFiles)


@pytest.mark.slow
@pytest.mark.parametrize("status", [404, 405, 501])
async def test_without_a_files_api_small_ones_go_along_and_it_is_not_tried_again(
    status: int, files: ProviderFiles, kept: KeptFiles, double: OpenAIDouble
) -> None:
    double.files.refuse = status
    large = (await kept.put("large.pdf")).model_copy(update={"size": MOST_BYTES["base64"]})
    documents = [await kept.put("a.pdf"), large]
    attached = await files.attach(documents)
    assert [(each.sent_as, each.reason) for each in attached] == [
        ("base64", "The model provider stores no files."),
        ("text", "The model provider stores no files."),
    ]
    assert attached[0].content.startswith(b"%PDF")
    double.files.refuse = None
    assert [each.ref for each in await files.attach(documents)] == [each.ref for each in attached]
    assert double.files.uploads == 0


async def test_a_files_api_that_is_down_costs_this_turn_its_files_and_no_more(
    files: ProviderFiles, kept: KeptFiles, double: OpenAIDouble
) -> None:
    document = await kept.put("a.pdf")
    double.files.refuse = 500
    [attached] = await files.attach([document])
    assert (attached.sent_as, bool(attached.reason)) == ("text", True)
    double.files.refuse = None
    [attached] = await files.attach([document])
    assert attached.sent_as == "file"


@pytest.mark.parametrize("change", [{"size": MOST_BYTES["file"] // 2}, {"pages": MOST_PAGES // 2}])
async def test_what_does_not_fit_into_one_request_goes_as_text(
    change: dict[str, int], files: ProviderFiles, kept: KeptFiles
) -> None:
    documents = [(await kept.put(f"{name}.pdf")).model_copy(update=change) for name in "abc"]
    documents.append(await kept.put("d.pdf", pages=0))
    attached = await files.attach(documents)
    assert [each.sent_as for each in attached][:3] == ["file", "file", "text"]
    assert "too large" in attached[2].reason


async def test_files_that_another_process_sent_again_meanwhile_are_used(
    files: ProviderFiles, kept: KeptFiles, double: OpenAIDouble
) -> None:
    attached = await files.attach([await kept.put("a.pdf")])
    del double.files.files[attached[0].ref.file_id]
    first = await files.reattach(attached, REFUSED)
    second = await files.reattach(attached, REFUSED)
    assert first is not None and second is not None
    assert [each.is_new for each in (*first, *second)] == [True, False]
    assert [each.ref for each in first] == [each.ref for each in second]
    assert double.files.uploads == 2


async def test_files_that_are_there_and_refused_go_as_text_this_once(
    files: ProviderFiles, kept: KeptFiles
) -> None:
    document = await kept.put("a.pdf")
    for refusal in (REFUSED, ContextTooLong()):
        attached = await files.attach([document])
        assert attached[0].sent_as == "file"
        again = await files.reattach(attached, refusal)
        assert again is not None
        assert (again[0].sent_as, again[0].reason) == ("text", refusal.message)
        assert again[0].ref == attached[0].ref


@pytest.mark.parametrize("refusal", [ContentFiltered(), ModelMisconfigured("No.", code="model_auth")])
async def test_other_refusals_have_nothing_to_do_with_files(
    refusal: ContentFiltered | ModelMisconfigured, files: ProviderFiles, kept: KeptFiles
) -> None:
    assert await files.reattach(await files.attach([await kept.put("a.pdf")]), refusal) is None
