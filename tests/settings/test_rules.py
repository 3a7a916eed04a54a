"""Permissions for always, in a file that people edit by deleting lines."""

from __future__ import annotations

import pytest

from indwell.errors import SettingsError
from indwell.settings.rules import RuleBook


async def test_any_line_can_be_deleted_with_an_editor(tmp_path) -> None:
    path = tmp_path / "rules.json"
    book = RuleBook(path)
    for rule in ("a", "b, ]", "c"):
        await book.grant(rule, always=True)
    lines = path.read_text().splitlines(keepends=True)
    kept = []
    for number in range(1, 4):
        path.write_text("".join(line for at, line in enumerate(lines) if at != number))
        kept.append((RuleBook(path).granted, RuleBook(path).problem))
    assert kept == [
        (frozenset({"b, ]", "c"}), ""),
        (frozenset({"a", "c"}), ""),
        (frozenset({"a", "b, ]"}), ""),
    ]


@pytest.mark.parametrize("text", ['["a",,]', '["a"', "a\n", '{"a": 1}', "[1]", "\udcff"])
async def test_a_damaged_file_grants_nothing_and_is_not_written_over(tmp_path, text) -> None:
    path = tmp_path / "rules.json"
    data = text.encode("utf-8", "surrogateescape")
    path.write_bytes(data)
    book = RuleBook(path)
    assert book.granted == frozenset()
    assert book.problem.endswith("so everything is asked for again; mend or delete it")
    with pytest.raises(SettingsError, match="counts for this session only"):
        await book.grant("b", always=True)
    assert (book.granted, path.read_bytes()) == (frozenset({"b"}), data)
