"""What is known about each model: its context window and its prices."""

import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from pydantic import TypeAdapter

from orc_core.infra.model_settings import ModelFacts
from orc_core.llm.served_models import ServedModels
from orc_core.models import Usage

_FILE = Path(__file__).parent / "models.toml"
_MILLION = 1_000_000
_PRICES = ("input_usd", "output_usd")

REPLY = 1500
"""Tokens reserved for an answer that has no length limit."""
_FACTS: TypeAdapter[dict[str, ModelFacts]] = TypeAdapter(dict[str, ModelFacts])
UNKNOWN = ModelFacts()


class ModelCatalogue:
    """Facts by model name. `own` are those of the settings, for deployments that have other names; `served`
    are the windows that the server states."""

    def __init__(
        self, own: Mapping[str, ModelFacts] | None = None, served: ServedModels | None = None
    ) -> None:
        self._own = dict(own or {})
        self._served = served

    async def learn(self) -> None:
        """Ask the server about its models, unless it was asked within the last minute."""
        if self._served is not None:
            await self._served.learn()

    def facts(self, name: str) -> ModelFacts:
        """The facts of a model; an unknown one has the default window and no price."""
        if name in self._own:
            return self._own[name]
        # A name may have a suffix: `gpt-4o-2024-08-06`.
        fitting = [
            beginning
            for beginning in _shipped()
            if name.startswith(beginning) and not name.removeprefix(beginning)[:1].isalnum()
        ]
        shipped = _shipped()[max(fitting, key=len)] if fitting else None
        if self._served is None:
            return shipped or UNKNOWN
        window = self._served.window(name) or (None if shipped else self._served.assumed_window)
        known = shipped or UNKNOWN
        return known if window is None else known.model_copy(update={"context_window": window})

    def window(self, names: Iterable[str]) -> int:
        """The smallest window of these models."""
        return min(self.facts(name).context_window for name in names)

    def cost_usd(self, name: str, usage: Usage) -> float | None:
        """An estimate of the cost of these tokens, without discounts; None if a price is not known."""
        facts = self.facts(name)
        if facts.input_usd is None or facts.output_usd is None:
            return None
        return (usage.input_tokens * facts.input_usd + usage.output_tokens * facts.output_usd) / _MILLION


@cache
def _shipped() -> dict[str, ModelFacts]:
    listed = tomllib.loads(_FILE.read_text())
    for facts in listed.values():
        if (other := facts.pop("like", None)) is not None:
            inherited = {key: value for key, value in listed[other].items() if key not in _PRICES}
            facts.update(inherited | facts)
    return _FACTS.validate_python(listed)
