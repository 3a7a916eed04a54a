"""The table of the editors: every "no" and every undeclared feature has its reason."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from editors.clients import CLIENTS
from editors.scenarios import SCENARIOS
from editors.table import notes, read
from tools.shared_data import BESIDE

Profile = Mapping[str, Any]

PROFILES = {
    "Neovim 0.11": "nvim-0.11.4",
    "Neovim 0.7": "nvim-0.7.2",
    "Emacs, eglot": "eglot-1.9",
    "Emacs, lsp-mode": "lsp-mode-8.0.0",
    "Vim, ALE": "ale-3.3.0",
    "Kate": "kate-22.12",
    "VS Code": "vscode-1.139.1",
}
_WINDOW = {"workDoneProgress": True, "showDocument": {"support": True}}
_EDITS = {"applyEdit": True, "workspaceEdit": {"documentChanges": True}}
_TEXT = {"completion": {}, "publishDiagnostics": {}}
LOOKED_UP: Mapping[str, Profile] = {  # profiles from the source code of editors or packages
    "Helix": {"window": _WINDOW, "workspace": _EDITS, "textDocument": _TEXT},
    "Sublime": {
        "window": _WINDOW,
        "workspace": _EDITS,
        "textDocument": {**_TEXT, "codeLens": {}},
    },
    "Zed": {"window": _WINDOW, "workspace": _EDITS, "textDocument": _TEXT},
    "Emacs, indwell.el": {
        "window": _WINDOW,
        "workspace": _EDITS,
        "textDocument": {"publishDiagnostics": {}},
    },
    "ACP": {"textDocument": {}},
    "Terminal": {"textDocument": {}},
}
DECLARED: Mapping[str, Callable[[Profile], bool]] = {
    "progress": lambda it: it.get("window", {}).get("workDoneProgress") is True,
    "code lenses": lambda it: "codeLens" in it["textDocument"],
    "hints": lambda it: "publishDiagnostics" in it["textDocument"],
    "chat opens by itself": lambda it: bool(
        (it.get("window", {}).get("showDocument") or {}).get("support")
    ),
    "completion in chat": lambda it: "completion" in it["textDocument"],
    "streaming while typing": lambda it: bool(
        it.get("workspace", {}).get("workspaceEdit", {}).get("documentChanges")
    ),
    "virtual documents": lambda it: "textDocumentContent" in it.get("workspace", {}),
}


def profile(column: str) -> Profile:
    if column in LOOKED_UP:
        return LOOKED_UP[column]
    folder = Path(os.environ.get("INDWELL_SHARED", BESIDE)) / "client-capabilities"
    path = folder / f"{PROFILES[column]}.json"
    if not path.exists():
        pytest.skip(f"no {path.name} beside the project or under INDWELL_SHARED")
    return json.loads(path.read_text("utf-8"))["capabilities"]


def test_every_unsupported_scenario_has_a_reason_and_every_reason_is_used() -> None:
    cells = [cell for row in read().values() for cell in row.values()]
    assert all(cell.note for cell in cells if not cell.works)
    assert {cell.note for cell in cells if cell.note} == set(notes())


def test_the_table_rows_are_the_scenarios_and_declared_capabilities() -> None:
    assert set(read()) == set(SCENARIOS) | set(DECLARED)


def test_the_table_equals_the_results_of_the_editor_tests() -> None:
    run = {client.column for client in CLIENTS.values()}
    seen = {
        (name, column)
        for name, row in read().items()
        for column, cell in row.items()
        if cell.is_seen
    }
    assert seen == {(name, column) for name in SCENARIOS for column in run}
    assert set(next(iter(read().values()))) == run | {"Kate", "VS Code", *LOOKED_UP}


@pytest.mark.parametrize("row", DECLARED)
def test_each_difference_from_the_declared_capabilities_is_explained(row: str) -> None:
    unexplained = [
        column
        for column, cell in read()[row].items()
        if cell.works != DECLARED[row](profile(column)) and not cell.note
    ]
    assert unexplained == []
