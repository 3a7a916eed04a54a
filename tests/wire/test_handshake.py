"""The answer to ``initialize`` without the protocol's libraries names all registered methods."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from lsprotocol import types
from lsprotocol.converters import get_converter

from indwell.lsp.messages import methods as protocol
from indwell.lsp.messages.features import (
    ACTION_KINDS,
    COMMAND_NAMES,
    FIX_ALL,
    METHOD_NAMES,
    TASK_OFFERS,
)
from indwell.lsp.wire.base_protocol import Framer, framed
from indwell.lsp.wire.handshake import ClientIdentity, Opening

BESIDE = Path(__file__).parents[3] / "shared" / "data"
SHARED = Path(os.environ.get("INDWELL_SHARED", BESIDE))
# without profiles, the test is skipped
PROFILES = sorted((SHARED / "client-capabilities").glob("*.json"))


def opening_with(params: object, id_: object = 1) -> tuple[Opening, dict]:
    opening = Opening(Framer())
    message = {"jsonrpc": "2.0", "id": id_, "method": "initialize", "params": params}
    reply = opening.receive(framed(json.dumps(message).encode()))
    return opening, json.loads(reply.partition(b"\r\n\r\n")[2])


def test_advertised_method_and_command_names_equal_the_protocol_tables() -> None:
    assert (list(METHOD_NAMES), set(COMMAND_NAMES), set(ACTION_KINDS)) == (
        sorted(protocol.METHODS),
        set(protocol.COMMANDS),
        {one.kind for one in (*TASK_OFFERS, FIX_ALL)},
    )


@pytest.mark.parametrize("path", PROFILES, ids=lambda path: path.stem)
def test_every_recorded_editor_gets_a_valid_initialize_answer_in_a_supported_encoding(path) -> None:
    record = json.loads(path.read_text("utf-8"))
    capabilities = record.get("capabilities", record)
    opening, answer = opening_with({"processId": None, "capabilities": capabilities})
    result = get_converter().structure(answer["result"], types.InitializeResult)
    offered = capabilities.get("general", {}).get("positionEncodings") or ["utf-16"]
    assert result.capabilities.position_encoding == offered[0] == opening.opened.encoding


@pytest.mark.parametrize(
    ("general", "encoding"),
    [
        ({}, "utf-16"),
        ({"positionEncodings": ["utf-7", "utf-32"]}, "utf-32"),
        ({"positionEncodings": ["utf-7"]}, "utf-16"),
        ({"positionEncodings": "utf-8"}, "utf-16"),
        (None, "utf-16"),
    ],
)
def test_the_first_encoding_that_editor_and_server_support_is_used(general, encoding) -> None:
    opening, _ = opening_with({"capabilities": {"general": general}})
    assert opening.opened.encoding == encoding


def test_the_initialize_parameters_of_the_editor_are_kept() -> None:
    opening, _ = opening_with(
        {
            "processId": 7,
            "rootUri": "file:///elsewhere",
            "capabilities": {"window": {}},
            "clientInfo": {"name": "Neovim", "version": "0.11"},
            "workspaceFolders": [{"uri": "file:///a", "name": "a"}, {"uri": "file:///a"}],
            "initializationOptions": {"mode": "ask", "token": "not for the settings"},
        }
    )
    assert opening.opened == ClientIdentity(
        process_id=7,
        capabilities={"window": {}},
        encoding="utf-16",
        folder_uris=("file:///a",),
        options={"mode": "ask"},
        client="Neovim",
        client_version="0.11",
    )


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"capabilities": []}, "capabilities"),
        ({"capabilities": {}, "processId": "7"}, "processId"),
        ({"capabilities": {}, "rootUri": 7}, "rootUri"),
        ({"capabilities": {}, "workspaceFolders": [{"name": "x"}]}, "uri"),
        ([], "object"),
    ],
)
def test_wrong_params_name_the_field_and_the_editor_may_try_again(params, field) -> None:
    opening, answer = opening_with(params, "a")
    assert (answer["id"], answer["error"]["code"]) == ("a", -32602)
    assert field in answer["error"]["message"]
    assert (opening.opened, opening.leave) == (None, None)


def test_messages_after_initialize_wait_for_the_open_connection() -> None:
    opening = Opening(Framer())
    first = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{}}}'
    second = b'{"jsonrpc":"2.0","method":"initialized","params":{}}'
    opening.receive(framed(first) + framed(second) + framed(second)[:9])
    assert opening.rest == [second]


def test_only_the_right_token_opens_a_connection_that_needs_a_token() -> None:
    opening = Opening(Framer(), lambda given: given == "right")
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}}
    reply = opening.receive(framed(json.dumps(message).encode()))
    assert b"-32600" in reply
    assert (opening.opened, opening.leave) == (None, 1)
