"""`indwell setup` keeps the user's files, and removal restores the files exactly."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from indwell.cli import main
from indwell.cli.setup.configurations import CONFIGURATIONS, PLAIN, How
from indwell.cli.setup.merging import (
    CannotMerge,
    Placed,
    Record,
    WantedConfiguration,
    cut,
    pieces,
    put,
    take,
)

ON_WINDOWS = {
    "nvim": "AppData/Local/nvim/plugin/indwell.lua",
    "vim": "vimfiles/plugin/indwell.vim",
    "emacs": "AppData/Roaming/.emacs.d/init.el",
    "helix": "AppData/Roaming/helix/languages.toml",
    "kate": "AppData/Local/kate/lspclient/settings.json",
    "sublime": "AppData/Roaming/Sublime Text/Packages/User/LSP.sublime-settings",
    "zed": "AppData/Roaming/Zed/settings.json",
}
ELSEWHERE = {
    "nvim": ".config/nvim/plugin/indwell.lua",
    "vim": ".vim/plugin/indwell.vim",
    "emacs": ".emacs.d/init.el",
    "helix": ".config/helix/languages.toml",
    "kate": ".config/kate/lspclient/settings.json",
    "sublime": ".config/sublime-text/Packages/User/LSP.sublime-settings",
    "zed": ".config/zed/settings.json",
}
FILES = ON_WINDOWS if sys.platform == "win32" else ELSEWHERE
HOWS: dict[str, How] = {"emacs": "marked", "nvim": "own file", "vim": "own file", "helix": "toml"}
OWN_KATE = """{
  "servers": {
    "python": {
      "command": [
        "pylsp",
        "--my-option"
      ]
    }
  }
}
"""
REVERSED = (
    "(a)\n;; <<< indwell setup\n(mine)\n"
    ";; >>> indwell setup (this part is written by `indwell setup`; --remove takes it out)\n(b)\n"
)
EXACT = [
    ("emacs", b"(foo)\n"),
    ("emacs", b"(foo)"),
    ("emacs", b"(foo)\n\n\n"),
    ("emacs", b"(foo)\r\n(bar)\r\n"),
    ("emacs", b"(foo)\r\n(bar)\n"),
    ("emacs", b""),
    ("helix", b'[[language]]\r\nname = "python"\r\nauto-format = true\r\n'),
    ("helix", b'# a\n\n[language-server.x]\ncommand = "x"\n\n\n[[language]]\nname = "rust"'),
    ("helix", b'[[language]]\nname = "python"\nlanguage-servers = ["a", "b"] # mine\n\n'),
    ("kate", b'{\n  "servers": {}\n}\n'),
    ("kate", b"{}"),
    ("sublime", b'{\n\t"clients": {\n\t\t"p": {\n\t\t\t"enabled": true\n\t\t}\n\t}\n}\n'),
    ("zed", b'{\r\n  "theme": "x"\r\n}\r\n'),
    (
        "zed",
        b'{\n  "lsp": {\n    "pylsp": {\n      "binary": {}\n    }\n  },\n  "languages": {}\n}\n',
    ),
]


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


def there(home: Path, editor: str, content: bytes) -> Path:
    path = home / FILES[editor]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def wanted(editor: str, command: tuple[str, ...] = PLAIN) -> WantedConfiguration:
    configuration = CONFIGURATIONS[editor]
    how = HOWS.get(editor, "json")
    return WantedConfiguration(
        "/f", how, configuration.text(command), configuration.language.comment
    )


def written(editor: str, before: str | None) -> tuple[str, Record]:
    placed = put(wanted(editor), before, None)
    assert placed.text is not None
    assert placed.record is not None
    return placed.text, placed.record


@pytest.mark.parametrize("editor", ["nvim", "vim"])
def test_a_users_file_with_indwells_name_is_neither_replaced_nor_deleted(
    editor: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = there(home, editor, b"my own hand-written glue\n")
    for wish in ("--write", "--remove"):
        assert main(["setup", editor, wish]) == 1
        assert path.read_bytes() == b"my own hand-written glue\n"
    assert "it is your own file" in capsys.readouterr().err


@pytest.mark.parametrize("editor", ["nvim", "vim", "emacs"])
def test_lines_of_the_user_outside_the_marker_comments_stay(editor: str, home: Path) -> None:
    assert main(["setup", editor, "--write"]) == 0
    path = home / FILES[editor]
    ours = path.read_text(encoding="utf-8")
    path.write_bytes(f"mine before\n{ours}mine behind\n".encode())
    assert main(["setup", editor, "--write"]) == 0
    assert path.read_text(encoding="utf-8") == f"mine before\n{ours}mine behind\n"
    assert main(["setup", editor, "--remove"]) == 0
    assert path.read_text(encoding="utf-8") == "mine before\nmine behind\n"


def test_changes_by_the_user_between_the_marker_comments_stay(home: Path) -> None:
    assert main(["setup", "emacs", "--write"]) == 0
    path = home / FILES["emacs"]
    changed = path.read_text(encoding="utf-8").replace("C-c i", "C-c j")
    path.write_bytes(changed.encode())
    for words in (["--write"], ["--remove"], ["--lsp-mode", "--write"]):
        assert main(["setup", "emacs", *words]) == 1
        assert path.read_text(encoding="utf-8") == changed


def test_setup_replaces_its_old_configuration_with_the_new_one(home: Path) -> None:
    path = there(home, "emacs", b"(a)")
    assert main(["setup", "emacs", "--write"]) == 0
    with path.open("a") as file:
        file.write("(b)\n")
    assert main(["setup", "emacs", "--lsp-mode", "--write"]) == 0
    assert "eglot" not in path.read_text(encoding="utf-8")
    assert "lsp-register-client" in path.read_text(encoding="utf-8")
    assert main(["setup", "emacs", "--remove"]) == 0
    assert path.read_text(encoding="utf-8") == "(a)\n(b)\n"


@pytest.mark.parametrize("editor", ["kate", "zed", "sublime", "helix"])
def test_setup_updates_entries_with_another_command_and_can_remove_them_fully(
    editor: str,
) -> None:
    before = "" if editor == "helix" else "{}\n"
    text, record = written(editor, before)
    again = put(wanted(editor, ("/opt/indwell", "serve")), text, record)
    assert again.text is not None
    assert '"/opt/indwell"' in again.text
    assert again.record is not None
    newest = wanted(editor, ("/opt/indwell", "serve"))
    assert take(newest, again.text, again.record).text == before


def test_setup_does_not_replace_a_server_entry_of_the_user(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = there(home, "kate", OWN_KATE.encode())
    assert main(["setup", "kate", "--write"]) == 1
    assert main(["setup", "kate", "--remove"]) == 0
    assert path.read_text(encoding="utf-8") == OWN_KATE
    assert "another 'servers.python.command' already" in capsys.readouterr().err


@pytest.mark.parametrize("editor", ["kate", "zed", "sublime", "helix"])
def test_an_entry_that_setup_did_not_write_is_not_removed(
    editor: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = written(editor, None)[0]
    path = there(home, editor, own.encode())
    assert main(["setup", editor, "--remove"]) == 1
    assert path.read_text(encoding="utf-8") == own
    assert "no record" in capsys.readouterr().err


@pytest.mark.parametrize(("editor", "content"), EXACT)
def test_setup_removal_restores_every_byte(editor: str, content: bytes, home: Path) -> None:
    path = there(home, editor, content)
    assert main(["setup", editor, "--remove"]) == 0
    assert path.read_bytes() == content, "nothing was written yet"
    assert main(["setup", editor, "--write"]) == 0
    after = path.read_bytes()
    assert b"indwell" in after
    if b"\r\n" in content and content.count(b"\r\n") == content.count(b"\n"):
        assert after.count(b"\r\n") == after.count(b"\n")
    assert main(["setup", editor, "--write"]) == 0
    assert path.read_bytes() == after
    assert main(["setup", editor, "--remove"]) == 0
    assert path.read_bytes() == content


def test_setup_removal_keeps_entries_that_the_user_changed(home: Path) -> None:
    path = there(home, "sublime", b"{}\n")
    assert main(["setup", "sublime", "--write"]) == 0
    changed = path.read_text(encoding="utf-8").replace("source |", "source.python |")
    path.write_bytes(changed.encode())
    assert main(["setup", "sublime", "--remove"]) == 1
    assert path.read_text(encoding="utf-8") == changed


def test_other_settings_of_the_user_stay_when_entries_are_removed(home: Path) -> None:
    path = there(home, "zed", b'{\n  "theme": "x"\n}\n')
    assert main(["setup", "zed", "--write"]) == 0
    path.write_bytes(
        path.read_text(encoding="utf-8")
        .replace('"theme": "x"', '"theme": "x",\n  "a": 1.0')
        .encode()
    )
    assert main(["setup", "zed", "--remove"]) == 0
    assert path.read_text(encoding="utf-8") == '{\n  "theme": "x",\n  "a": 1.0\n}\n'


def test_setup_removes_a_short_entry_only_where_it_was_inserted() -> None:
    """The user moved Indwell's name from one language to another."""
    before = '[[a]]\nl = ["x"]\n[[b]]\nl = ["x"]\n'
    after = before.replace('["x"]', '["x", "indwell"]', 1)
    found = pieces(before, after)
    assert cut(after, found) == before
    moved = '[[a]]\nl = ["x"]\n[[b]]\nl = ["x", "indwell"]\n'
    with pytest.raises(CannotMerge):
        cut(moved, found)


