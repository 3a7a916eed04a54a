from __future__ import annotations

import datetime as dt

import pytest

from indwell.errors import SettingsError
from indwell.settings.credentials import Secret
from indwell.settings.values import SourceSettings, check, parse_toml

NO_ADDRESS = "is not an address, expected one like 'https://host/v1'"
NO_KEY = "api_key holds a space or a character that no key has; copy it again"


def test_table_names_become_prefixes_of_setting_names() -> None:
    table = parse_toml('mode = "ask"\n[attach]\nselection = false\n[price]\nin = 2\n', "c")
    assert check(table, "c") == SourceSettings(
        {"mode": "ask", "attach_selection": False, "price_in": 2.0}
    )


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('mode = "ask"\n\nmodel "x"\n', "line 3: expected '=' after a key in a key/value pair"),
        ("a = 1\nb = [", "line 2: invalid value"),
        ("a = 1\na = 2\n", "line 2: cannot overwrite a value"),
        ("a = " + "[" * 9_000, " is nested too deep"),
        ('a = "\n', "line 1: illegal character '\\n'"),
    ],
)
def test_the_error_for_a_broken_file_names_the_line(text: str, sentence: str) -> None:
    with pytest.raises(SettingsError) as caught:
        parse_toml(text, "config.toml")
    assert str(caught.value) == (
        f"config.toml{' ' if sentence.startswith('line') else ''}{sentence}"
        "; correct it and try again"
    )


def test_a_number_of_thousands_of_digits_is_an_error() -> None:
    with pytest.raises(SettingsError, match="correct it and try again"):
        parse_toml("window = " + "1" * 5_000, "config.toml")


def test_a_byte_order_mark_in_a_settings_file_is_accepted() -> None:
    assert parse_toml('\ufeffmode = "ask"', "c") == {"mode": "ask"}


