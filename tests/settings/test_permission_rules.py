"""Permanent permissions are in a file that people can edit."""

from __future__ import annotations

import asyncio

import pytest

from indwell.errors import SettingsError
from indwell.settings.permission_rules import RuleBook


async def test_a_permission_rule_can_be_deleted_with_a_text_editor(tmp_path) -> None:
    path = tmp_path / "rules.json"
    book = RuleBook(path)
    for rule in ("a", "b, ]", "c"):
        await book.grant(rule, always=True)
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    kept = []
    for number in range(3, 6):
        path.write_bytes("".join(line for at, line in enumerate(lines) if at != number).encode())
        kept.append((RuleBook(path).granted, RuleBook(path).problem))
    assert kept == [
        (frozenset({"b, ]", "c"}), ""),
        (frozenset({"a", "c"}), ""),
        (frozenset({"a", "b, ]"}), ""),
    ]


@pytest.mark.parametrize("text", ['["a",,]', '["a"', "a\n", '{"a": 1}', "[1]", "\udcff"])
async def test_a_damaged_permissions_file_grants_nothing_and_is_not_overwritten(
    tmp_path, text
) -> None:
    path = tmp_path / "rules.json"
    data = text.encode("utf-8", "surrogateescape")
    path.write_bytes(data)
    book = RuleBook(path)
    assert book.granted == frozenset()
    assert book.problem.endswith("so Indwell asks about everything again; fix or delete it")
    with pytest.raises(SettingsError, match="applies to this session only"):
        await book.grant("b", always=True)
    assert (book.granted, path.read_bytes()) == (frozenset({"b"}), data)


async def test_a_revoked_rule_ends_at_once_in_running_servers(tmp_path) -> None:
    path = tmp_path / "rules.json"
    running, other = RuleBook(path), RuleBook(path)
    for rule in ("a", "b", "c"):
        await running.grant(rule, always=True)
    assert other.always == ("a", "b", "c")
    assert other.revoke(["a", "c", "never given"]) == 2
    assert (running.granted, other.granted) == (frozenset("b"), frozenset("b"))
    path.unlink()
    assert running.granted == frozenset()


async def test_a_session_rule_is_only_in_memory_and_is_not_revoked(tmp_path) -> None:
    path = tmp_path / "rules.json"
    book = RuleBook(path)
    await book.grant("a", always=False)
    assert (book.granted, book.always, path.exists()) == (frozenset("a"), (), False)
    assert book.revoke(["a"]) == 0


async def test_parallel_writes_of_servers_lose_no_rule(tmp_path) -> None:
    path = tmp_path / "rules.json"
    rules = [f"rule {number}" for number in range(40)]
    await asyncio.gather(*(RuleBook(path).grant(rule, always=True) for rule in rules))
    assert RuleBook(path).granted == frozenset(rules)


async def test_a_permissions_file_that_breaks_during_a_session_grants_no_permission(
    tmp_path,
) -> None:
    path = tmp_path / "rules.json"
    book = RuleBook(path)
    await book.grant("a", always=True)
    path.write_bytes(b"[")
    assert (book.granted, book.problem != "") == (frozenset(), True)
    with pytest.raises(SettingsError, match="fix or delete it"):
        book.revoke(["a"])
    path.write_bytes(b'["a"]')
    assert (book.granted, book.problem) == (frozenset("a"), "")
