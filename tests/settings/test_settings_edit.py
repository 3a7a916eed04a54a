from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indwell.errors import SettingsError
from indwell.settings.edit import edited
from indwell.settings.values import check, parse_toml

FILE = """\
# my settings
model = "old"   # the cheap one
base_url = "http://old/v1"

# what the editor may choose
models = ["a", "b"]

[attach]
selection = false # not that
"""


def change(text: str, **changes: str | int | None) -> str:
    return edited(text, changes, "config.toml")


def test_an_edit_keeps_comments_order_and_tables() -> None:
    assert change(FILE, model="new", base_url=None, window=8_192) == (
        "# my settings\n"
        'model = "new"   # the cheap one\n'
        "\n"
        "# what the editor may choose\n"
        'models = ["a", "b"]\n'
        "window = 8192\n"
        "\n"
        "[attach]\n"
        "selection = false # not that\n"
    )


def test_a_settings_file_with_the_wanted_values_stays_unchanged() -> None:
    assert change(FILE, model="old", api_key=None) == FILE


def test_a_new_settings_file_contains_only_the_edit() -> None:
    assert change("", model="m", base_url="http://x/v1", api_key=None) == (
        'model = "m"\nbase_url = "http://x/v1"\n'
    )


def test_a_settings_file_with_crlf_keeps_its_line_ends() -> None:
    assert change('model = "a"\r\n# end\r\n', model="b") == 'model = "b"\r\n# end\r\n'


def test_a_setting_written_as_a_table_is_found() -> None:
    text = '[base]\nurl = "http://old/v1"\n[api]\nkey = "sk-old"\n'
    new = change(text, base_url="http://new/v1", api_key=None)
    assert dict(check(parse_toml(new, "x"), "x").values) == {"base_url": "http://new/v1"}


def test_a_broken_settings_file_is_reported_with_its_line_and_not_changed() -> None:
    with pytest.raises(SettingsError, match="config.toml line 2: "):
        change('model = "a"\nmode = \n', model="b")


@given(
    model=st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), min_size=1, max_size=20),
    window=st.one_of(st.none(), st.integers(1, 10**9)),
)
def test_changed_settings_are_read_back_and_other_settings_stay(model, window) -> None:
    new = change(FILE, model=model, window=window)
    values = dict(check(parse_toml(new, "x"), "x").values)
    before = dict(check(parse_toml(FILE, "x"), "x").values)
    expected = {**before, "model": model, **({"window": window} if window else {})}
    assert values == expected
