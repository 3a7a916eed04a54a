from __future__ import annotations

import time

import msgspec
import pytest

from indwell.providers.catalogue import (
    BY_NAME,
    CATALOGUE,
    LOCAL,
    KnownModel,
    row_of,
    title_of,
)
from indwell.providers.discovery import find_servers, local_rows
from indwell.providers.endpoint import LocalServer
from indwell.providers.offered_models import OfferedModel
from support.loopback_endpoint import HANG, Answer, LoopbackEndpoint, raw
from support.model_server import answering, listed

SHOW = {"model_info": {"q.context_length": 40_960}, "capabilities": ["tools"]}


def at(name: str, base_url: str) -> KnownModel:
    return msgspec.structs.replace(BY_NAME[name], base_url=base_url)


async def found(script, name: str = "vllm", **environment: str) -> tuple[str, tuple]:
    async with LoopbackEndpoint(script, gets=True) as endpoint:
        servers = await find_servers([at(name, endpoint.base_url)], environment=environment)
        return endpoint.base_url, servers


async def test_a_running_server_is_found_with_its_models() -> None:
    url, servers = await found(answering(listed("q", owned_by="vllm", max_model_len=32_768)))
    assert servers == (LocalServer("vllm", "vLLM", url, (OfferedModel("q", 32_768),)),)
    assert servers[0].is_ready


async def test_a_program_that_lists_no_models_is_not_offered() -> None:
    for script in ([raw(200, "<html>hello")], [raw(200, '{"data": 1}')], [raw(404, "no")]):
        assert (await found(script))[1] == ()


async def test_a_server_without_a_model_is_listed_with_a_start_command() -> None:
    url, servers = await found(answering({"object": "list", "data": None}), "ollama")
    warning = "Ollama runs, but has no model; ollama pull qwen3-coder"
    assert servers == (LocalServer("ollama", "Ollama", url, warning=warning),)
    assert not servers[0].is_ready


async def test_a_server_that_needs_a_key_is_found_but_not_ready() -> None:
    url, servers = await found(answering(listed("q"), key="k"))
    assert servers == (LocalServer("vllm", "vLLM", url, needs_key=True),)


CONTEXTS = [
    ({}, {"models": []}, "", "Ollama gives a model 4,096 tokens of context unless told otherwise"),
    ({}, {"models": [{"name": "q", "context_length": 8_192}]}, "", "Ollama runs 'q' with 8,192"),
    ({}, {"models": [{"name": "q", "context_length": 65_536}]}, "", ""),
    ({}, {"models": []}, "8192", "OLLAMA_CONTEXT_LENGTH is 8,192"),
    ({}, {"models": []}, "65536", ""),
    ({"parameters": "num_ctx 2048"}, {"models": []}, "", "'q' sets num_ctx 2,048"),
    ({"parameters": "num_ctx 32768"}, {"models": []}, "", ""),
]


@pytest.mark.parametrize(("show", "running", "variable", "words"), CONTEXTS)
async def test_a_context_of_ollama_that_is_too_small_is_reported(
    show, running, variable, words
) -> None:
    script = answering(
        listed("q", owned_by="library"), more={"/api/show": {**SHOW, **show}, "/api/ps": running}
    )
    environment = {"OLLAMA_CONTEXT_LENGTH": variable} if variable else {}
    _, (server,) = await found(script, "ollama", **environment)
    assert server.warning.startswith(words)
    mend = "OLLAMA_CONTEXT_LENGTH=32768 (or more) in its environment"
    assert server.warning.endswith(mend if words else "")
    assert server.models[0].tools


async def test_a_server_that_hangs_does_not_prevent_finding_other_servers() -> None:
    async with (
        LoopbackEndpoint([Answer((HANG,))], gets=True) as silent,
        LoopbackEndpoint(answering(listed("q"))) as quick,
    ):
        rows = [at("lmstudio", silent.base_url), at("vllm", quick.base_url)]
        began = time.monotonic()
        servers = await find_servers(rows, timeout_s=0.3)
        assert [server.name for server in servers] == ["vllm"]
        assert time.monotonic() - began < 60


async def test_facts_that_a_slow_server_sent_in_time_are_used() -> None:
    listing = listed("q", owned_by="library")

    def script(seen):
        return Answer((HANG,)) if seen.path == "/api/show" else answering(listing)(seen)

    async with LoopbackEndpoint(script, gets=True) as endpoint:
        (server,) = await find_servers([at("ollama", endpoint.base_url)], timeout_s=0.3)
    assert server.models == (OfferedModel("q"),)


def test_each_catalogue_row_has_a_unique_name_and_a_key_page_if_it_needs_a_key() -> None:
    assert len({row.name for row in CATALOGUE}) == len({row.base_url for row in CATALOGUE}) == 13
    for row in CATALOGUE:
        assert bool(row.key_page) == row.needs_key, row
        assert row.base_url.startswith("https://" if row.needs_key else "http://127.0.0.1:"), row
        assert row.port is None or f":{row.port}/" in row.base_url, row
        assert row_of(row.base_url) == row


def test_an_address_is_called_by_its_title_or_its_host() -> None:
    names = [
        "https://api.openai.com/v1",
        "http://localhost:11434/v1",
        "http://u:p@10.0.0.7:8000/v1",
    ]
    assert [title_of(name) for name in names] == ["OpenAI", "Ollama", "10.0.0.7:8000"]


@pytest.mark.parametrize(
    ("host", "port"),
    [
        ("", 11434),
        ("127.0.0.1:9000", 9000),
        ("0.0.0.0:9000", 9000),
        (":9000", 9000),
        ("http://localhost:9000/", 9000),
        ("localhost", 11434),
        ("10.0.0.7:9000", 11434),  # no request is sent to another machine
        ("http://evil.example:9000", 11434),
        ("127.0.0.1:port", 11434),
    ],
)
def test_ollama_is_searched_at_the_local_address_in_ollama_host(host, port) -> None:
    (row,) = [row for row in local_rows({"OLLAMA_HOST": host}) if row.name == "ollama"]
    assert row.base_url == f"http://127.0.0.1:{port}/v1"


def test_llama_cpp_is_searched_on_the_current_and_the_former_port() -> None:
    places = {row.base_url: row_of(row.base_url) for row in LOCAL if row.name == "llamacpp"}
    assert sorted(places) == ["http://127.0.0.1:8080/v1", "http://127.0.0.1:9931/v1"]
    assert {row.name for row in places.values() if row is not None} == {"llamacpp"}
