"""Lists of models over a real connection."""

from __future__ import annotations

import asyncio
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indwell.errors import BadReply, NotAuthorised, ProviderError, RequestRejected, Unreachable
from indwell.providers.discovery import AT_ONCE
from indwell.providers.fetch import MOST_VALUES, decoded
from indwell.providers.listing import list_models
from indwell.providers.offered_models import MAX_MODELS, TRAINED, OfferedModel
from support.loopback_endpoint import HANG, Answer, LoopbackEndpoint, Seen, raw, refuse
from support.model_server import answering, listed, page, with_gets

KEY = "sk-canary-7e2"


async def offered(script, *, key=None, timeout_s=5.0):
    async with LoopbackEndpoint(script, gets=True) as endpoint:
        return await list_models(endpoint.base_url, key, timeout_s=timeout_s), endpoint.seen


async def test_the_model_list_is_requested_with_the_key_and_sorted() -> None:
    models, seen = await offered(answering(listed("b", "A", "c"), key=KEY), key=KEY)
    assert models == (OfferedModel("A"), OfferedModel("b"), OfferedModel("c"))
    assert [(one.method, one.path, one.headers["authorization"]) for one in seen] == [
        ("GET", "/v1/models", f"Bearer {KEY}")
    ]


async def test_ollama_is_asked_about_each_model() -> None:
    more = {"/api/show": {"model_info": {"x.context_length": 32_768}, "capabilities": ["tools"]}}
    models, seen = await offered(answering(listed("a", "b", owned_by="library"), more=more))
    assert models == tuple(OfferedModel(name, 32_768, tools=True, source=TRAINED) for name in "ab")
    asked = [(one.path, json.loads(one.raw)) for one in seen[1:]]
    assert sorted(asked, key=str) == [("/api/show", {"model": name}) for name in "ab"]


async def test_a_server_without_model_facts_delays_the_list_only_once() -> None:
    told = {"model_info": {"x.context_length": 32_768}}

    def script(seen: Seen) -> Answer:
        if seen.path == "/v1/models":
            return page(listed(*(f"m{number:02}" for number in range(40)), owned_by="library"))
        return page(told) if json.loads(seen.raw) == {"model": "m00"} else Answer((HANG,))

    models, seen = await offered(with_gets(script), timeout_s=0.5)
    assert models[0] == OfferedModel("m00", 32_768, source=TRAINED)
    assert models[1:] == tuple(OfferedModel(f"m{number:02}") for number in range(1, 40))
    # The first requests run at once, and one further request follows the first answer.
    assert len(seen) == 1 + AT_ONCE + 1


async def test_lm_studio_and_llama_cpp_report_more_on_other_pages() -> None:
    more = {"/api/v0/models": listed("a", max_context_length=65_536, capabilities=["tool_use"])}
    models, _ = await offered(answering(listed("a", owned_by="organization_owner"), more=more))
    assert models == (OfferedModel("a", 65_536, tools=True),)
    more = {"/props": {"default_generation_settings": {"n_ctx": 4_096}}}
    listing = listed("a", owned_by="llamacpp", meta={"n_ctx_train": 262_144})
    models, _ = await offered(answering(listing, more=more))
    assert models == (OfferedModel("a", 4_096),)


@pytest.mark.parametrize("owner", ["library", "organization_owner", "llamacpp"])
async def test_a_server_without_further_facts_is_still_listed(owner) -> None:
    models, _ = await offered(answering(listed("a", owned_by=owner)))
    assert models == (OfferedModel("a"),)


FAULTS = {
    "no key": (answering(listed("a"), key="other"), NotAuthorised, "the key is not accepted at"),
    "not there": ([refuse(404)], RequestRejected, "has no such page; does it end in /v1?"),
    "a web page": ([raw(200, "<html>")], BadReply, "something that is not JSON; check the address"),
    "no list": ([raw(200, '{"hello": 1}')], BadReply, "did not answer with a list of models"),
    "deep": ([raw(200, "[" * 100_000)], BadReply, "something that is not JSON"),
    "broken off": ([Answer((b'{"da', "cut"))], Unreachable, "broke off"),
    "silent": ([Answer((HANG,))], Unreachable, "did not answer in time"),
    "dripping": ([Answer((b"[", *([0.02, b" "] * 400)))], Unreachable, "did not answer in time"),
    "failing": ([refuse(500, f"oh {KEY}")], ProviderError, "failed with status 500"),
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_each_model_list_error_is_one_sentence_without_the_key(fault) -> None:
    script, kind, words = FAULTS[fault]
    with pytest.raises(kind, match=words) as caught:
        await offered(script, key=KEY, timeout_s=0.3)
    assert KEY not in str(caught.value)


async def test_a_redirect_of_the_model_list_is_not_followed() -> None:
    async with LoopbackEndpoint(lambda _seen: refuse(500)) as thief:
        away = raw(307, headers={"Location": thief.base_url + "/models?key=1"})
        with pytest.raises(RequestRejected, match="redirects to"):
            await offered([away], key=KEY)
        assert thief.seen == []


async def test_the_target_of_a_redirect_is_reported_without_the_key() -> None:
    for place in (f"https://away.example/{KEY}/x?k={KEY}", "https://away.example/sk-canary-7e2%2B"):
        key = KEY if KEY + "/" in place else "sk-canary-7e2+"
        with pytest.raises(RequestRejected, match="redirects to 'https://away.example/") as caught:
            await offered([raw(307, headers={"Location": place})], key=key)
        assert "canary" not in str(caught.value)


async def test_the_first_models_of_a_very_long_list_are_shown() -> None:
    listing = listed(*(f"m{number:05}" for number in range(MAX_MODELS + 500)), note="x" * 100)
    models, _ = await offered(answering(listing))
    assert [model.name for model in models] == [f"m{number:05}" for number in range(MAX_MODELS)]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner),
    )
)
def test_a_model_list_decoded_in_chunks_equals_the_whole_list(content) -> None:
    assert decoded(json.dumps(content).encode()) == content


def test_an_answer_with_too_many_values_is_not_decoded() -> None:
    with pytest.raises(ValueError, match="too many values"):
        decoded(b"[" + b"1," * (MOST_VALUES + 1) + b"1]")


async def test_an_endless_model_list_is_cut_off() -> None:
    endless = Answer((b"[" + b" " * (1 << 20), *([b" " * (1 << 20)] * 9)))
    with pytest.raises(BadReply, match="sent more than 8 MB"):
        await offered([endless])


async def test_an_unreachable_endpoint_is_reported_in_one_sentence() -> None:
    with pytest.raises(Unreachable, match="nothing answers at http://127.0.0.1:9/v1"):
        await list_models("http://127.0.0.1:9/v1", None, timeout_s=2)


async def test_a_server_without_tls_is_reported() -> None:
    async def shout(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(shout, "127.0.0.1", 0) as server:
        address = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        with pytest.raises(
            ProviderError, match=f"{address} does not speak a supported version of TLS"
        ):
            await list_models(address, None, timeout_s=5.0)
