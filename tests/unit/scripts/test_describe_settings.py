"""docs/configuration.md says what the settings are."""

from itertools import chain

import pytest

from scripts.describe_settings import PARTS, TARGET, describe

FIELDS = sorted(set(chain.from_iterable(kind.model_fields for _, kind, _ in PARTS)))


def test_the_page_is_what_the_settings_say() -> None:
    assert TARGET.read_text() == describe(), "run `python -m scripts.describe_settings`"


@pytest.mark.parametrize("name", FIELDS)
def test_every_setting_says_what_it_is_for(name: str) -> None:
    assert any(name in kind.model_fields and kind.model_fields[name].description for _, kind, _ in PARTS)