@pytest.mark.parametrize(
    "text",
    [
        REVERSED,
        REVERSED + REVERSED,
        REVERSED.replace(";; <<< indwell setup\n", ""),
        ";; <<< indwell setup\n",
        "(x) " + "\n".join(reversed(REVERSED.splitlines()[1:4])),
    ],
    ids=["reversed", "twice", "no end", "no beginning", "not a whole line"],
)
def test_setup_leaves_damaged_marker_comments_unchanged(text: str, home: Path) -> None:
    path = there(home, "emacs", text.encode())
    for wish in ("--write", "--remove"):
        assert main(["setup", "emacs", wish]) == 1
        assert path.read_text(encoding="utf-8") == text


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444 | 0o200])
def test_the_backup_is_as_private_as_the_file_and_older_backups_stay(mode: int, home: Path) -> None:
    path = there(home, "zed", b"{}\n")
    path.chmod(mode)
    older = path.with_name("settings.json.before-indwell")
    older.write_bytes(b"precious")
    linked = path.with_name("settings.json.before-indwell.2")
    linked.symlink_to(older)
    for wish in ("--write", "--remove", "--write"):
        assert main(["setup", "zed", wish]) == 0
    assert older.read_text(encoding="utf-8") == "precious"
    copies = [path.with_name(f"settings.json.before-indwell.{number}") for number in (3, 4)]
    assert copies[0].read_text(encoding="utf-8") == "{}\n"
    assert "indwell" in copies[1].read_text(encoding="utf-8")
    assert {one.stat().st_mode & 0o777 for one in copies} == {mode}
    assert len(list(path.parent.iterdir())) == 5, "the third copy would be the first again"


