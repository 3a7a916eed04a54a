from __future__ import annotations

import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indwell.policy.call_facts import Allow, Ask, CallFacts, Policy
from indwell.policy.decide import decide
from indwell.policy.paths import is_beneath, is_inside, is_protected, matches_any
from indwell.settings.credentials import SECRETS
from indwell.workspace.executable_places import FILES, FOLDERS, INSTRUCTIONS

PROTECTED = (
    ".git/hooks/pre-commit", ".git/config", "sub/.git/config", ".gitmodules", ".gitattributes",
    ".hg/hgrc", ".vscode/settings.json", ".vscode/tasks.json", ".idea/workspace.xml",
    ".zed/tasks.json", "my.code-workspace", ".cursor/rules/a.mdc", ".claude/settings.json",
    ".codex/config.toml", ".agent/rules.md", ".indwell/config.toml", "AGENTS.md", "sub/CLAUDE.md",
    "skills/x/SKILL.md", ".mcp.json", "mcp.json", ".env", ".env.local", ".envrc", ".npmrc",
    ".yarnrc", ".yarnrc.yml", ".pypirc", ".tool-versions", "package.json", "web/package.json",
    ".github/workflows/ci.yml", ".husky/pre-push", ".devcontainer/devcontainer.json",
    ".pre-commit-config.yaml", ".bashrc", ".bash_profile", ".zshrc", ".zshenv", ".profile",
    ".exrc", ".nvim.lua", ".dir-locals.el",
)  # fmt: skip
"""POL-02 of the safety cases, and what editors and shells read besides."""

ORDINARY = (
    "src/app.py", "README.md", "github/x.py", "git/config", "vscode/settings.json", "settings.json",
    "package.json5", "packages.json", "environment.py", "my.env.py", "agents.py", "skill.py",
    ".gitignore", "code-workspace/a.py", "docs/agents.md.txt", "tests/.gitkeep", "profile.py",
)  # fmt: skip

