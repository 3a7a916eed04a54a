from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indwell.policy import protected_names
from indwell.policy.guarded_paths import (
    INSIDE,
    is_posing,
    is_set_aside,
    kind_of,
    ordinary_of,
    set_aside_name,
    topmost,
)
from indwell.policy.paths import LISTED, is_protected, matches_any
from indwell.settings.credentials import SECRETS


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        (".git", "protected"),
        ("pkg/a/.git", "protected"),
        (".VSCode/settings.json", "protected"),
        ("AGENTS.md", "protected"),
        (".env", "hidden"),
        ("sub/.env.local", "hidden"),
        (".env.example", "protected"),
        ("keys/server.PEM", "hidden"),
        (".aws/credentials", "hidden"),
        ("src/main.py", ""),
    ],
)
def test_guarded_paths_have_the_expected_kind(path: str, kind: str) -> None:
    assert kind_of(SECRETS)(path) == kind


words = st.text(string.ascii_letters + "._-*", min_size=1, max_size=8)
some = st.sampled_from([".env", ".envrc", "id_rsa", "x.pem", ".aws", ".docker", "config.json", "a"])


@given(st.lists(words | some | st.text(max_size=4), min_size=1, max_size=4))
def test_the_fast_secret_match_agrees_with_the_full_match(parts: list[str]) -> None:
    path = "/".join(part.replace("/", "") or "x" for part in parts)
    assert (kind_of(SECRETS)(path) == "hidden") == matches_any(path, SECRETS)


globs = st.lists(
    st.sampled_from(
        ["secrets/", "**/deep", "/top", "a/**/b", "*.[kp]ey", "x?z", "A*", "./here", "!a/b/b", "*"]
    ),
    min_size=1,
    max_size=4,
)
names = st.sampled_from(
    ["secrets", "deep", "top", "a", "b", "m.key", "m.pey", "xyz", "Abc", "here", "c"]
)


@given(globs, st.lists(names, min_size=1, max_size=4))
def test_the_quick_test_misses_no_match_for_any_globs(deny: list[str], parts: list[str]) -> None:
    path = "/".join(parts)
    assert (kind_of(tuple(deny))(path) == "hidden") == matches_any(path, tuple(deny))


@pytest.mark.parametrize(
    "path", ["Stra\u00dfe/a", "STRASSE/a", "cafe\u0301.x", "caf\u00e9\u200b.X"]
)
def test_non_ascii_letters_are_compared_as_in_other_rules(path: str) -> None:
    deny = ("stra\u00dfe/", "cafe\u0301.*")
    assert kind_of(deny)(path) == "hidden"
    assert matches_any(path, deny)


def test_no_program_loads_a_file_that_was_moved_aside() -> None:
    names = sorted({*LISTED.files, *LISTED.folders, "a.code-workspace"})
    assert len(names) > 600
    assert [name for name in names if is_protected(set_aside_name(name))] == []


def test_package_files_of_builds_are_not_protected_and_workspace_package_files_are() -> None:
    assert is_set_aside("package.json")
    assert not is_set_aside("dist/esm/package.json")
    assert is_set_aside("dist/.vscode")


def test_topmost_returns_the_paths_that_are_inside_no_other_path() -> None:
    assert topmost(["a/b", "a", "a.b/c", "b/c/d", "b/c/d/e", "ab"]) == ("a", "a.b/c", "ab", "b/c/d")


LISTED_PARTS = sorted(
    {
        part.replace("*", "a")
        for table in (protected_names.PROTECTED, protected_names.INSTALLED)
        for names in table.values()
        for one in names
        for part in one.split("/")
        if part
    }
)
parts_of_paths = (
    names | words | some | st.sampled_from(LISTED_PARTS) | st.sampled_from(["HEAD", "venv", "x"])
)


@given(globs, globs, st.lists(parts_of_paths, min_size=1, max_size=4))
def test_a_path_of_ordinary_names_is_never_guarded(
    deny: list[str], edits: list[str], parts: list[str]
) -> None:
    """The scan of a workspace skips ordinary names, so no such path may be guarded."""
    rules = (*SECRETS, *deny), tuple(edits)
    is_ordinary, kind = ordinary_of(*rules), kind_of(*rules)
    path = "/".join(parts)
    if all(map(is_ordinary, parts)):
        assert (kind(path), kind(f"{path}/{INSIDE}"), is_posing(path)) == ("", "", False)


@pytest.mark.parametrize("name", ["main.py", "README.rst", "index.html", "a b", "f0", "Tests"])
def test_most_names_are_ordinary(name) -> None:
    assert ordinary_of(SECRETS)(name)


def test_no_path_of_a_listed_name_is_skipped() -> None:
    kind, is_ordinary = kind_of(SECRETS), ordinary_of(SECRETS)
    assert len(LISTED_PARTS) > 700
    assert [one for one in LISTED_PARTS if kind(one) and is_ordinary(one)] == []
    loud = [one.upper() for one in LISTED_PARTS]
    assert [one for one in loud if kind(f"a/{one}") and is_ordinary(one)] == []


@pytest.mark.parametrize("glob", ["*", "**", "?", "[a-z]*", "x", "*x*", "a\\b"])
def test_no_name_is_ordinary_if_a_rule_matches_any_name(glob) -> None:
    assert not any(map(ordinary_of((glob,)), ("main.py", "axa", "x")))
