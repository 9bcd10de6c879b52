"""Settings: old names, advanced limits, and the number of documented variables."""

import json
from pathlib import Path
from typing import Literal, get_args, get_origin

import pytest

import mcp_server.settings
import orc.settings
from orc_core.errors import InvalidInput
from orc_core.infra.setting_names import (
    ADVANCED,
    ADVANCED_VARIABLE,
    INTERNAL,
    RENAMED,
    WITHOUT_EFFECT,
    deprecation_warnings,
)
from orc_core.infra.settings import CoreSettings, doubtful_settings, load_settings, variable_of
from scripts.describe_settings import PARTS, variables

KINDS = (CoreSettings, orc.settings.Settings, mcp_server.settings.Settings)
EXAMPLES = {
    "ORC_INLINE_TOKEN_BUDGET": ("full_text_tokens", "1234", 1234),
    "ORC_INGESTION_AT_ONCE": ("worker_concurrency", "5", 5),
    "ORC_INGESTION_WORKERS": ("workers", "3", 3),
    "ORC_MODEL_FACTS": ("model_catalog", '{"small": {"context_window": 5000}}', None),
    "ORC_SCOPE_KEY": ("scope_signing_key", "k" * 32, None),
    "ORC_TRACES": ("store_turn_traces", "false", False),
    "ORC_MCP_SERVER_URL": ("mcp_server_url", "http://tools.test/mcp", "http://tools.test/mcp"),
    "ORC_MAX_DOCUMENTS_PER_REQUEST": ("max_documents_per_request", "7", 7),
    "ORC_CRITIC_MAX_RETRIES": ("critic_max_retries", "4", 4),
}


@pytest.fixture(autouse=True)
def empty_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for name in {*RENAMED, *RENAMED.values(), *ADVANCED.values(), *WITHOUT_EFFECT, ADVANCED_VARIABLE}:
        monkeypatch.delenv(name, raising=False)


def kind_with(field: str) -> type[CoreSettings]:
    return next(kind for kind in KINDS if field in kind.model_fields)


def test_every_renamed_setting_has_an_example() -> None:
    assert set(EXAMPLES) == set(RENAMED)


@pytest.mark.parametrize("old", sorted(EXAMPLES))
def test_an_old_name_works_and_warns(
    old: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    field, value, parsed = EXAMPLES[old]
    monkeypatch.setenv(old, value)
    kind = kind_with(field)
    settings = load_settings(kind)
    assert getattr(settings, field) != kind.model_fields[field].default
    assert parsed is None or getattr(settings, field) == parsed
    assert caplog.messages == [f"{old} is deprecated: set {RENAMED[old]} instead."]
    assert variable_of(field, kind.model_fields[field].validation_alias) == RENAMED[old]


def test_a_misspelt_name_is_reported_with_the_right_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORC_CHAT_MDOEL", "small")
    monkeypatch.setenv("ORC_SOMETHING_ELSE", "1")
    assert doubtful_settings(CoreSettings) == [
        "ORC_CHAT_MDOEL is not a setting. Did you mean ORC_CHAT_MODEL?"
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_a_setting_of_another_program_is_not_misspelt(
    kind: type[CoreSettings], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in sorted(set().union(*map(variables, KINDS))):
        monkeypatch.setenv(name, "1")
    assert doubtful_settings(kind) == []


def test_an_old_name_in_the_env_file_works_and_warns(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("ORC_INGESTION_WORKERS=4\n")
    assert CoreSettings().workers == 4
    assert doubtful_settings(CoreSettings) == [
        "ORC_INGESTION_WORKERS is deprecated: set ORC_WORKERS instead."
    ]


def test_the_new_name_wins_over_the_old_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORC_INGESTION_WORKERS", "4")
    monkeypatch.setenv("ORC_WORKERS", "2")
    assert CoreSettings().workers == 2


@pytest.mark.parametrize("key", sorted(ADVANCED))
def test_an_advanced_limit_is_read_from_the_json_object_and_from_its_old_variable(
    key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = kind_with(key)
    value = "9999" if "tokens" in key or "window" in key else "7"
    annotation = kind.model_fields[key].annotation
    value = "true" if annotation is bool else value
    value = get_args(annotation)[-1] if get_origin(annotation) is Literal else value
    monkeypatch.setenv(ADVANCED[key], value)
    assert str(getattr(kind(), key)).lower() in (value, f"{value}.0")
    assert doubtful_settings(CoreSettings) == [
        f'{ADVANCED[key]} is deprecated: set "{key}" in {ADVANCED_VARIABLE} instead.'
    ]
    monkeypatch.delenv(ADVANCED[key])
    monkeypatch.setenv(ADVANCED_VARIABLE, json.dumps({key: value}))
    assert str(getattr(kind(), key)).lower() in (value, f"{value}.0")
    assert doubtful_settings(CoreSettings) == []


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("{", "ORC_ADVANCED is not JSON"),
        ("[1]", "ORC_ADVANCED is not a JSON object"),
        ('{"turn_leese_seconds": 1}', "ORC_ADVANCED does not know turn_leese_seconds"),
        ('{"model_retries": "many"}', "ORC_MODEL_RETRIES"),
    ],
)
def test_an_invalid_advanced_limit_is_refused(
    value: str, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ADVANCED_VARIABLE, value)
    with pytest.raises(InvalidInput, match=problem):
        load_settings(CoreSettings)


def test_a_setting_that_became_a_constant_is_reported() -> None:
    warnings = deprecation_warnings(dict.fromkeys(WITHOUT_EFFECT, "1"))
    assert warnings == [f"{name} no longer has an effect: remove it." for name in sorted(WITHOUT_EFFECT)]


@pytest.mark.parametrize(
    ("value", "read"), [("off", "off"), ("on", "on"), ("code", "on"), ("auto", "on"), ("always", "on")]
)
def test_values_of_the_critic_in_earlier_versions_are_read(
    value: str, read: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ORC_CRITIC", value)
    assert load_settings(orc.settings.Settings).critic == read


def test_no_more_variables_are_documented_than_a_page_can_show() -> None:
    documented = set[str]().union(*(variables(kind) for _, kind, _ in PARTS))
    assert ADVANCED_VARIABLE in documented
    assert len(documented) <= 75


def test_no_current_name_is_listed_as_old() -> None:
    current = {
        variable_of(name, field.validation_alias)
        for kind in KINDS
        for name, field in kind.model_fields.items()
        if name not in ADVANCED
    }
    assert not current & {*RENAMED, *WITHOUT_EFFECT, *ADVANCED.values()}
    assert all(any(name in kind.model_fields for kind in KINDS) for name in [*ADVANCED, *INTERNAL])
