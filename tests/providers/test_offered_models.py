from __future__ import annotations

import time
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indwell.providers.offered_models import (
    TRAINED,
    OfferedModel,
    num_ctx,
    ollama_facts,
    owners,
    parse_models,
    running_contexts,
)

LISTS = {
    "OpenAI": ({"object": "list", "data": [{"id": "gpt-5-mini", "owned_by": "system"}]},
               OfferedModel("gpt-5-mini")),
    "OpenRouter": ({"data": [{"id": "anthropic/claude-sonnet-4.5", "context_length": 1_000_000,
                              "top_provider": {"max_completion_tokens": 64_000},
                              "pricing": {"prompt": "0.000003", "completion": "0.000015"},
                              "supported_parameters": ["tools", "temperature"]}]},
                   OfferedModel("anthropic/claude-sonnet-4.5", 1_000_000, 64_000, 3.0, 15.0,
                                tools=True)),
    "a router's price of -1": ({"data": [{"id": "openrouter/auto", "pricing": {"prompt": "-1"}}]},
                               OfferedModel("openrouter/auto")),
    "prices that are none": ({"data": [{"id": "m", "pricing": {"prompt": True,
                                                               "completion": 10**400}}]},
                             OfferedModel("m")),
    "a price of a thousand dollars a token": ({"data": [{"id": "m", "pricing":
                                                         {"prompt": "1000", "completion": "nan"}}]},
                                              OfferedModel("m")),
    "Mistral": ({"data": [{"id": "devstral", "max_context_length": 131_072,
                           "capabilities": {"completion_chat": True, "function_calling": True}}]},
                OfferedModel("devstral", 131_072, tools=True)),
    "vLLM": ({"data": [{"id": "Qwen/Qwen3", "owned_by": "vllm", "max_model_len": 40_960}]},
             OfferedModel("Qwen/Qwen3", 40_960)),
    "llama.cpp": ({"models": [{"name": "x"}],
                   "data": [{"id": "q.gguf", "owned_by": "llamacpp",
                             "meta": {"n_ctx_train": 32_768}}]},
                  OfferedModel("q.gguf", 32_768, source=TRAINED)),
    "LM Studio": ({"data": [{"id": "qwen3-coder", "type": "llm", "max_context_length": 262_144,
                             "loaded_context_length": 8_192, "capabilities": ["tool_use"]}]},
                  OfferedModel("qwen3-coder", 8_192, tools=True)),
    "LM Studio, not loaded": ({"data": [{"id": "q", "type": "vlm", "state": "not-loaded",
                                         "max_context_length": 262_144}]},
                              OfferedModel("q", 262_144, source=TRAINED)),
    "Ollama": ({"object": "list", "data": [{"id": "qwen3:8b", "owned_by": "library"}]},
               OfferedModel("qwen3:8b")),
    "a bare list": ([{"id": "m"}], OfferedModel("m")),
}  # fmt: skip


@pytest.mark.parametrize("kind", LISTS)
def test_each_kind_of_model_list_is_read(kind) -> None:
    answer, model = LISTS[kind]
    assert parse_models(answer) == (model,)


def test_models_that_cannot_chat_are_left_out() -> None:
    answer = {
        "data": [
            {"id": "embed", "type": "embeddings"},
            {"id": "ocr", "capabilities": {"completion_chat": False}},
            {"id": "m"},
            {"id": "m"},
            {"id": "\x1b[31mred"},
            {"id": 7},
            {"id": "a kind that is a list", "type": ["embedding"]},
            "text",
        ]
    }
    assert parse_models(answer) == (OfferedModel("m"), OfferedModel("a kind that is a list"))


LONG = 380_000  # entries that fit into 8 MB
PAGES = {
    "a list": (parse_models, [{}] * LONG),
    "loaded models": (running_contexts, {"models": [{"name": "m"}] * LONG}),
    "parameters": (num_ctx, {"parameters": "\n" * (8 << 20)}),
    "facts": (
        partial(ollama_facts, OfferedModel("m")),
        {"model_info": dict.fromkeys(map(str, range(LONG)))},
    ),
}


@pytest.mark.parametrize("kind", PAGES)
def test_a_model_page_of_empty_values_is_read_fast(kind) -> None:
    read, answer = PAGES[kind]
    began = time.thread_time()
    read(answer)
    assert time.thread_time() - began < 0.05


def test_a_server_without_models_gives_an_empty_list_and_any_other_page_gives_none() -> None:
    assert [
        parse_models(answer)
        for answer in ({"object": "list", "data": None}, {"data": []}, {"hello": 1}, "x", 3, None)
    ] == [(), (), None, None, None, None]


def test_ollama_reports_more_facts_about_one_model() -> None:
    shown = {
        "model_info": {"general.architecture": "qwen3", "qwen3.context_length": 40_960},
        "capabilities": ["completion", "tools"],
        "parameters": 'stop "<|im_end|>"\nnum_ctx                        16384\n',
    }
    model = OfferedModel("qwen3:8b")
    assert ollama_facts(model, shown) == OfferedModel("qwen3:8b", 16_384, tools=True)
    assert ollama_facts(model, {**shown, "parameters": ""}) == OfferedModel(
        "qwen3:8b", 40_960, tools=True, source=TRAINED
    )
    assert (num_ctx(shown), num_ctx({}), num_ctx({"parameters": "num_ctx many"})) == (
        16_384, None, None,
    )  # fmt: skip
    running = {"models": [{"name": "qwen3:8b", "context_length": 4_096}, {"name": "old"}]}
    assert running_contexts(running) == {"qwen3:8b": 4_096}


def test_servers_are_distinguished_by_the_owners_of_their_models() -> None:
    assert owners({"data": [{"id": "a", "owned_by": "library"}, "x"]}) == {"library"}
    assert owners([1]) == frozenset()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(["data", "models", "id", "meta", "pricing", "prompt", "n_ctx", "type",
                         "capabilities", "supported_parameters", "model_info", "parameters"]),
        inner, max_size=4,
    ),
    max_leaves=20,
)  # fmt: skip


@given(JSON)
def test_parsing_a_model_list_never_raises(answer) -> None:
    for model in parse_models(answer) or ():
        assert model.name.isprintable()
        ollama_facts(model, answer)
    owners(answer)
    running_contexts(answer)
