"""Keys can be changed while what they signed is in use; what is derived from them stays."""

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jwt
import pytest
from pydantic import SecretStr

from orc_core.errors import InvalidInput
from orc_core.infra.keys import KEY_FILES, Keys, load_keys, load_or_create_key
from orc_core.infra.settings import CoreSettings, StorageSettings

KEY, NEXT = "k" * 64, "n" * 64


def accepts(keys: Keys, token: str, purpose: str = "") -> bool:
    try:
        return keys.signed(token, purpose) == b"content"
    except jwt.InvalidTokenError:
        return False


@pytest.mark.parametrize("purpose", ["", "sign-in"])
def test_each_step_of_a_change_accepts_what_the_steps_around_it_sign(purpose: str) -> None:
    steps = [Keys(KEY), Keys(KEY, NEXT, KEY), Keys(NEXT, KEY, KEY), Keys(NEXT, lasting=KEY)]
    signed = [step.sign(b"content", purpose) for step in steps]
    accepted = [[accepts(step, token, purpose) for token in signed] for step in steps]
    # By the first step, that with the next key, that with the former key, and the last.
    assert accepted == [
        [True, True, False, False],
        [True, True, True, True],
        [True, True, True, True],
        [False, False, True, True],
    ]
    assert len({step.derived("sessions") for step in steps}) == 1


def test_a_token_for_one_purpose_is_none_for_another() -> None:
    keys = Keys(KEY, NEXT)
    for purposes in (("", "sign-in"), ("sign-in", ""), ("sign-in", "other")):
        for signer in (Keys(KEY), Keys(NEXT)):
            assert not accepts(keys, signer.sign(b"content", purposes[0]), purposes[1])


def test_keys_are_those_of_the_settings_then_those_of_the_data_directory(tmp_path: Path) -> None:
    made = load_keys(StorageSettings(data_dir=tmp_path))
    assert made == Keys((tmp_path / "scope.key").read_text())
    for name, key in zip(KEY_FILES, ("p" * 32, "s" * 32, "d" * 32), strict=True):
        (tmp_path / name).write_text(f"{key}\n")
    assert load_keys(StorageSettings(data_dir=tmp_path)) == Keys("p" * 32, "s" * 32, "d" * 32)
    given = StorageSettings(
        data_dir=tmp_path, scope_signing_key=SecretStr("P" * 32), second_signing_key=SecretStr("S" * 32)
    )
    assert load_keys(given) == Keys("P" * 32, "S" * 32, "d" * 32)


def test_the_commands_of_the_documentation_change_the_key_of_a_data_directory(tmp_path: Path) -> None:
    before = load_keys(StorageSettings(data_dir=tmp_path))
    token = before.sign(b"content")
    (tmp_path / "derivation.key").write_bytes((tmp_path / "scope.key").read_bytes())
    (tmp_path / "scope.key").rename(tmp_path / "second.key")
    changed = load_keys(StorageSettings(data_dir=tmp_path))
    assert changed.present != before.present
    assert accepts(changed, token)
    assert changed.derived("sessions") == before.derived("sessions")
    (tmp_path / "second.key").unlink()
    assert not accepts(load_keys(StorageSettings(data_dir=tmp_path)), token)


def test_a_second_key_without_a_derivation_key_is_refused_since_names_of_sessions_would_be_lost(
    tmp_path: Path,
) -> None:
    settings = StorageSettings(data_dir=tmp_path, second_signing_key=SecretStr(NEXT))
    with pytest.raises(InvalidInput, match="ORC_DERIVATION_KEY"):
        load_keys(settings)


@pytest.mark.parametrize("name", ["scope_signing_key", "second_signing_key", "derivation_key"])
def test_a_reference_that_was_not_resolved_is_no_key(name: str) -> None:
    with pytest.raises(ValueError, match="was not resolved"):
        CoreSettings.model_validate({name: "@Microsoft.KeyVault(SecretUri=https://vault/secrets/key)"})


def test_keys_are_not_shown() -> None:
    assert repr(Keys(KEY, NEXT, KEY)) == "Keys()"


def test_the_key_is_created_once_and_readable_by_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "data" / "scope.key"
    key = load_or_create_key(path)
    assert len(key) >= 64
    assert load_or_create_key(path) == key
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert load_or_create_key(tmp_path / "other.key") != key


def test_processes_that_start_together_use_one_key(tmp_path: Path) -> None:
    for attempt in range(20):
        path = tmp_path / str(attempt) / "scope.key"
        with ThreadPoolExecutor(8) as pool:
            keys = set(pool.map(load_or_create_key, [path] * 8))
        assert len(keys) == 1
        assert [left.name for left in path.parent.iterdir()] == ["scope.key"]


@pytest.mark.parametrize("left", ["", "\n", "k" * 31, "k" * 31 + "\n"])
def test_a_truncated_key_is_refused_and_not_changed(tmp_path: Path, left: str) -> None:
    path = tmp_path / "scope.key"
    path.write_text(left)
    with pytest.raises(InvalidInput, match=r"scope\.key.* delete the file"):
        load_or_create_key(path)
    assert path.read_text() == left


@pytest.mark.parametrize("name", ["second.key", "derivation.key"])
def test_a_truncated_key_that_cannot_be_made_again_is_to_be_restored(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("k" * 31)
    with pytest.raises(InvalidInput, match=r"\.key is damaged.* restore it from a backup") as refused:
        load_keys(StorageSettings(data_dir=tmp_path))
    assert "delete" not in refused.value.message


def test_a_new_key_is_synced_before_it_gets_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "scope.key"
    synced: list[tuple[int, bool]] = []

    def fsync(descriptor: int) -> None:
        synced.append((os.fstat(descriptor).st_size, path.exists()))

    monkeypatch.setattr(os, "fsync", fsync)
    key = load_or_create_key(path)
    assert synced == [(len(key), False)]


def test_a_derived_key_is_deterministic_and_does_not_reveal_the_key() -> None:
    secret = Keys(KEY).derived("sessions")
    assert secret == Keys(KEY).derived("sessions")
    assert len({secret, Keys(KEY).derived("other"), Keys("l" * 64).derived("sessions")}) == 3
    assert KEY.encode() not in secret
