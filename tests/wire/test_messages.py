"""Messages with valid frames and other faults each get an answer, and the server continues."""

from __future__ import annotations

import json
from typing import Any

import pytest

from support.raw_client import RawClient
from support.raw_wire import error_of, frame

pytestmark = pytest.mark.asyncio(loop_scope="module")

PARSE, INVALID, NOT_FOUND, PARAMS = -32700, -32600, -32601, -32602
PLACE = {"line": 0, "character": 0}
RANGE = {"start": PLACE, "end": PLACE}
DOCUMENT = {"uri": "untitled:nothing"}


async def answered(client: RawClient, *bodies: object) -> list[tuple[object, int | None]]:
    """Send bodies; return the ids and error codes of the answers before the next request's."""
    before = len(client.messages)
    for body in bodies:
        client.write(frame(body))
    await client.heard()
    news = client.messages[before:-1]
    return [error_of(one) for one in news if "method" not in one]


def request(id_: object = 1, method: object = "no/such", **more: object) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "method": method, **more}


NO_JSON = {
    "nothing at all": b"",
    "blanks": b"   ",
    "half an object": b'{"jsonrpc":"2.0","id":1',
    "two objects": b'{"jsonrpc":"2.0"}{"jsonrpc":"2.0"}',
    "no UTF-8": b'{"jsonrpc":"2.0","id":1,"method":"\xff\xfe"}',
    "Python's own words": b'{"jsonrpc":"2.0","id":1,"method":"x","params":[NaN, None]}',
    "a lone word": b"hello",
    "zero bytes": b"\0" * 100,
    "arrays in arrays": b"[" * 100_000,
    "closed arrays in arrays": b"[" * 100_000 + b"]" * 100_000,
    "objects in objects": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "a bomb inside params": b'{"jsonrpc":"2.0","id":1,"method":"x","params":'
    + b"[" * 100_000
    + b"]" * 100_000
    + b"}",
}


@pytest.mark.parametrize("body", NO_JSON.values(), ids=NO_JSON)
async def test_lsp_01_invalid_json_is_a_parse_error_without_an_id(shared, body) -> None:
    assert await answered(shared, body) == [(None, PARSE)]


async def test_lsp_02_a_request_without_jsonrpc_is_invalid_and_answered_with_its_id(shared) -> None:
    bad = [{"id": 7, "method": "shutdown"}, {"id": "seven", "method": "shutdown", "jsonrpc": "1.0"}]
    bad += [{"id": 8, "method": "shutdown", "jsonrpc": 2.0}]
    assert await answered(shared, *bad) == [(7, INVALID), ("seven", INVALID), (8, INVALID)]


INVALID_REQUESTS = {
    "the method is a number": (request(1, 5), 1),
    "the method is null": (request("a", None), "a"),
    "the method is a list": (request(2, ["shutdown"]), 2),
    "no method, no result": ({"jsonrpc": "2.0", "id": 3}, 3),
    "no method, no id": ({"jsonrpc": "2.0"}, None),
    "an empty object": ({}, None),
    "the id is null": (request(None), None),
    "the id is a fraction": (request(1.5), None),
    "the id is a list": (request([1]), None),
    "the id is an object": (request({"a": 1}), None),
    "the id is true": (request(id_=True), None),
    "a number": (5, None),
    "a string": ("hello", None),
    "null": (b"null", None),
    "params is a number": (request(4, "no/such", params=5), 4),
    "params is a string": (request(5, "no/such", params="x"), 5),
}


@pytest.mark.parametrize(("body", "id_"), INVALID_REQUESTS.values(), ids=INVALID_REQUESTS)
async def test_lsp_02_and_18_a_malformed_request_is_invalid(shared, body, id_) -> None:
    assert await answered(shared, body) == [(id_, INVALID)]


BAD_PARAMS = {
    "no params": ("textDocument/codeAction", None, "params"),
    "a list": ("textDocument/codeAction", [], "params"),
    "a field is missing": (
        "textDocument/codeAction",
        {"range": RANGE, "context": {"diagnostics": []}},
        "textDocument",
    ),
    "a field has another type": (
        "textDocument/codeAction",
        {"textDocument": DOCUMENT, "range": "all", "context": {"diagnostics": []}},
        "range",
    ),
    "deep inside": (
        "textDocument/codeAction",
        {
            "textDocument": DOCUMENT,
            "range": {"start": PLACE, "end": {"line": "zero", "character": 0}},
            "context": {"diagnostics": []},
        },
        "line",
    ),
    "no command": ("workspace/executeCommand", {"arguments": []}, "command"),
    "the command is a number": ("workspace/executeCommand", {"command": 5}, "command"),
    "ours without text": ("indwell/prompt", {}, "text"),
    "ours with another type": ("indwell/prompt", {"text": ["a"]}, "text"),
}


@pytest.mark.parametrize(("method", "params", "field"), BAD_PARAMS.values(), ids=BAD_PARAMS)
async def test_lsp_02_bad_params_of_a_known_method_name_the_field(
    shared, method, params, field
) -> None:
    answer = await shared.request(method, params)
    assert error_of(answer) == (answer["id"], PARAMS)
    assert field in answer["error"]["message"], answer


