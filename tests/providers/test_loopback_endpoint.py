from __future__ import annotations

import http.client
import json

from support.loopback_endpoint import LoopbackEndpoint, endpoint_in_thread, refuse, say


def post(endpoint: LoopbackEndpoint, body: object) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", _port(endpoint), timeout=5)
    try:
        connection.request("POST", "/v1/chat/completions", json.dumps(body))
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


def test_a_test_without_an_event_loop_can_use_the_loopback_endpoint() -> None:
    with endpoint_in_thread(
        [say("hi", usage={"prompt_tokens": 1}), refuse(429, "slow")]
    ) as endpoint:
        first, second, third = (post(endpoint, {"n": number}) for number in range(3))
    events = [line.removeprefix("data: ") for line in first[1].split("\n\n")[:-1]]
    assert [json.loads(event)["choices"] for event in events[:2]] == [
        [{"index": 0, "delta": {"content": "hi"}, "finish_reason": None}],
        [{"index": 0, "delta": {}, "finish_reason": "stop"}],
    ]
    assert json.loads(events[2])["usage"] == {"prompt_tokens": 1}
    assert events[3] == "[DONE]"
    assert (second[0], json.loads(second[1])["error"]["message"]) == (429, "slow")
    assert (third[0], "the script has no answer for request 3" in third[1]) == (400, True)
    assert [seen.body for seen in endpoint.seen] == [{"n": 0}, {"n": 1}, {"n": 2}]


def _port(endpoint: LoopbackEndpoint) -> int:
    return int(endpoint.base_url.rpartition(":")[2].removesuffix("/v1"))
