"""`indwell setup` prints what the docs show, and its files keep every setting."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from cli.test_setup_keeps_user_files import FILES
from indwell.cli import main
from indwell.cli.setup.command import server_command
from indwell.cli.setup.configurations import (
    CONFIGURATIONS,
    PLAIN,
    elisp_list,
    lua,
    target,
    vim,
    vim_arguments,
)
from indwell.cli.setup.merging import merged
from support.platforms import posix_only

PAGES = Path(__file__).resolve().parents[2] / "docs" / "editors"
CONFIGURED = ("nvim", "nvim-plain", "nvim-older", "emacs", "helix", "kate", "sublime", "zed", "vim")
HELIX = """# mine
theme = "dark" # too

[[language]]
name = "python"
auto-format = true # yes
language-servers = ["pylsp"]
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("XDG_CONFIG_HOME", "APPDATA", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))  # the same variable for Windows
    monkeypatch.setenv("INDWELL_STATE", str(tmp_path / "state"))
    return home


def files(home: Path) -> dict[str, str]:
    return {
        str(path.relative_to(home)): path.read_text("utf-8")
        for path in home.rglob("*")
        if path.is_file() and not path.name.endswith(".before-indwell")
    }


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_the_documentation_shows_exactly_what_setup_prints(name: str) -> None:
    configuration = CONFIGURATIONS[name]
    page = (PAGES / configuration.page).read_text("utf-8")
    for block in configuration.shown(PLAIN):
        assert f"```{configuration.language.name}\n{block}```\n" in page


@pytest.mark.parametrize("editor", CONFIGURED)
def test_setup_prints_the_whole_configuration_with_the_command(
    editor: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["setup", editor]) == 0
    printed = capsys.readouterr().out
    assert printed == CONFIGURATIONS[editor].text(server_command())
    assert files(home) == {}


@pytest.mark.parametrize("editor", CONFIGURED)
def test_setup_writes_its_entry_once_and_removes_the_whole_entry(editor: str, home: Path) -> None:
    assert main(["setup", editor, "--write"]) == 0
    written = files(home)
    assert len(written) == 1
    assert main(["setup", editor, "--write"]) == 0
    assert files(home) == written
    assert main(["setup", editor, "--remove"]) == 0
    assert files(home) == {}


def test_setup_of_emacs_keeps_the_existing_init_file_and_a_backup(home: Path) -> None:
    init = (home / FILES["emacs"]).parents[1] / ".emacs"
    init.parent.mkdir(parents=True, exist_ok=True)
    init.write_bytes(b"(setq mine t)\n")
    assert main(["setup", "emacs", "--lsp-mode", "--write"]) == 0
    assert init.read_text(encoding="utf-8").startswith("(setq mine t)\n\n;; >>> indwell setup")
    assert init.with_name(".emacs.before-indwell").read_text(encoding="utf-8") == "(setq mine t)\n"
    assert main(["setup", "emacs", "--lsp-mode", "--remove"]) == 0
    assert init.read_text(encoding="utf-8") == "(setq mine t)\n"


def test_without_a_terminal_setup_shows_the_diff_with_uncut_lines(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["setup", "vim", "--write"]) == 0
    shown = capsys.readouterr().err.splitlines()
    lines = CONFIGURATIONS["vim"].text(server_command()).splitlines()
    assert max(map(len, lines)) > 100
    assert {f"+{line}" for line in lines} <= set(shown)
    assert len(files(home)) == 1


