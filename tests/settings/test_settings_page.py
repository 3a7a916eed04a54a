"""Checks that ``docs/settings.md`` equals the code; run as a script, prints the table."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Literal, get_args, get_origin

import msgspec

from indwell.settings.credentials import SECRETS, Secret
from indwell.settings.load import VARIABLES, Loaded, load
from indwell.settings.model import Settings
from indwell.settings.table_types import Hook
from indwell.settings.tighten import RULES
from indwell.settings.values import STRICT

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"
MAY = {
    "_tighter_mode": "choose a tighter one",
    "_off": "turn it off",
    "_on": "turn it on",
    "_lower": "lower it",
    "_higher": "raise it",
    "_either": "set it",
    "_more_globs": "add globs",
    "_more_rules": "add patterns",
}


def table() -> str:
    """Return the table of all settings, in the form of the page."""
    variables = {name: variable for variable, name in VARIABLES.items()}
    rows = ["| Setting | What it is | Value | Others may |", "|---" * 4 + "|"]
    for field in msgspec.structs.fields(Settings):
        info = msgspec.inspect.type_info(field.type)
        assert isinstance(info, msgspec.inspect.Metadata)
        assert info.extra_json_schema is not None
        words = info.extra_json_schema["description"]
        if variable := variables.get(field.name):
            words += f"; also the variable `{variable}`"
        may = MAY[RULES[field.name].__name__] if field.name in RULES else ""
        cells = [
            f"`{field.name}`",
            words,
            value_words(type_words(field.type), default_words(field.default)),
            "choose among `models` (editor only)" if field.name == "model" else may,
        ]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows) + "\n"


def test_the_settings_page_names_each_setting_without_a_fallback() -> None:
    (row,) = (
        one
        for one in PAGE.read_text(encoding="utf-8").splitlines()
        if "Indwell never guesses these" in one
    )
    assert [name for name in STRICT if f"`{name}`" not in row] == []


def type_words(annotation: object) -> str:
    kinds = [str, Secret, bool, int, float, tuple, dict]
    words = ["text", "text", "true or false", "whole number", "number", "list of texts", "table"]
    while get_origin(annotation) is not Literal:
        if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
            return "table"
        if annotation == tuple[Hook, ...]:
            return "list of tables"
        if get_origin(annotation) is tuple and type_words(get_args(annotation)[0]) == "number":
            return "list of numbers"
        for kind, word in zip(kinds, words, strict=True):
            if annotation is kind or get_origin(annotation) is kind:
                return word
        annotation = get_args(annotation)[0]
    return ", ".join(f"`{value}`" for value in get_args(annotation) if value)


def value_words(kind: str, default: str) -> str:
    if default in kind.split(", "):
        return kind.replace(default, f"{default} (default)", 1)
    return f"{kind}; default {default}" if default else kind


def default_words(default: object) -> str:
    if default == SECRETS:
        return "[the list below](#files-that-stay-here)"
    if default is None or default in ("", ()) or not isinstance(default, str | int | float | tuple):
        return ""
    if isinstance(default, tuple):
        return ", ".join(f"`{one}`" for one in default)
    return f"`{str(default).lower() if isinstance(default, bool) else default}`"


def test_the_settings_page_contains_the_table_of_all_settings() -> None:
    assert table() in PAGE.read_text(encoding="utf-8")


def test_the_settings_page_lists_every_default_glob() -> None:
    page = PAGE.read_text(encoding="utf-8").split("## Files that stay here")[1]
    listed = page.split("```")[1].removeprefix("text\n").split()
    assert tuple(listed) == SECRETS


def test_the_example_on_the_settings_page_loads_without_a_notice() -> None:
    example = PAGE.read_text(encoding="utf-8").split("```toml\n")[1].split("```")[0]
    assert tomllib.loads(example)
    loaded = load({}, example)
    assert loaded == Loaded(loaded.settings)
    assert loaded.settings != Settings()


if __name__ == "__main__":
    print(table())  # noqa: T201 -- a script's output