def test_the_record_contains_no_text_of_the_user(home: Path) -> None:
    there(home, "zed", b'{\n  "key": "sk-secret"\n}\n')
    assert main(["setup", "zed", "--write"]) == 0
    kept = list((home.parent / "state").rglob("*.json"))
    assert len(kept) == 1
    assert "sk-secret" not in kept[0].read_text(encoding="utf-8")


def test_setup_removal_keeps_a_file_intact_if_the_user_removed_the_empty_line(home: Path) -> None:
    path = there(home, "emacs", b"(a)\n")
    assert main(["setup", "emacs", "--write"]) == 0
    path.write_bytes(path.read_text(encoding="utf-8").replace("(a)\n\n", "(a)\n").encode())
    assert main(["setup", "emacs", "--remove"]) == 0
    assert path.read_text(encoding="utf-8") == "(a)\n"


def test_a_damaged_record_counts_as_missing(home: Path) -> None:
    path = there(home, "zed", b"{}\n")
    assert main(["setup", "zed", "--write"]) == 0
    after = path.read_bytes()
    for kept in (home.parent / "state").rglob("*.json"):
        kept.write_bytes(b"{")
    assert main(["setup", "zed", "--remove"]) == 1
    assert path.read_bytes() == after


def test_removing_a_missing_setup_entry_changes_nothing() -> None:
    assert take(wanted("emacs"), "(a)", None) == Placed("(a)", None)