SPELLINGS: dict[str, Callable[[str], str]] = {
    "as it is": lambda path: path,
    "upper case": str.upper,
    "title case": str.title,
    "decomposed": lambda path: unicodedata.normalize("NFD", path),
    "trailing dot": lambda path: "/".join(f"{part}." for part in path.split("/")),
    "trailing space": lambda path: "/".join(f"{part} " for part in path.split("/")),
    "dots and spaces": lambda path: f"{path}. . ",
    "backslashes": lambda path: path.replace("/", "\\"),
    "doubled slashes": lambda path: "./" + path.replace("/", "//./"),
    "absolute": lambda path: f"/home/me/work/{path}",
    "invisible": "\u200c".join,
    "variation selector": lambda path: path[:2] + "\ufe0f" + path[2:],
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_protected_file_is_protected_in_every_spelling(spelling: str) -> None:
    spell = SPELLINGS[spelling]
    assert [path for path in PROTECTED if not is_protected(spell(path))] == []
    assert [path for path in ORDINARY if is_protected(spell(path))] == []


@pytest.mark.parametrize("tool", ["edit_file", "write_file", "apply_patch", "rename"])
@pytest.mark.parametrize("mode", ["ask", "review", "auto"])
def test_a_protected_file_needs_a_question_by_every_route_each_time(tool: str, mode: str) -> None:
    for path in PROTECTED:
        for paths in ((path,), ("innocent.txt", path), (path, "innocent.txt")):
            asked = CallFacts(tool, "edit", paths)
            decision = decide(asked, Policy(mode))  # type: ignore[arg-type] # one of Mode
            assert isinstance(decision, Ask)
            assert decision.rule == "", path
        assert decide(CallFacts(tool, "read", (path,)), Policy("auto")) == Allow()


def test_an_empty_path_is_neither_protected_nor_secret() -> None:
    assert [is_protected(path) for path in ("", "/", ".", "./")] == [False] * 4
    assert not matches_any("", SECRETS)
    assert not matches_any("a.py", ())


@pytest.mark.parametrize(
    "path",
    [
        ".env", "conf/.env", ".ENV", ".env.local", "conf/.env.production", "a/b/server.pem",
        "Server.KEY", "id_rsa", "keys/id_ed25519.pub", ".netrc", "credentials.json", "secrets.toml",
        ".ssh/config", "home/.aws/credentials", ".aws/sso/cache/x.json", "/abs/olute/.env",
        ".env.", "conf\\.env", ".e\u200bnv", "./.env", ".gnupg/private-keys-v1.d/k",
    ],
)  # fmt: skip
def test_files_that_usually_hold_keys_are_denied(path: str) -> None:
    assert matches_any(path, SECRETS)


@pytest.mark.parametrize(
    "path", ["env.py", ".env.example", "conf/.env.sample", ".environment", "keyboard.py", "a.keys"]
)
def test_a_similar_but_harmless_case_is_not_affected(path: str) -> None:
    assert not matches_any(path, SECRETS)


@pytest.mark.parametrize(
    ("path", "glob", "matches"),
    [
        ("a/b/x.db", "*.db", True),
        ("x.db.py", "*.db", False),
        ("secrets/k", "secrets/**", True),
        ("deep/secrets/a/k", "secrets/**", True),
        ("secrets/k", "secrets/", True),
        ("deep/secrets/a/k", "secrets/", True),
        ("secrets", "secrets/", False),
        ("secrets/k", "/secrets/**", True),
        ("deep/secrets/k", "/secrets/**", False),
        ("/etc/ssl/k", "/etc/**", True),
        ("secrets/k", "./secrets/*", True),
        ("Größe/k", "größe/*", True),
        ("gr\u00f6sse.txt", "gro\u0308sse.txt", True),
        ("gro\u0308sse.txt", "gr\u00f6sse.txt", True),
        ("a/.hidden/k", "a/**/k", True),
    ],
)
def test_globs_work_as_in_ignore_files(path: str, glob: str, matches: bool) -> None:  # noqa: FBT001 - a column of the table
    assert matches_any(path, (glob,)) is matches


def test_an_exception_counts_at_any_position_in_the_list() -> None:
    for globs in (("*.db", "!test.db"), ("!test.db", "*.db")):
        assert [matches_any(path, globs) for path in ("x.db", "a/test.db")] == [True, False]


@given(st.text(), st.lists(st.text(max_size=12), max_size=3).map(tuple))
def test_no_path_and_no_glob_breaks_the_decision(path: str, globs: tuple[str, ...]) -> None:
    assert isinstance(is_protected(path), bool)
    assert isinstance(matches_any(path, globs), bool)


def test_every_file_in_the_trust_list_is_protected() -> None:
    names = [name for _, name in (*FILES, *FOLDERS)]
    assert [name for name in (*names, *INSTRUCTIONS) if not is_protected(name)] == []


@pytest.mark.parametrize(
    "path",
    [
        *("CLAUDE.local.md", "AGENTS.override.md", ".devcontainer.json", "lefthook.yaml"),
        *(".lefthook.yml", "lefthook-local.yml", ".dir-locals-2.el", ".lvimrc", "mise.local.toml"),
        *(".mise/config.toml", ".config/mise.toml", ".yarn/releases/yarn.cjs", ".pnp.cjs"),
        *(".yarn/plugins/x.cjs", ".run/a.run.xml", ".vs/launch.vs.json", ".gitpod.yml", "WARP.md"),
        *(".woodpecker.yml", ".jj/repo/config.toml", ".qwen/settings.json", "QWEN.md", "CRUSH.md"),
        *(".crush.json", ".factory/x", ".augment/x", ".theia/tasks.json", "a.sublime-project"),
        *(".emacs.d/init.el", ".yarn/releases"),
    ],
)
def test_configuration_files_of_newer_tools_are_protected(path) -> None:
    assert is_protected(path)


def test_files_that_builds_write_are_not_protected() -> None:
    for path in (".yarn/cache/x.zip", ".yarn/install-state.gz", ".config/app.toml", "lefthook.rs"):
        assert not is_protected(path)


def test_a_path_that_only_resembles_an_allowed_folder_is_outside_it() -> None:
    assert is_inside("/t/proj/a", ("/t/proj",), "linux")
    assert is_inside("/t/proj", ("/t/proj",), "linux")
    for path in ("/t/proj\\evil", "/t/PROJ/a", "/t/proj\u200b/a", "/t/project", "/t"):
        assert not is_inside(path, ("/t/proj",), "linux"), path
    assert is_beneath("/t/PROJ/a", ("/t/proj",))
