"""Settings of earlier releases that have no effect any more."""

import logging

import pytest

from core.infra.settings import CoreSettings, load_settings


def test_a_retired_setting_is_accepted_with_a_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("ORC_TOKEN_CACHE", "/srv/ranks")
    with caplog.at_level(logging.WARNING, "core.infra.settings"):
        load_settings(CoreSettings)
    assert "ORC_TOKEN_CACHE is ignored" in caplog.text


def test_without_one_nothing_is_reported(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delenv("ORC_TOKEN_CACHE", raising=False)
    load_settings(CoreSettings)
    assert caplog.text == ""
