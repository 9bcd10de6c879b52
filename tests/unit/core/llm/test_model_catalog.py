"""What is known of models: by name, by the beginning of a name, and by the settings."""

import pytest

from core.infra.settings import ModelFacts
from core.llm.model_catalog import UNKNOWN, ModelCatalogue
from core.models import Usage

MILLION = Usage(input_tokens=1_000_000, output_tokens=1_000_000)


@pytest.mark.parametrize(
    ("name", "dollars"),
    [
        ("gpt-4o", 12.5),
        ("gpt-4o-2024-08-06", 12.5),
        ("gpt-4o-mini", 0.75),
        ("gpt-4o-mini-2024-07-18", 0.75),
        ("gpt-4.1-nano", 0.5),
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
