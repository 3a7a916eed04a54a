"""For any bytes from a command, the proxy sends only allowed requests, or nothing."""

from __future__ import annotations

import h11
from hypothesis import given, settings
from hypothesis import strategies as st

from indwell.sandbox.proxy.hosts import HostPort, allowed
from indwell.sandbox.proxy.request_check import (
    RequestRefusal,
    WantedRequest,
    check_request,
    outgoing_request,
)

HOSTS = allowed(["allowed.example", "*.below.example", "10.0.0.9:8080"])
ODD = st.sampled_from(
    ["allowed.example", "a.below.example", "attacker.example", "10.0.0.9:8080", "127.0.0.1", "@",
     ":443", ":80", ":", "/", "\\", "#", "?", "%00", "[::1]", "http://", "https://", ".", "x", "..",
     "0x7f.1", "2130706433", "*"]
)  # fmt: skip
TARGETS = st.lists(ODD, max_size=6).map("".join)


@settings(max_examples=1_000)
@given(method=st.sampled_from(["CONNECT", "GET", "POST", "FOO"]), target=TARGETS, host=TARGETS)
def test_no_request_can_be_parsed_in_two_ways(method: str, target: str, host: str) -> None:
    connection = h11.Connection(h11.SERVER)
    connection.receive_data(f"{method} {target} HTTP/1.1\r\nHost: {host or 'x'}\r\n\r\n".encode())
    try:
        request = connection.next_event()
    except h11.RemoteProtocolError:
        return
    assert isinstance(request, h11.Request)
    wish = check_request(request, HOSTS)
    if isinstance(wish, RequestRefusal):
        return
    name, port = wish.place.host, wish.place.port
    is_below = name.endswith(".below.example")
    assert wish.place == HostPort("10.0.0.9", 8080) or (
        port in {80, 443} and (name == "allowed.example" or is_below)
    )
    if wish.target:
        sent = outgoing_request(request, wish)
        assert [value for header, value in sent.headers if header == b"host"] == [
            (name if port == 80 else f"{name}:{port}").encode()
        ]
        assert sent.target.startswith(b"/")


@given(st.binary(max_size=200))
def test_any_bytes_parse_as_one_request_or_are_refused(data: bytes) -> None:
    connection = h11.Connection(h11.SERVER)
    connection.receive_data(data)
    try:
        event = connection.next_event()
    except h11.RemoteProtocolError:
        return
    if isinstance(event, h11.Request):
        assert isinstance(check_request(event, HOSTS), RequestRefusal | WantedRequest)
