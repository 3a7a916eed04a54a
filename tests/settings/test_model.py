from __future__ import annotations

import copy
import logging
import pickle
import traceback
from typing import get_args

import msgspec
import pytest

from indwell.context.compaction.presets import ALIASES, PRESETS
from indwell.policy.paths import matches_any
from indwell.settings.credentials import SECRETS, Secret
from indwell.settings.model import FREEDOM, CompactionName, Mode, Settings

KEY = "sk-canary-1234567890"


def test_a_key_is_never_shown_in_settings(caplog: pytest.LogCaptureFixture) -> None:
    settings = Settings(api_key=Secret(KEY))
    logging.getLogger("t").warning("%s %r %s", settings, settings.api_key, settings.api_key)
    trace = "".join(traceback.format_exception_only(ValueError(settings, settings.api_key)))
    assert KEY not in f"{settings} {settings!r} {settings.api_key!s:>40} {caplog.text} {trace}"
    assert repr(Secret(KEY)) == "Secret(…)"


def test_dumped_settings_contain_no_key() -> None:
    settings = Settings(api_key=Secret(KEY))
    with pytest.raises(TypeError, match="Encoding objects of type Secret is unsupported"):
        msgspec.json.encode(settings)
    for dump in (pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError, match="cannot be pickled or copied"):
            dump(settings)


def test_api_keys_compare_by_value() -> None:
    assert Settings(api_key=Secret("a")) == Settings(api_key=Secret("a"))
    assert Settings(api_key=Secret("a")) != Settings(api_key=Secret("b"))
    assert {Secret("a"), Secret("a")} == {Secret("a")}
    assert Secret("a") != "a"
    assert Secret("\ud800") != Secret("a")
    assert Secret(KEY).reveal() == KEY


def test_every_mode_has_a_rank_by_permissiveness() -> None:
    assert sorted(FREEDOM) == sorted(Mode.__args__)


@pytest.mark.parametrize(
    "path",
    [
        ".env",
        "app/.env.local",
        ".ENV",
        "certs/server.pem",
        "id_rsa",
        "id_ed25519.pub",
        ".npmrc",
        "deploy/credentials.json",
        "config/credentials.yml.enc",
        "home/credentials",
        "secrets.prod.json",
        "secrets.yaml",
        "/home/u/.aws/config",
        "home/.ssh/known_hosts",
        ".gnupg/private-keys-v1.d/x",
        "a/b/debug.keystore",
    ],
)
def test_files_that_contain_keys_are_denied_by_default(path: str) -> None:
    assert matches_any(path, SECRETS)


@pytest.mark.parametrize(
    "path",
    [
        *(".env.example", "a/.env.sample", ".env.template", "environment.py", "keys.py"),
        *("README.md", "app/credentials.py", "credentials_test.go", "secrets.d.ts", "secrets.rs"),
    ],
)
def test_files_with_names_similar_to_secret_files_are_not_secret(path: str) -> None:
    assert not matches_any(path, SECRETS)


def test_only_existing_compaction_presets_can_be_chosen() -> None:
    assert set(get_args(CompactionName)) == {*PRESETS, *ALIASES}
    assert set(ALIASES.values()) <= set(PRESETS)
