"""An in-place edit that a kill interrupted is undone at the next read of the file."""

from __future__ import annotations

import os

import pytest

from indwell.files.contents.in_place import new_journal
from indwell.files.contents.new_file import usable
from indwell.lsp.workspace.editor_workspace import EditorWorkspace
from indwell.wiring.service import Composition
from support.editing import READ, SOURCE, USAGE, Home
from support.loopback_endpoint import LoopbackEndpoint, say
from support.near_editor import NearEditor
from support.terminal import indwell


@pytest.fixture
def home(tmp_path) -> Home:
    """Return a home as a kill left it: ``shop.py`` is half written, its old text is kept."""
    home = Home(tmp_path)
    new = os.memfd_create("new")
    os.write(new, b"?" * len(SOURCE))
    journal = new_journal(usable(home.state / "undo"), home.shop)
    with home.shop.open("r+b") as file:
        journal.fill(file.fileno(), new)
        file.write(b"?")
    journal.close()
    os.close(new)
    return home


async def test_per_13_a_run_reads_the_text_from_before_an_interrupted_edit(home) -> None:
    async with LoopbackEndpoint([say(calls=[READ], usage=USAGE), say("Ok.")]) as endpoint:
        ended = await indwell(
            "run", "look", environment=home.environment(endpoint.base_url), folder=home.workspace
        )
    assert (ended.code, home.shop.read_text(encoding="utf-8")) == (0, SOURCE)


async def test_per_13_the_server_reads_the_text_from_before_an_interrupted_edit(home) -> None:
    near = NearEditor(home.workspace)
    made = Composition(home.environment())
    workspace = EditorWorkspace(
        near.documents, near.client, made.disk((home.workspace,)), apply_timeout_s=1.0
    )
    assert (await workspace.read(home.shop)).text == SOURCE
    assert home.shop.read_text(encoding="utf-8") == SOURCE


async def test_an_invalid_state_folder_does_not_stop_the_server_from_reading_files(home) -> None:
    near = NearEditor(home.workspace)
    made = Composition({**home.environment(), "INDWELL_STATE": "relative"})
    workspace = EditorWorkspace(
        near.documents, near.client, made.disk((home.workspace,)), apply_timeout_s=1.0
    )
    assert (await workspace.read(home.shop)).text == f"?{SOURCE[1:]}"
