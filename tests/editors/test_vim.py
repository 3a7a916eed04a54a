"""Tests saving in Vim with ALE after a turn that ran a command."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from editors.clients import CLIENTS, play, vim
from editors.place import serve_model
from editors.scenarios import (
    DONE,
    LOOKED,
    MENDED,
    MINE,
    NEW,
    OLD,
    PATH,
    READ,
    TEXT,
    Model,
    edits,
    tool,
)
from indwell.cli.setup.configurations import CONFIGURATIONS
from support.loopback_endpoint import endpoint_in_thread

APPENDED = "# by a command\n"
APPEND = tool("bash", command=f"echo '{APPENDED.strip()}' >> {PATH}")
LOOK = tool("bash", command=LOOKED)
REPLIES = (
    # the server saves the edit before the command runs
    *(READ, edits((OLD[0], NEW[0])), LOOK, DONE),
    *(APPEND, DONE),
    *(APPEND, DONE),
)


def test_vim_saves_without_a_question_after_a_command_and_keeps_typed_text(
    tmp_path: Path,
) -> None:
    with endpoint_in_thread(Model(REPLIES)) as endpoint:
        report = play(CLIENTS["ale"], "write", tmp_path / "user", endpoint)
    assert "failed" not in report, report["failed"]
    assert report["after"] == [MENDED, MENDED]
    first = MENDED.split("\n", 1)[0]
    assert report["written"] == MENDED.replace(first, f"{first}{MINE}")
    assert report["undone"] == TEXT, "noting the text as saved is no step of undo"
    assert report["read_again"] == [f"{TEXT}{APPENDED}", 0]
    assert report["lingers"] == 0, "what allows a reload is gone, whether it was used or not"
    mine = f"{TEXT}{APPENDED}".replace(first, f"{first}{MINE}")
    assert report["kept"] == [mine, f"{TEXT}{APPENDED}{APPENDED}", 1]


def test_vim_without_ale_says_what_is_missing_and_opens_every_buffer(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    configuration = tmp_path / "indwell.vim"
    configuration.write_text(CONFIGURATIONS["vim"].text(serve_model()), "utf-8")
    script = tmp_path / "script.vim"
    script.write_text(
        f"source {configuration}\nfiletype plugin on\n"
        "edit a.py\nenew\nIndwellRun indwell.chat\nedit .\nIndwellRun indwell.chat\n"
        "redir! > said\nsilent messages\nredir END\nqa!\n"
    )
    options = ("-n", "-i", "NONE", "-u", "NONE", "-N", "-es")
    subprocess.run([vim(), *options, "-S", str(script)], cwd=tmp_path, timeout=60, check=True)
    said = (tmp_path / "said").read_text()
    assert "Indwell: this Vim has no ALE; install ALE" in said
    assert "Error" not in said
    assert not re.search(r"\bE\d+:", said), said