async def test_bad_params_of_a_notification_change_nothing_and_are_not_answered(shared) -> None:
    methods = ["textDocument/didOpen", "textDocument/didChange", "textDocument/didClose"]
    methods += ["indwell/didFocus", "indwell/didChangeSelection", "$/cancelRequest", "$/setTrace"]
    bodies = [
        {"jsonrpc": "2.0", "method": method, "params": params}
        for method in methods
        for params in ({}, [], {"textDocument": 5}, {"uri": ["x"]}, None)
    ]
    assert await answered(shared, *bodies) == []


async def test_invalid_utf_8_in_params_does_not_change_how_the_envelope_is_read(shared) -> None:
    """The envelope is parsed first, and names the faulty request; the handler parses the params."""
    told = b'{"jsonrpc":"2.0","method":"%b","params":{"id":"\xff","textDocument":{"uri":"\xed"}}}'
    methods = [b"$/cancelRequest", b"textDocument/didOpen", b"textDocument/didChange"]
    methods += [b"textDocument/didClose", b"indwell/didFocus", b"no/such"]
    assert await answered(shared, *(told % (method,) for method in methods)) == []
    asked = b'{"jsonrpc":"2.0","id":"a","method":"%b","params":{"command":"\xff","text":"\xff"}}'
    known = [b"workspace/executeCommand", b"indwell/prompt"]
    assert await answered(shared, *(asked % (one,) for one in known)) == [("a", PARAMS)] * 2


async def test_lsp_12_unknown_requests_are_refused_and_unknown_notifications_ignored(
    shared,
) -> None:
    bodies = [
        request(1, "no/such"),
        {"jsonrpc": "2.0", "method": "no/such"},
        request(2, "$/noSuch"),
        {"jsonrpc": "2.0", "method": "$/noSuch", "params": {"a": 1}},
        request(3, ""),
        request(4, "x" * 10_000),
        request(5, "textDocument/codeAction "),
    ]
    assert await answered(shared, *bodies) == [(id_, NOT_FOUND) for id_ in (1, 2, 3, 4, 5)]


@pytest.mark.parametrize(
    "id_", ["", "a", "ünï 🐍", "x" * 10_000, 0, -1, 2**31, 2**53, 2**63, -(2**63)]
)
async def test_lsp_18_any_string_and_any_whole_number_is_a_valid_id(shared, id_) -> None:
    assert await answered(shared, request(id_)) == [(id_, NOT_FOUND)]


async def test_an_id_may_be_used_again_after_its_request_was_answered(shared) -> None:
    assert await answered(shared, request(1), request(1)) == [(1, NOT_FOUND)] * 2


async def test_the_number_one_and_the_string_one_are_different_ids(shared) -> None:
    assert await answered(shared, request(1), request("1")) == [(1, NOT_FOUND), ("1", NOT_FOUND)]


async def test_lsp_19_responses_without_a_waiting_request_are_ignored(shared) -> None:
    strays = [
        {"jsonrpc": "2.0", "id": id_, **kind}
        for id_ in (1, "never-asked", 10**30, None)
        for kind in (
            {"result": None},
            {"result": {"a": 1}},
            {"error": {"code": 1, "message": "x"}},
            {"error": {"code": "x"}},
            {"error": 5},
        )
    ]
    assert await answered(shared, *strays, *strays) == []


@pytest.mark.parametrize("batch", [[], [1], [request(1), request(2)], [[]] * 1000])
async def test_lsp_23_a_batch_is_refused_once(shared, batch) -> None:
    assert await answered(shared, batch) == [(None, INVALID)]


async def test_names_of_envelope_fields_inside_arguments_are_data(shared) -> None:
    inner = {"jsonrpc": "1.0", "id": [1], "method": 5, "error": {"code": 1}, "result": None}
    arguments = [{"text": "", "range": None, **inner}]
    params = {"command": "indwell.noSuch", "arguments": arguments, **inner}
    ((id_, code),) = await answered(
        shared,
        request(1, "workspace/executeCommand", params={**params, "command": "indwell.cancel"}),
    )
    assert (id_, code) in {(1, None), (1, PARAMS)}
    assert await answered(shared, request(2, "no/such", params=params)) == [(2, NOT_FOUND)]


async def test_a_repeated_key_in_a_message_is_harmless(shared) -> None:
    body = b'{"jsonrpc":"2.0","id":1,"id":2,"method":"a","method":"no/such"}'
    ((id_, code),) = await answered(shared, body)
    assert (id_ in {1, 2}, code in {NOT_FOUND, INVALID}) == (True, True)


async def test_an_unknown_field_of_the_envelope_is_ignored(shared) -> None:
    assert await answered(shared, request(1, more=[1, {"x": 2}])) == [(1, NOT_FOUND)]


async def test_lone_surrogates_and_every_odd_character_return_as_json(shared) -> None:
    for text in ("\ud800", "\udfff\ud800", "\0", "\u2028\u2029", "\U0010ffff", "\x7f"):
        body = json.dumps(request("x", text)).encode()
        assert await answered(shared, body) == [("x", NOT_FOUND)]


async def test_a_thousand_requests_at_once_are_each_answered_once(shared) -> None:
    bodies = [request(number) for number in range(1_000)]
    assert sorted(await answered(shared, *bodies)) == [(n, NOT_FOUND) for n in range(1_000)]
