"""The fake editor declares the same capabilities as the recorded clients, and acts like them."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from lsprotocol.converters import get_converter

from indwell.lsp.messages.features import features_of
from support.fake_editor.clients import ALE, CLIENTS, EGLOT, KATE, NEOVIM_07, NEOVIM_11, VSCODE
from support.fake_editor.declared import CAPABILITIES, PARTS
from support.fake_editor.profiles import PLAIN, Profile
from support.room import MENDED, SOURCE, Room, in_no_time

SHARED = Path(os.environ.get("INDWELL_SHARED", Path(__file__).parents[3] / "shared" / "data"))
RECORDED = SHARED / "client-capabilities"
NAMES = [kind.name for kind in CLIENTS]


def part(capabilities: dict[str, Any], name: str) -> Any:
    """Return a capability by its dotted name, or None if it is missing."""
    found: Any = capabilities
    for key in name.split("."):
        found = (found or {}).get(key)
    return found


def in_any_order(value: Any) -> Any:
    """Sort lists of kinds, whose order has no meaning."""
    if isinstance(value, dict):
        return {key: in_any_order(one) for key, one in value.items()}
    if isinstance(value, list) and "refactor" in value:
        return sorted(value)
    return value


@pytest.mark.parametrize("kind", CLIENTS, ids=NAMES)
def test_a_profile_declares_the_recorded_capabilities(kind) -> None:
    path = RECORDED / f"{kind.name}.json"
    if not path.exists():
        pytest.skip("the recordings are not beside the project or under INDWELL_SHARED")
    recorded = json.loads(path.read_text("utf-8"))
    declared = {name: in_any_order(part(kind.capabilities, name)) for name in PARTS}
    assert declared == {name: in_any_order(part(recorded["capabilities"], name)) for name in PARTS}
    info = recorded["clientInfo"]
    assert (info and info["name"]) == (kind.client and kind.client[0])
    assert kind.client is None or info["version"].startswith(kind.client[1])


def test_every_recorded_client_has_a_profile() -> None:
    assert set(NAMES) == set(CAPABILITIES)
    if RECORDED.is_dir():
        assert {path.stem for path in RECORDED.glob("*.json")} == set(NAMES)


@pytest.mark.parametrize("kind", [PLAIN, *CLIENTS], ids=["plain", *NAMES])
def test_a_profiles_capabilities_survive_the_wire(kind) -> None:
    converter = get_converter()
    structured = converter.structure(kind.capabilities, types.ClientCapabilities)
    sent = converter.unstructure(structured)
    assert features_of(sent) == features_of(kind.capabilities)
    assert part(sent, "general.positionEncodings") == (list(kind.encodings) or None)


def test_the_test_profiles_offer_the_position_encodings_of_real_clients() -> None:
    offered = {kind.name: kind.encodings for kind in CLIENTS if kind.encodings}
    assert offered == {"vscode-1.139.1": ("utf-16",), "nvim-0.11.4": ("utf-8", "utf-16", "utf-32")}
    assert NEOVIM_07.encodings == ()
    assert PLAIN.offering().encodings == ()
    assert PLAIN.offering("utf-32").encodings == ("utf-32",)


def edit_of(room: Room, version: int) -> types.ApplyWorkspaceEditParams:
    change = types.TextDocumentEdit(
        text_document=types.OptionalVersionedTextDocumentIdentifier(
            uri=room.buffer.uri, version=version
        ),
        edits=[
            types.TextEdit(
                range=types.Range(
                    start=types.Position(line=1, character=21),
                    end=types.Position(line=1, character=25),
                ),
                new_text="",
            )
        ],
    )
    return types.ApplyWorkspaceEditParams(edit=types.WorkspaceEdit(document_changes=[change]))


@pytest.mark.parametrize(
    ("kind", "answer"),
    [
        (VSCODE, types.ApplyWorkspaceEditResult(applied=False)),
        (NEOVIM_11, types.ApplyWorkspaceEditResult(applied=True)),
        (NEOVIM_07, types.ApplyWorkspaceEditResult(applied=True)),
        (EGLOT, "the edits require another version"),
    ],
    ids=["vscode", "nvim-0.11", "nvim-0.7", "eglot"],
)
@in_no_time
async def test_a_stale_edit_is_refused_in_each_client_s_own_way(tmp_path, kind, answer) -> None:
    room = Room(tmp_path, kind)
    room.type_text(0, "# mine\n")
    try:
        got: Any = await room.editor.apply(edit_of(room, 1), "1")
    except Exception as error:  # noqa: BLE001 - its words are compared
        got = str(error)
    assert got == answer
    assert room.text == "# mine\n" + SOURCE


@pytest.mark.parametrize("kind", CLIENTS, ids=NAMES)
@in_no_time
async def test_an_edit_of_the_right_version_is_one_step_in_every_client(tmp_path, kind) -> None:
    room = Room(tmp_path, kind)
    answer = room.editor.apply(edit_of(room, 1), "1")
    while room.text == SOURCE:
        await asyncio.wait({answer}, timeout=1)
    assert (room.text, room.buffer.undo, room.buffer.version) == (MENDED, [SOURCE], 2)
    assert answer.done() is (kind is not ALE)


def test_kate_and_ale_apply_edits_without_declaring_support() -> None:
    assert "workspace" not in KATE.capabilities
    assert ALE.capabilities["workspace"]["applyEdit"] is False
    assert (KATE.behaviour.takes, ALE.behaviour.takes) == (True, True)


def test_an_editor_profile_is_plain_data() -> None:
    quiet = VSCODE.behaving(answer="never")
    assert (quiet.name, quiet.behaviour.answer) == (VSCODE.name, "never")
    assert isinstance(quiet, Profile)
    assert VSCODE.behaviour.answer == "result"