@posix_only("shell")
def test_setup_names_the_configuration_for_an_older_neovim(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    neovim = tmp_path / "bin/nvim"
    neovim.parent.mkdir()
    monkeypatch.setenv("PATH", str(neovim.parent), prepend=os.pathsep)
    for version, is_told in (("0.9.5", True), ("0.11.4", False)):
        neovim.write_text(f"#!/bin/sh\necho NVIM v{version}\n", encoding="utf-8")
        neovim.chmod(0o755)
        assert main(["setup", "nvim"]) == 0
        told = capsys.readouterr().err
        assert ("The `nvim` on PATH is NVIM v0.9.5" in told) == is_told
        assert ("`indwell setup nvim-older --write`" in told) == is_told
    assert files(home) == {}


@posix_only("symlinks")
def test_a_link_to_a_file_kept_elsewhere_stays_a_link(home: Path) -> None:
    kept = home / "dotfiles" / "init.el"
    kept.parent.mkdir()
    kept.write_bytes(b"(setq mine t)\n")
    (home / ".emacs").symlink_to(kept)
    assert main(["setup", "emacs", "--write"]) == 0
    assert (home / ".emacs").is_symlink()
    assert "indwell-menu" in kept.read_text(encoding="utf-8")


def test_setup_of_helix_keeps_comments_and_other_language_servers() -> None:
    text = CONFIGURATIONS["helix"].text()
    after = merged("toml", HELIX, text)
    assert after.startswith('# mine\ntheme = "dark" # too\n')
    assert "auto-format = true # yes" in after
    assert 'language-servers = ["pylsp", "indwell"]' in after.replace("' ", '"')
    assert merged("toml", after, text) == after


@pytest.mark.parametrize(
    "before",
    [
        '{\n  // mine\n  "a": 1\n}\n',
        '{"a":1}\n',
        '{\n  "clients": {\n    "indwell": {\n      "enabled": false\n    }\n  }\n}\n',
        '{\n  "a": 1,\n  "a": 2\n}\n',
    ],
    ids=["comments", "other form", "the user's own wish", "twice the same key"],
)
def test_a_change_that_would_lose_text_is_printed_instead_of_written(
    before: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = home / FILES["sublime"]
    path.parent.mkdir(parents=True)
    path.write_bytes(before.encode())
    assert main(["setup", "sublime", "--write"]) == 1
    told = capsys.readouterr()
    assert path.read_text(encoding="utf-8") == before
    assert "was not changed" in told.err
    assert '"clients"' in told.out


def test_setup_keeps_all_other_entries_of_a_json_file() -> None:
    mine = {"servers": {"c": {"command": ["clangd"]}}, "x": "ü"}
    before = json.dumps(mine, indent=4, ensure_ascii=False) + "\n"
    after = merged("json", before, CONFIGURATIONS["kate"].text())
    assert json.loads(after)["servers"]["c"] == {"command": ["clangd"]}


def test_json_output_names_the_file_and_the_command(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["setup", "zed", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["path"] == str(home / FILES["zed"])
    assert told["command"] == list(server_command())
    assert main(["setup", "zed", "--write", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["changed"] is True


def test_setup_says_how_to_install_the_extension_for_vs_code(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["setup", "vscode"]) == 0
    assert "code --install-extension" in capsys.readouterr().out
    assert main(["setup", "vscode", "--write"]) == 1


@pytest.mark.parametrize(
    ("platform", "wanted"),
    [
        ("linux", "xdg/nvim/plugin/indwell.lua"),
        ("darwin", "xdg/nvim/plugin/indwell.lua"),
        ("win32", "AppData/Local/nvim/plugin/indwell.lua"),
    ],
)
def test_setup_respects_xdg_config_home(platform: str, wanted: str, tmp_path: Path) -> None:
    environment = {"XDG_CONFIG_HOME": str(tmp_path / "xdg")}
    place = target("nvim", tmp_path, environment, platform, lambda _path: False)
    assert place.path == tmp_path / wanted


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("nvim", ".config/nvim/plugin/indwell.lua"),
        ("vim", ".vim/plugin/indwell.vim"),
        ("emacs", ".emacs.d/init.el"),
        ("helix", ".config/helix/languages.toml"),
        ("kate", "Library/Preferences/kate/lspclient/settings.json"),
        ("sublime", "Library/Application Support/Sublime Text/Packages/User/LSP.sublime-settings"),
        ("zed", ".config/zed/settings.json"),
    ],
)
def test_setup_knows_the_settings_path_of_each_editor_on_macos(
    name: str, wanted: str, tmp_path: Path
) -> None:
    place = target(name, tmp_path, {}, "darwin", lambda _path: False)
    assert place.path == tmp_path / wanted


def test_setup_quotes_words_for_each_language() -> None:
    odd = '/a b/it\'s "x"/%d'
    assert lua(odd) == "'/a b/it\\'s \"x\"/%d'"
    assert elisp_list((odd,)) == '("/a b/it\'s \\"x\\"/%d")'
    assert vim(odd) == "'/a b/it''s \"x\"/%d'"
    assert vim_arguments(("serve", "a b", "5%")) == "'%e serve ''a b'' ''5%%'''"
