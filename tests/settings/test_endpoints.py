"""Named endpoints: values for one address are never sent to another address."""

from __future__ import annotations

import pytest

from indwell.errors import SettingsError
from indwell.settings.credentials import EDITOR_URL, Secret, origin_of
from indwell.settings.endpoints import (
    ADDRESS_BOUND,
    SHARED,
    in_force,
    is_editors,
    split_name,
)
from indwell.settings.load import lacking, load
from indwell.settings.model import Settings
from indwell.settings.tighten import tighten

FILE = """
model = "gpt-5.4@work"
base_url = "https://api.anthropic.com/v1"
api_key = "sk-of-the-main-one"
headers = { X-Main = "main-value" }
extra_body = { main = true }
price_in = 3
temperature = 0.7
max_output = 1000

[endpoints.work]
base_url = "https://gateway.example/v1"
api_key_variable = "WORK_KEY"
headers = { X-Team = "$TEAM", x-plain = "words" }
query = { api-version = "2026-01-01", n = 1 }
counts_as = "gpt-5.4"
extra_body = { service_tier = "flex" }

[endpoints.local]
base_url = "http://127.0.0.1:8080/v1"
temperature = 0.1

[endpoints.again]
base_url = "https://api.anthropic.com/v1/"
"""


def loaded(**variables: str) -> Settings:
    found = load(variables, FILE)
    assert found.notices == ()
    return found.settings


def test_a_model_at_a_named_endpoint_has_its_address_key_headers_and_fields() -> None:
    settings = in_force(loaded(WORK_KEY="k-of-work", TEAM="search"))
    assert (settings.model, settings.base_url) == ("gpt-5.4@work", "https://gateway.example/v1")
    assert settings.api_key == Secret("k-of-work")
    assert settings.headers == {"x-team": Secret("search"), "x-plain": Secret("words")}
    assert settings.query == {"api-version": "2026-01-01", "n": "1"}
    assert (settings.extra_body, settings.counts_as) == ({"service_tier": "flex"}, "gpt-5.4")


@pytest.mark.parametrize("model", ["gpt-5.4@work", "qwen@local"])
def test_settings_of_one_address_are_not_used_for_another(model) -> None:
    settings = in_force(loaded(TEAM="search"), model)
    assert settings.api_key is None
    assert "x-main" not in settings.headers
    assert "main" not in settings.extra_body
    assert settings.price_in is None


def test_shared_settings_apply_unless_the_endpoint_overrides_them() -> None:
    settings = loaded(TEAM="search")
    assert in_force(settings).temperature == 0.7
    assert in_force(settings, "qwen@local").temperature == 0.1
    assert in_force(settings, "qwen@local").max_output == 1_000


def test_the_key_of_the_main_endpoint_also_counts_for_a_name_of_the_same_origin() -> None:
    assert in_force(loaded(), "claude@again").api_key == Secret("sk-of-the-main-one")


def test_a_model_without_a_named_endpoint_leaves_the_settings_unchanged() -> None:
    settings = load({}, FILE.replace("@work", "")).settings
    assert in_force(settings) is settings


@pytest.mark.parametrize(
    ("model", "parts"),
    [
        ("gpt-5", ("gpt-5", "")),
        ("gpt-5@work", ("gpt-5", "work")),
        ("@cf/meta/llama", ("@cf/meta/llama", "")),  # a model's name at Cloudflare
        ("claude-opus-4@20250514", ("claude-opus-4@20250514", "")),  # a model's name at Vertex
        ("claude-opus-4@default", ("claude-opus-4@default", "")),
        ("claude-opus-4@20250514@work", ("claude-opus-4@20250514", "work")),
        ("@work", ("@work", "")),
    ],
)
def test_the_name_of_the_endpoint_is_what_follows_the_last_at_sign(model, parts) -> None:
    assert split_name(model, {"work": {}}) == parts


