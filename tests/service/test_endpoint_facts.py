"""An endpoint's facts about a model that is on no list: window, prices, abilities."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

import pytest

from indwell.messages import Usage
from indwell.providers.fetch import SMALL_B
from indwell.service.endpoint.model_list import ask_for_facts, facts_of
from indwell.settings.credentials import Secret
from indwell.settings.model import Settings
from indwell.wiring.model import make_model
from support.loopback_endpoint import HANG, Answer, Seen, endpoint_in_thread, raw, refuse
from support.model_server import answering, listed, page, with_gets
from support.platforms import posix_only

A_MILLION = Usage(input=1_000_000, output=1_000_000)
INFO = {
    "max_input_tokens": 200_000,
    "max_output_tokens": 4_096,
    "input_cost_per_token": 3e-06,
    "output_cost_per_token": 1.5e-05,
    "cache_read_input_token_cost": 3e-07,
    "cache_creation_input_token_cost": 3.75e-06,
    "cache_creation_input_token_cost_above_1hr": 6e-06,
    "supports_vision": True,
    "supports_reasoning": None,
}
TIERED = {
    **INFO,
    "input_cost_per_token_above_200k_tokens": 6e-06,
    "output_cost_per_token_above_200k_tokens": 2.25e-05,
}


@pytest.fixture(autouse=True)
def kept_file(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("INDWELL_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("WIN_PD_OVERRIDE_LOCAL_APPDATA", str(tmp_path / "config"))
    return tmp_path / "state" / "models.json"


def deployments(*infos: dict[str, object], name: str = "house-model") -> dict[str, object]:
    """Return LiteLLM's answer about deployments with one name."""
    return {"data": [{"model_name": name, "model_info": info} for info in infos]}


def test_litellm_reports_window_limit_prices_and_abilities() -> None:
    more = {"/v1/model/info": deployments(TIERED)}
    with endpoint_in_thread(answering(listed("house-model"), more=more, key="k")) as gateway:
        settings = Settings(model="house-model", base_url=gateway.base_url, api_key=Secret("k"))
        model = make_model(settings)
    assert (model.window, model.max_output, model.pictures) == (200_000, 4_096, True)
    assert model.notice == ""
    assert model.cost(Usage(input=100_000, output=1_000)) == pytest.approx(0.315)
    assert model.cost(Usage(input=100_000, cached=100_000)) == pytest.approx(0.03)
    assert model.cost(Usage(input=100_000, cache_write=100_000)) == pytest.approx(0.375)
    hour = Usage(input=100_000, cache_write=100_000, cache_hour=100_000)
    assert model.cost(hour) == pytest.approx(0.6)
    assert model.cost(Usage(input=300_000)) == pytest.approx(1.8)  # long prompts cost more


def test_the_smallest_window_and_highest_price_of_several_deployments_count() -> None:
    other = {**INFO, "max_input_tokens": 90_000, "input_cost_per_token": 1e-06}
    more = {"/v1/model/info": deployments(INFO, other, {"max_input_tokens": None})}
    with endpoint_in_thread(answering(listed("house-model"), more=more)) as gateway:
        model = make_model(Settings(model="house-model", base_url=gateway.base_url))
    assert model.window == 90_000
    assert model.cost(A_MILLION) == pytest.approx(18)


def test_a_zero_price_at_litellm_counts_as_unknown() -> None:
    free = {**INFO, "input_cost_per_token": 0.0, "output_cost_per_token": 0}
    more = {"/v1/model/info": deployments(free)}
    with endpoint_in_thread(answering(listed("house-model"), more=more)) as gateway:
        model = make_model(Settings(model="house-model", base_url=gateway.base_url))
    assert (model.window, model.cost(A_MILLION)) == (200_000, None)


