"""Notebooks that are open in an editor: unsaved cells count, and edits change cells."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from lsprotocol import types

from support.editing import Editor, Home, Playlist, editing, results
from support.fake_editor.buffer import Buffer, Span
from support.fake_editor.client_protocol import plain_converter
from support.fake_editor.profiles import PLAIN
from support.loopback_endpoint import Answer, LoopbackEndpoint, say

NOTEBOOKS = msgspec.structs.replace(
    PLAIN, capabilities={**PLAIN.capabilities, "notebookDocument": {"synchronization": {}}}
)
TEXTS = msgspec.structs.replace(
    PLAIN,
    capabilities={
        **PLAIN.capabilities,
        "workspace": {**PLAIN.capabilities["workspace"], "textDocumentContent": {}},
    },
)
_PARAMS: Any = {
    "didOpen": types.DidOpenNotebookDocumentParams,
    "didChange": types.DidChangeNotebookDocumentParams,
    "didSave": types.DidSaveNotebookDocumentParams,
    "didClose": types.DidCloseNotebookDocumentParams,
}
SOURCES = (("markdown", "# Sales"), ("code", "total = 1"), ("code", "print(total)"))


def call(name: str, **arguments: object) -> Answer:
    return say(calls=[(name, json.dumps(arguments))])


def edit(old: str, new: str) -> Answer:
    return call("edit_file", path="sales.ipynb", edits=[{"old": old, "new": new}])


READ = call("read_file", path="sales.ipynb")


class OpenNotebook:
    """A notebook in the fake editor, with the messages that VS Code sends."""

    def __init__(self, home: Home, editor: Editor) -> None:
        self.path = home.workspace / "sales.ipynb"
        self._editor = editor
        self._version = 1
        self._tell = editor.desk._notify
        editor.desk._notify = self._translated
        self.cells: list[Buffer] = []
        self.open()

    def open(self) -> None:
        """Open the notebook from disk."""
        whole = json.loads(self.path.read_bytes())
        kinds, items = [], []
        for number, cell in enumerate(whole["cells"]):
            uri = f"vscode-notebook-cell:{self.path.as_uri().removeprefix('file:')}#c{number}"
            buffer = Buffer(uri, self.path, "".join(cell["source"]))
            buffer.saved = buffer.text
            self._editor.desk.buffers[uri] = buffer
            self.cells.append(buffer)
            is_code = cell["cell_type"] == "code"
            kinds.append({"kind": 2 if is_code else 1, "document": uri})
            language = "python" if is_code else "markdown"
            items.append({"uri": uri, "languageId": language, "version": 1, "text": buffer.text})
        notebook = {
            "uri": self.path.as_uri(),
            "notebookType": "jupyter-notebook",
            "version": 1,
            "metadata": {"x": 1},
            "cells": kinds,
        }
        self._send("didOpen", {"notebookDocument": notebook, "cellTextDocuments": items})

    def type_text(self, number: int, text: str) -> None:
        """Replace the text of a cell, as the user would."""
        buffer = self.cells[number]
        self._editor.desk.replace(buffer, [Span(0, len(buffer.text), text)])

    def remove(self, number: int) -> None:
        """Delete a cell, as the user would, without saving."""
        uri = self.cells.pop(number).uri
        array = {"start": number, "deleteCount": 1}
        self._change({"structure": {"array": array, "didClose": [{"uri": uri}]}})

    def run(self, number: int) -> None:
        """Run a cell, as the user would: only its outputs change."""
        cell = {
            "kind": 2,
            "document": self.cells[number].uri,
            "executionSummary": {"executionOrder": 7, "success": True},
        }
        self._change({"data": [cell]})

    def save(self) -> None:
        """Save the notebook; the test has written the file."""
        self._send("didSave", {"notebookDocument": {"uri": self.path.as_uri()}})

    def close(self) -> None:
        """Close the notebook."""
        documents = [{"uri": one.uri} for one in self.cells]
        closed = {"uri": self.path.as_uri()}
        self._send("didClose", {"notebookDocument": closed, "cellTextDocuments": documents})

    def _translated(self, method: str, params: Any) -> None:
        if method != types.TEXT_DOCUMENT_DID_CHANGE:
            self._tell(method, params)
            return
        plain = plain_converter().unstructure(params)
        text = {"document": plain["textDocument"], "changes": plain["contentChanges"]}
        self._change({"textContent": [text]})

    def _change(self, cells: object) -> None:
        self._version += 1
        identifier = {"uri": self.path.as_uri(), "version": self._version}
        self._send("didChange", {"notebookDocument": identifier, "change": {"cells": cells}})

    def _send(self, name: str, params: object) -> None:
        method = f"notebookDocument/{name}"
        typed = plain_converter().structure(params, _PARAMS[name])
        self._editor.client.protocol.notify(method, typed)


def write_notebook(path: Path, *sources: tuple[str, str]) -> None:
    cells = [
        {
            "cell_type": kind,
            "id": f"id{number}",
            "metadata": {},
            **({"execution_count": 1, "outputs": ["OUT"]} if kind == "code" else {}),
            "source": text.splitlines(keepends=True),
        }
        for number, (kind, text) in enumerate(sources)
    ]
    whole = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    path.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path)
    write_notebook(made.workspace / "sales.ipynb", *SOURCES)
    return made


async def test_unsaved_cells_count_and_an_edit_goes_to_its_cell(home: Home) -> None:
    playlist = Playlist()
    async with (
        LoopbackEndpoint(playlist) as endpoint,
        editing(home, endpoint.base_url, profile=NOTEBOOKS) as editor,
    ):
        notebook = OpenNotebook(home, editor)
        on_disk = notebook.path.read_bytes()
        notebook.type_text(1, "total = 1 + 1\nshow()")
        notebook.run(1)
        playlist.play(READ, edit("1 + 1", "2"), edit("print(total)", "print(total, 'ü')"), say("."))
        finished = await editor.ask("go")
        assert finished.ending == "done"
        read, first, second = results(endpoint.seen[-1])
        assert "4\ttotal = 1 + 1\n5\tshow()\n6\t# %% [code]\n" in read
        assert "this is the editor's text, which is not saved yet" in read
        assert "-total = 1 + 1\n+total = 2" in first
        assert "+print(total, 'ü')" in second
        texts = [one.text for one in notebook.cells]
        assert texts == ["# Sales", "total = 2\nshow()", "print(total, 'ü')"]
        assert notebook.path.read_bytes() == on_disk, "saving is the user's"
        assert (await editor.execute("indwell.reject", {"all": True, "wait": True}))["hunks"]
        texts = [one.text for one in notebook.cells]
        assert texts == ["# Sales", "total = 1 + 1\nshow()", "print(total)"]


async def test_the_base_document_of_a_changed_notebook_is_json_like_its_file(home: Home) -> None:
    playlist = Playlist()
    path = home.workspace / "sales.ipynb"
    before = path.read_bytes()
    async with (
        LoopbackEndpoint(playlist) as endpoint,
        editing(home, endpoint.base_url, profile=TEXTS) as editor,
    ):
        playlist.play(READ, edit("total = 1", "total = 2"), say("."))
        assert (await editor.ask("go")).ending == "done"
        assert path.read_bytes() != before
        params = types.TextDocumentContentParams(uri=f"indwell-base:{path}")
        shown = await editor.client.workspace_text_document_content_async(params)
        assert shown.text == before.decode()


async def test_cells_are_added_on_disk_only_where_nothing_is_unsaved(home: Home) -> None:
    playlist = Playlist()
    added = "print(total)\n# %% [code]\nmore = 1"
    async with (
        LoopbackEndpoint(playlist) as endpoint,
        editing(home, endpoint.base_url, profile=NOTEBOOKS) as editor,
    ):
        notebook = OpenNotebook(home, editor)
        notebook.type_text(0, "# Sold")
        playlist.play(READ, edit("print(total)", added), say("."))
        await editor.ask("go")
        assert "is open with unsaved changes" in results(endpoint.seen[-1])[-1]
        write_notebook(notebook.path, ("markdown", "# Sold"), *SOURCES[1:])
        notebook.save()
        playlist.play(READ, edit("print(total)", added), say("."))
        await editor.ask("go")
        cells = json.loads(notebook.path.read_bytes())["cells"]
        assert [one["source"] for one in cells][2:] == [["print(total)"], ["more = 1"]]
        assert cells[2]["outputs"] == ["OUT"]


async def test_removed_cells_disappear_and_a_closed_notebook_has_the_text_on_disk(
    home: Home,
) -> None:
    playlist = Playlist()
    async with (
        LoopbackEndpoint(playlist) as endpoint,
        editing(home, endpoint.base_url, profile=NOTEBOOKS) as editor,
    ):
        notebook = OpenNotebook(home, editor)
        notebook.remove(0)
        playlist.play(READ, say("."))
        await editor.ask("go")
        assert results(endpoint.seen[-1])[-1].startswith("1\t# %% [code]\n2\ttotal = 1\n")
        notebook.close()
        playlist.play(READ, say("."))
        await editor.ask("go")
        assert results(endpoint.seen[-1])[-1].startswith("1\t# %% [markdown]\n2\t# Sales\n")


async def test_a_notebook_that_is_open_as_json_is_edited_as_cells(home: Home) -> None:
    """The editor does not support notebooks."""
    playlist = Playlist()
    path = home.workspace / "sales.ipynb"
    async with (
        LoopbackEndpoint(playlist) as endpoint,
        editing(home, endpoint.base_url) as editor,
    ):
        buffer = editor.open(path, "json")
        at = buffer.text.index("# Sales") + 2
        editor.type_text(buffer, at, at, "My ")
        playlist.play(READ, edit("total = 1", "total = 2"), say("."))
        assert (await editor.ask("go")).ending == "done"
        read, edited = results(endpoint.seen[-1])
        assert "2\t# My Sales\n" in read
        assert "-total = 1\n+total = 2" in edited
        assert buffer.text == path.read_text(encoding="utf-8").replace(
            "# Sales", "# My Sales"
        ).replace('"total = 1"', '"total = 2"')