@pytest.mark.parametrize("endpoints", [{}, {"work": {}}])
def test_a_model_of_the_editor_has_no_address_and_no_endpoint_settings(endpoints) -> None:
    assert split_name("copilot/a/b@vscode", endpoints) == ("copilot/a/b", "vscode")
    assert is_editors("copilot/gpt-5@vscode")
    assert not any(map(is_editors, ("gpt-5", "gpt-5@work", "@vscode", "vscode")))
    settings = in_force(loaded(WORK_KEY="k", TEAM="search"), "copilot/gpt-5@vscode")
    assert settings.model == "copilot/gpt-5@vscode"
    assert (settings.api_key, settings.headers, settings.price_in) == (None, {}, None)
    assert (origin_of(settings.base_url), lacking(settings)) == (EDITOR_URL, "")
    main = load({"OPENAI_API_KEY": "sk-of-openai"}).settings
    assert in_force(main, "copilot/gpt-5@vscode").api_key is None


def test_the_user_cannot_define_an_endpoint_with_the_name_of_the_editors() -> None:
    table = '[endpoints.vscode]\nbase_url = "https://gateway.example/v1"\n'
    with pytest.raises(SettingsError, match="a model of VS Code's own; give the endpoint another"):
        load({}, table)


def test_a_mistyped_endpoint_name_is_an_error_and_never_another_endpoint() -> None:
    with pytest.raises(SettingsError, match="the endpoint 'wrok'.*only 'work', 'local', 'again'"):
        in_force(loaded(), "gpt-5@wrok")
    assert "[endpoints.wrok]" in lacking(load({}, FILE.replace("@work", "@wrok")).settings)


def test_a_header_with_an_unset_environment_variable_is_an_error() -> None:
    with pytest.raises(SettingsError, match=r"\[endpoints.work\] is '\$TEAM', and there is no"):
        in_force(loaded(WORK_KEY="k"))


def test_the_error_about_an_unset_key_variable_names_the_variable() -> None:
    assert "the variable WORK_KEY, which holds the key" in lacking(loaded(TEAM="search"))


def test_keys_and_headers_are_never_shown() -> None:
    shown = repr(loaded(WORK_KEY="k-of-work", TEAM="secret-team"))
    assert "k-of-work" not in shown
    assert "secret-team" not in shown
    assert "main-value" not in shown


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('[endpoints.X]\nbase_url = "https://a/v1"', "not a name for an endpoint"),
        ("[endpoints.a]\nwindow = 1", "does not say its base_url"),
        ('[endpoints.a]\nbase_url = "a"', r"\[endpoints.a\]: base_url = 'a' is not an address"),
        ('[endpoints.a]\nbase_url = "https://a/v1"\nmode = "auto"', "has the unknown setting"),
        ('[endpoints.a]\nbase_url = "https://a/v1"\nquerry = {}', "did you mean 'query'"),
        ('headers = { Host = "a" }', "which you cannot set"),
        ('headers = { "a b" = "a" }', "which you cannot set"),
        ('headers = { a = "b\\nc" }', "no header can carry"),
        ('headers = ["a"]', "expected a table"),
        ('extra_body = { model = "a" }', "which Indwell itself writes"),
        ('extra_body = { a = "' + "x" * 5_000 + '" }', "longer than"),
        ('query = { a = ["b"] }', "not a text"),
        ('proxy = "host:1"', "expected one like"),
        ('proxy = "http://u:p@host:1"', "set HTTPS_PROXY instead"),
        ('key_header = "content-length"', "is not a header"),
        ('api_key_variable = "HOME"', "must hold KEY, TOKEN or SECRET"),
        ('api_key_variable = "KEYRING_SOCKET"', "must hold KEY, TOKEN or SECRET"),
    ],
)
def test_an_invalid_endpoint_setting_is_an_error(text, why) -> None:
    with pytest.raises(SettingsError, match=why):
        load({}, text)


def test_only_the_user_can_set_the_address_of_requests() -> None:
    users = load({}, 'model = "m"').settings
    asked = {"endpoints": {"a": {"base_url": "https://evil.example/v1"}}, "model": "m@a"}
    for table in (asked, *({name: "x"} for name in (*ADDRESS_BOUND, *SHARED))):
        changed = tighten(users, table, "options", chooses=True)
        if "max_output" not in table:  # this setting may be lowered
            assert changed.settings == users
        assert changed.notices
