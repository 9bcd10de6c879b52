"""What is known of models: by name, by the beginning of a name, and by the settings."""

import json
import re
from datetime import date, timedelta
from pathlib import Path

import pytest

from devkit.shared_data import ROOT
from orc_core.infra.model_settings import DEFAULT_CHAT_MODEL, DEFAULT_EMBEDDING_MODEL, ModelFacts
from orc_core.llm import model_catalog
from orc_core.llm.model_catalog import UNKNOWN, ModelCatalogue
from orc_core.models import Usage

MILLION = Usage(input_tokens=1_000_000, output_tokens=1_000_000)


@pytest.mark.parametrize(
    ("name", "dollars"),
    [
        ("gpt-4o", 12.5),
        ("gpt-4o-2024-08-06", 12.5),
        ("gpt-4o-mini", 0.75),
        ("gpt-4o-mini-2024-07-18", 0.75),
        ("gpt-4.1-nano", 0.5),
        ("gpt-5.1", 11.25),
        ("gpt-5.1-2025-11-13", 11.25),
        ("gpt-5.6-luna", 1.4),
        ("extractive", 0.0),
    ],
)
def test_the_longest_matching_prefix_wins(name: str, dollars: float) -> None:
    assert ModelCatalogue().cost_usd(name, MILLION) == pytest.approx(dollars)


@pytest.mark.parametrize("name", ["gpt-4ox", "my-deployment", "", "o33"])
def test_a_similar_name_has_no_price(name: str) -> None:
    assert ModelCatalogue().facts(name) == UNKNOWN
    assert ModelCatalogue().cost_usd(name, MILLION) is None


def test_settings_override_the_shipped_facts() -> None:
    own = ModelFacts(context_window=8000, input_usd=1, output_usd=0)
    catalogue = ModelCatalogue({"gpt-4o": own})
    assert catalogue.facts("gpt-4o") == own
    assert catalogue.cost_usd("gpt-4o", MILLION) == 1.0
    assert catalogue.facts("gpt-4o-mini").context_window == 128_000


@pytest.mark.parametrize(
    ("name", "effort", "thinks"),
    [
        (DEFAULT_CHAT_MODEL, "none", False),
        ("gpt-5.6-terra", "none", False),
        ("gpt-5-mini-2025-08-07", "minimal", True),
        ("gpt-5.1-chat-latest", None, False),
        ("gpt-5-pro", None, True),
        ("o4-mini", "low", True),
        ("gpt-4.1", None, False),
        ("my-deployment", None, False),
    ],
)
def test_the_reasoning_of_a_model_is_known(name: str, effort: str | None, thinks: bool) -> None:
    facts = ModelCatalogue().facts(name)
    assert (facts.reasoning_effort, facts.reasoning_tokens > 0) == (effort, thinks)


def test_the_default_models_are_the_same_everywhere() -> None:
    templates = (ROOT / "infra" / "main.bicep").read_text()
    assert f"param chatModel string = '{DEFAULT_CHAT_MODEL}'" in templates
    assert f"param embeddingModel string = '{DEFAULT_EMBEDDING_MODEL}'" in templates
    local = json.loads((ROOT / "local.settings.json.example").read_text())["Values"]
    assert local.get("ORC_CHAT_MODEL", DEFAULT_CHAT_MODEL) == DEFAULT_CHAT_MODEL
    assert ModelCatalogue().cost_usd(DEFAULT_CHAT_MODEL, MILLION) is not None


def test_the_facts_were_compared_with_their_sources_within_a_year() -> None:
    """If this fails: read the sources in orc_core/llm/models.toml again, then change the date there."""
    facts = (Path(model_catalog.__file__).parent / "models.toml").read_text()
    found = re.search(r"^# checked = (\S+):", facts, re.MULTILINE)
    assert found
    assert date.today() - date.fromisoformat(found[1]) < timedelta(days=365)