LOCAL = {
    "vLLM": (listed("m", owned_by="vllm", max_model_len=40_960), {}, 40_960),
    "llama.cpp": (
        listed("m", owned_by="llamacpp", meta={"n_ctx_train": 262_144}),
        {"/props": {"default_generation_settings": {"n_ctx": 49_152}}},
        49_152,
    ),
    "Ollama, with a window in the model file": (
        listed("m", owned_by="library"),
        {"/api/show": {"parameters": "num_ctx 65536", "model_info": {"x.context_length": 262_144}}},
        65_536,
    ),
    "Ollama, which runs the model": (
        listed("m", owned_by="library"),
        {
            "/api/show": {"model_info": {"x.context_length": 262_144}},
            "/api/ps": {"models": [{"name": "m:latest", "context_length": 16_384}]},
        },
        16_384,
    ),
    "LM Studio": (
        listed("m", owned_by="organization_owner"),
        {"/api/v0/models": listed("m", state="loaded", loaded_context_length=20_480)},
        20_480,
    ),
}


SENSELESS = {"truth": True, "huge": 10**30, "negative": -5, "text": "8192", "fraction": 2.5}


@pytest.mark.parametrize("kind", SENSELESS)
def test_an_invalid_window_from_one_endpoint_does_not_affect_other_facts(kept_file, kind) -> None:
    with endpoint_in_thread(through_proxy(listed("m", max_model_len=40_960))) as gateway:
        ask_for_facts([gateway_at(f"sane-{kind}.example", gateway.base_url, "m")])
    more = {"/props": {"default_generation_settings": {"n_ctx": SENSELESS[kind]}}}
    with endpoint_in_thread(through_proxy(listed("q", owned_by="llamacpp"), more)) as gateway:
        odd = gateway_at(f"odd-{kind}.example", gateway.base_url, "q")
        ask_for_facts([odd])
    assert (facts_of(odd).window, facts_of(odd).known) == (32_000, False)
    kept = json.loads(kept_file.read_text(encoding="utf-8"))["models"].values()
    assert [one["model"]["window"] for one in kept] == [40_960, None]


@pytest.mark.parametrize("kind", LOCAL)
def test_a_local_server_reports_its_actual_window(kind) -> None:
    models, more, window = LOCAL[kind]
    with endpoint_in_thread(answering(models, more=more)) as server:
        model = make_model(Settings(model="m", base_url=server.base_url))
    assert (model.window, "window" in model.notice) == (window, False)


@pytest.mark.parametrize(("trained", "window"), [(262_144, 32_000), (8_192, 8_192)])
def test_the_training_window_of_a_model_is_only_an_upper_limit(trained, window) -> None:
    more = {"/api/show": {"model_info": {"x.context_length": trained}}}
    with endpoint_in_thread(answering(listed("m", owned_by="library"), more=more)) as server:
        model = make_model(Settings(model="m", base_url=server.base_url))
    assert model.window == window
    assert f"{window:,} tokens are assumed" in model.notice


def test_facts_from_the_endpoint_take_precedence_over_a_guess_by_the_name() -> None:
    name = "anthropic/claude-sonnet-4-5"
    with endpoint_in_thread(through_proxy(listed(name, max_model_len=50_000))) as gateway:
        there = gateway_at("guesses.example", gateway.base_url, name)
        guess = facts_of(there)
        ask_for_facts([there])
        facts = facts_of(there)
    assert (guess.window, facts.window) == (200_000, 50_000)
    assert facts.prices == guess.prices is not None


def gateway_at(host: str, base_url: str, model: str, **more: object) -> Settings:
    """Return the settings for a gateway, which is reached by the proxy at ``base_url``."""
    proxy = base_url.removesuffix("/v1")
    return Settings(model=model, base_url=f"http://{host}/v1", proxy=proxy, **more)  # type: ignore[arg-type]


def through_proxy(models: object, more: dict[str, object] | None = None):
    """Return a script for requests through a proxy, whose paths are whole addresses."""
    script = answering(models, more=more)

    def answer(seen: Seen) -> Answer:
        path = "/" + seen.path.split("/", 3)[3]
        return script(Seen(seen.method, path, seen.headers, seen.raw))

    return with_gets(answer)


