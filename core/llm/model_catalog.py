"""What is known of each model: how much it reads, how it counts, and what it costs."""

import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from pydantic import TypeAdapter

from core.infra.settings import ModelFacts
from core.models import Usage

_FILE = Path(__file__).parent / "models.toml"
_MILLION = 1_000_000

REPLY = 1500
"""Tokens that are left free for an answer without a cap of its own."""


_FACTS: TypeAdapter[dict[str, ModelFacts]] = TypeAdapter(dict[str, ModelFacts])
UNKNOWN = ModelFacts()


class ModelCatalogue:
    """Facts by a model's name. `own` are those of the settings, for deployments whose names tell nothing."""

    def __init__(self, own: Mapping[str, ModelFacts] | None = None) -> None:
        self._own = dict(own or {})

    def facts(self, name: str) -> ModelFacts:
        """What is known of the model; a usual window and no price where nothing is."""
        if name in self._own:
            return self._own[name]
        known = _shipped()
        fitting = [beginning for beginning in known if _begins(name, beginning)]
        return known[max(fitting, key=len)] if fitting else UNKNOWN

    def window(self, names: Iterable[str]) -> int:
        """The smallest window of these models."""
        return min(self.facts(name).context_window for name in names)

    def cost_usd(self, name: str, usage: Usage) -> float | None:
        """An estimate of what these tokens cost, without any discount; None where a price is not known."""
        facts = self.facts(name)
        if facts.input_usd is None or facts.output_usd is None:
            return None
        cost = usage.input_tokens * facts.input_usd + usage.output_tokens * facts.output_usd
        return cost / _MILLION


def _begins(name: str, beginning: str) -> bool:
    """Whether the name is that model's, with a date or the like after it: `gpt-4o-2024-08-06`."""
    return name.startswith(beginning) and not name.removeprefix(beginning)[:1].isalnum()


@cache
def _shipped() -> dict[str, ModelFacts]:
    return _FACTS.validate_python(tomllib.loads(_FILE.read_text()))
