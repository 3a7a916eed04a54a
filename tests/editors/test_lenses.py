"""Checks in each Neovim that code lenses update without a key of the user."""

from __future__ import annotations

from pathlib import Path

import pytest

from editors.clients import CLIENTS, play
from editors.scenarios import CHANGED, CHAT, NEW, OLD, REVIEW, Model, Run
from support.loopback_endpoint import endpoint_in_thread


@pytest.mark.parametrize("editor", ["nvim", "nvim-plain", "nvim07"])
def test_a_code_lens_disappears_on_accept_and_rejects_the_change_below(
    editor: str, tmp_path: Path
) -> None:
    report = _played(editor, "lenses", REVIEW, tmp_path)
    assert report["before"] == CHANGED
    assert report["after"] == CHANGED.replace(NEW[1], OLD[1])


def test_the_send_lens_keeps_the_sent_text(tmp_path: Path) -> None:
    report = _played("nvim", "chat_lenses", CHAT, tmp_path)
    assert report["before"] < report["after"]


def _played(editor: str, name: str, run: Run, folder: Path) -> dict[str, object]:
    with endpoint_in_thread(Model(run.replies)) as endpoint:
        report = play(CLIENTS[editor], name, folder / "user", endpoint)
    assert "failed" not in report, report["failed"]
    return report