@posix_only("modes")
def test_a_gateway_is_asked_once_and_its_answer_is_kept_with_a_date_and_no_key(kept_file) -> None:
    script = through_proxy(listed("house-model"), {"/v1/model/info": deployments(INFO)})
    with endpoint_in_thread(script) as gateway:
        there = gateway_at("once.example", gateway.base_url, "house-model", api_key=Secret("k-1"))
        ask_for_facts([there])
        n_asked = len(gateway.seen)
        ask_for_facts([there])
        assert (n_asked, len(gateway.seen)) == (2, 2)
    assert {one.headers["authorization"] for one in gateway.seen} == {"Bearer k-1"}
    text = kept_file.read_text(encoding="utf-8")
    (kept,) = json.loads(text)["models"].values()
    assert "once.example" not in text  # an address may contain a secret
    assert kept["at"].startswith("20")
    assert kept["model"]["window"] == 200_000
    assert "k-1" not in text
    assert kept_file.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("old", [True, False])
def test_another_process_asks_again_only_if_the_answer_is_old(kept_file, old) -> None:
    at = "2026-01-01T00:00:00Z" if old else "2999-01-01T00:00:00Z"
    kept_file.parent.mkdir(parents=True)
    place = hashlib.sha256(f"http://kept-{old}.example/v1 m".lower().encode()).hexdigest()[:32]
    kept = {"at": at, "model": {"name": "m", "window": 77_000}}
    kept_file.write_bytes(json.dumps({place: kept}).encode())
    with endpoint_in_thread(through_proxy(refuse(503, "busy"))) as gateway:
        there = gateway_at(f"kept-{old}.example".lower(), gateway.base_url, "m")
        ask_for_facts([there])
        assert facts_of(there).window == 77_000  # an old answer is better than no answer
        assert len(gateway.seen) == 1  # a time in the future does not count


def test_user_settings_override_endpoint_facts_without_a_request() -> None:
    with endpoint_in_thread(answering(listed("m", max_model_len=40_000))) as server:
        given = Settings(model="m", base_url=server.base_url, window=9_000, price_in=1, price_out=2)
        assert make_model(given).window == 9_000
        assert server.seen == []
        named = Settings(model="m", base_url=server.base_url, counts_as="gpt-4o")
        assert make_model(named).window == 128_000
        assert server.seen == []
        half = make_model(Settings(model="m", base_url=server.base_url, window=9_000))
        assert half.window == 9_000
        assert server.seen  # only for the price


def deeply_owned() -> Answer:
    """Return a list so deep that a thread's short stack can decode it, but not print it."""
    depth = sys.getrecursionlimit() - 30
    owner, long = "[" * depth + "]" * depth, "x" * SMALL_B
    return raw(200, f'{{"data": [{{"id": "m", "owned_by": {owner}}}], "more": "{long}"}}')


SILENT = {
    "refuses": refuse(500, "broken"),
    "is no list": page({"error": "x"}),
    "is no JSON": Answer((b"<html>",)),
    "hangs": Answer((HANG,)),
    "a window of nothing": page(listed("m", max_model_len=1)),
    "a window of text": page(listed("m", max_model_len="40000")),
    "a kind that is no text": page(listed("m", type=["llm"])),
    "an owner in a deep nest": deeply_owned(),
}


@pytest.mark.parametrize("kind", SILENT)
def test_without_a_usable_answer_the_window_is_assumed_and_marked_as_assumed(kind) -> None:
    with endpoint_in_thread(lambda _seen: SILENT[kind], gets=True) as server:
        settings = Settings(model="m", base_url=server.base_url)
        ask_for_facts([settings], timeout_s=0.5)
        facts = facts_of(settings)
    assert (facts.window, facts.known, facts.prices) == (32_000, False, None)


def test_a_broken_cache_file_of_endpoint_answers_is_ignored(kept_file) -> None:
    kept_file.parent.mkdir(parents=True)
    kept_file.write_bytes(b"{broken")
    with endpoint_in_thread(through_proxy(listed("m", max_model_len=40_000))) as gateway:
        there = gateway_at("broken.example", gateway.base_url, "m")
        ask_for_facts([there])
    assert facts_of(there).window == 40_000
    assert "40000" in kept_file.read_text(encoding="utf-8")
