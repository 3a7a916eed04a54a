"""`indwell setup` with odd files, paths and home folders prints plain sentences, writes nothing."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from cli.test_setup_keeps_user_files import there
from indwell.cli import NO_HOME, main
from indwell.cli.setup.command import printable
from indwell.cli.setup.configurations import CONFIGURATIONS
from indwell.errors import UserError


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


@pytest.mark.parametrize(
    ("editor", "content"),
    [
        ("helix", 'language-server = { p = { command = "p" } }\nlanguage = [ { name = "x" } ]\n'),
        ("helix", "language-server = 3\n"),
        ("helix", "language = 3\n"),
        ("helix", "language = [1]\n"),
        ("helix", '[[language]]\nname = "python"\nlanguage-servers = "pylsp"\n'),
        ("helix", '[language-server.indwell]\ncommand = "mine"\n'),
        ("helix", "language-server.indwell = 1\n"),
        ("helix", "[a\n"),
        ("kate", '{\n  "servers": []\n}\n'),
        ("kate", "[]\n"),
        ("kate", "[" * 100_000),
        ("sublime", '{\n  "clients": 3\n}\n'),
        ("zed", '{\n  "lsp": {\n    "pylsp": null\n  }\n}\n'),
    ],
)
def test_setup_leaves_odd_configurations_unchanged_and_says_why(
    editor: str, content: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = there(home, editor, content.encode())
    assert main(["setup", editor, "--write"]) == 1
    told = capsys.readouterr()
    assert path.read_text(encoding="utf-8") == content
    assert "was not changed: " in told.err
    assert "Traceback" not in told.err
    assert told.out, "what to put in by hand"


@pytest.mark.skipif(os.name == "nt", reason="the home folder is not in HOME there")
def test_setup_without_a_home_folder_fails_and_writes_no_file(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", NO_HOME)  # as for a user without an entry and without HOME
    monkeypatch.chdir(home)
    assert main(["setup", "vim", "--write"]) == 1
    assert capsys.readouterr().err.startswith("Your home folder is not known")
    assert list(home.iterdir()) == []
    assert not Path(NO_HOME).exists()


def test_a_command_path_that_looks_like_a_placeholder_is_written_unchanged() -> None:
    odd = "/a/@ARGUMENTS@/@COMMAND@"
    for configuration in CONFIGURATIONS.values():
        text = configuration.text((odd, "serve"))
        assert odd in text
        assert not re.search("@[A-Z]+@", text.replace(odd, ""))


@pytest.mark.parametrize("odd", ["/a\nb", "/a\x1b[31m", "/a\udcff", "/a\u2028"])
def test_a_command_path_with_a_control_character_is_refused(odd: str) -> None:
    with pytest.raises(UserError, match="line break or control character"):
        printable((odd, "serve"))


def test_text_shown_from_a_file_cannot_control_the_terminal(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    there(home, "emacs", b'(a "\033]0;x\007\033[31m")\n')
    assert main(["setup", "emacs", "--write"]) == 0
    shown = capsys.readouterr().err
    assert "\033]0" not in shown
    assert "\007" not in shown