def test_an_unknown_setting_is_reported_with_the_closest_known_name() -> None:
    assert check(
        {"modle": "x", "zzz": 1, "attach": {"selektion": True}}, "config.toml"
    ) == SourceSettings(
        {},
        (
            "unknown setting 'modle' in config.toml is ignored; did you mean 'model'?",
            "unknown setting 'zzz' in config.toml is ignored",
            (
                "unknown setting 'attach_selektion' in config.toml is ignored; "
                "did you mean 'attach_selection'?"
            ),
        ),
    )


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("round_limit", "many", "round_limit = 'many' is not valid, expected `int`, got `str`"),
        ("round_limit", True, "round_limit = True is not valid, expected `int`, got `bool`"),
        ("round_limit", 0, "round_limit = 0 is not valid, expected `int` >= 1"),
        (
            "attach_selection",
            "no",
            "attach_selection = 'no' is not valid, expected `bool`, got `str`",
        ),
        (
            "stall_timeout_s",
            float("inf"),
            "stall_timeout_s = inf is not valid, expected `float` <= 86400.0",
        ),
        (
            "stall_timeout_s",
            float("nan"),
            "stall_timeout_s = nan is not valid, expected `float` > 0.0",
        ),
        ("trusted", "/a", "trusted = '/a' is not valid, expected `array`, got `str`"),
        (
            "trusted",
            ["/a", 1],
            "trusted = (list) is not valid, expected `str`, got `int` - at `$[1]`",
        ),
        (
            "model",
            dt.date(2026, 1, 1),
            "model = (date) is not valid, expected `str`, got `date`",
        ),
        ("model", {"a": 1}, "model = (dict) is not valid, expected `str`, got `object`"),
        *(
            (
                "harmless_names",
                [one],
                (
                    f"harmless_names holds {one!r}, which is not a name that begins with a dot; "
                    "write one such as '.acme-cache' or '.acme-*', without a folder"
                ),
            )
            for one in ("acme", ".", "..", ".*", ".a/b", "*", "", ".a*b", ".[a]", "/.a")
        ),
        ("instructions", 5, "instructions = 5 is not valid, expected `str`, got `int`"),
    ],
)
def test_a_value_of_the_wrong_type_is_reported_and_the_default_is_used(
    name: str, value: object, problem: str
) -> None:
    assert check({name: value}, "config.toml") == SourceSettings(
        {}, (f"config.toml: {problem}; the default applies",)
    )


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        (
            "mode",
            "plna",
            "mode = 'plna' is not valid, expected one of 'ask', 'auto', 'plan', 'review'",
        ),
        ("provider", 1, "provider = 1 is not valid, expected one of 'openai', 'scripted'"),
        ("deny", "*.pem", "deny = '*.pem' is not valid, expected `array`, got `str`"),
        ("base_url", "localhost:8080", f"base_url = 'localhost:8080' {NO_ADDRESS}"),
        ("base_url", "file:///etc", f"base_url = 'file:///etc' {NO_ADDRESS}"),
        ("base_url", "http://h:99999", f"base_url = 'http://h:99999' {NO_ADDRESS}"),
        ("base_url", "http://[::1", f"base_url = 'http://[::1' {NO_ADDRESS}"),
        ("base_url", "http://a\n.b", f"base_url = 'http://a\\n.b' {NO_ADDRESS}"),
        ("base_url", "ftp://host/v1", f"base_url = 'ftp://host/v1' {NO_ADDRESS}"),
        ("base_url", "https:///v1", f"base_url = 'https:///v1' {NO_ADDRESS}"),
        ("base_url", "https://h:0/v1", f"base_url = 'https://h:0/v1' {NO_ADDRESS}"),
        (
            "base_url",
            "https://h/v1?key=plain1",
            "base_url = 'https://h/v1' goes on with a '?' or '#'; leave that out",
        ),
        (
            "base_url",
            "https://me@host/v1",
            "base_url holds a user or password; put the key in api_key instead",
        ),
        ("base_url", 7, f"base_url = 7 {NO_ADDRESS}"),
        (
            "base_url",
            "https://me:pw@host/v1",
            "base_url holds a user or password; put the key in api_key instead",
        ),
        (
            "rules_deny",
            ["edti: docs/**"],
            (
                "rules_deny holds 'edti: docs/**', and there are no rules for 'edti'; write "
                "'read: …', 'edit: …' or 'tool: …', or the words of a command"
            ),
        ),
        ("api_key", 12_345, "api_key is not valid, expected a text in quotes"),
        ("api_key", "sk-12 45", NO_KEY),
        ("api_key", "“sk”", NO_KEY),
    ],
)
def test_an_invalid_protective_setting_is_an_error(name: str, value: object, problem: str) -> None:
    with pytest.raises(SettingsError) as caught:
        check({name: value}, "config.toml")
    assert str(caught.value) == f"config.toml: {problem}; correct it and try again"


def test_a_number_too_long_to_print_is_not_printed() -> None:
    assert check({"window": 1 << 20_000}, "c").notices == (
        "c: window = (int) is not valid, expected `int` <= 1000000000; the default applies",
    )


def test_an_api_key_is_stripped_of_surrounding_white_space() -> None:
    assert check({"api_key": " sk-1\n"}, "c") == SourceSettings({"api_key": Secret("sk-1")})


def test_a_denied_folder_may_have_a_trailing_slash_as_in_ignore_files() -> None:
    assert check({"deny": ["private/", "*.db", "!open/"]}, "c") == SourceSettings(
        {"deny": ("private/**", "*.db", "!open/**")}
    )


def test_a_setting_given_twice_is_reported() -> None:
    table = {"attach_selection": True, "attach": {"selection": False}}
    assert check(table, "c") == SourceSettings(
        {"attach_selection": False}, ("'attach_selection' is set twice in c; the last one applies",)
    )


def test_a_notice_shows_foreign_text_cut_and_escaped() -> None:
    assert check({"\x1b[31m" + "x" * 500: 1}, "c").notices == (
        "unknown setting '\\x1b[31m" + "x" * 55 + "'… in c is ignored",
    )


def test_patterns_of_commands_may_contain_colons() -> None:
    patterns = ["npm run test:unit", "write: docs/**", "echo x: *", "ssh host:22"]
    given = check({"rules_deny": patterns}, "config.toml")
    assert given == SourceSettings({"rules_deny": tuple(patterns)})
