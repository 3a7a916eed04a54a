"""Models at several endpoints: the requests to each endpoint, and the names for people."""

from __future__ import annotations

import base64
import json

import pytest

from indwell.sessions.records import RequestRecord, Spent
from support.editing import READ, USAGE, Home, editing
from support.loopback_endpoint import Answer, LoopbackEndpoint, Seen, refuse, say
from support.model_server import answering, listed
from support.terminal import Ended, indwell


@pytest.fixture
def home(tmp_path) -> Home:
    return Home(tmp_path)


async def run(home: Home, *arguments: str, **variables: str) -> Ended:
    environment = home.environment(**variables)
    return await indwell(*arguments, environment=environment, folder=home.workspace)


async def test_a_request_to_a_named_endpoint_uses_that_endpoints_key_and_headers(
    home,
) -> None:
    async with (
        LoopbackEndpoint([]) as main,
        LoopbackEndpoint([say("Done.", usage=USAGE)]) as work,
    ):
        home.configure(f"""
            model = "prod-a@work"
            base_url = "{main.base_url}"
            api_key = "key-of-main"
            [endpoints.work]
            base_url = "{work.base_url}"
            api_key_variable = "WORK_KEY"
            headers = {{ X-Team = "$TEAM" }}
            query = {{ api-version = "2026-01-01" }}
            counts_as = "gpt-4o"
            top_p = 0.9
            extra_body = {{ service_tier = "flex" }}
        """)
        ended = await run(home, "run", "--json", "hello", WORK_KEY="key-of-work", TEAM="search")
    assert ended.code == 0, ended
    assert main.seen == []
    (seen,) = work.seen
    assert seen.path == "/v1/chat/completions?api-version=2026-01-01"
    assert seen.headers["authorization"] == "Bearer key-of-work"
    assert seen.headers["x-team"] == "search"
    body = seen.body
    assert body["model"] == "prod-a"
    assert (body["service_tier"], body["top_p"], body["temperature"]) == ("flex", 0.9, 0.2)
    # gpt-4o's price, although no list has prod-a
    assert '"cost":0.' in ended.stdout.replace(" ", "")
    everything = ended.stdout + ended.stderr + str(home.logs())
    assert "key-of-work" not in everything


async def test_a_resumed_session_stays_at_its_named_endpoint(home) -> None:
    script = answering(listed("m"), chat=lambda _seen: say("Yes.", usage=USAGE))
    async with LoopbackEndpoint(script) as work:
        home.configure(f"""
            model = "other"
            models = ["m@work"]
            [endpoints.work]
            base_url = "{work.base_url}"
            window = 32000
        """)
        first = await run(home, "run", "--model", "m@work", "a")
        second = await run(home, "run", "--continue", "--model", "m@work", "b")
    assert (first.code, second.code) == (0, 0), (first, second)
    asked = [one.body for one in work.seen if one.method == "POST"]
    assert [one["model"] for one in asked] == ["m", "m"]
    assert len(asked[1]["messages"]) > len(asked[0]["messages"])


async def test_the_effort_of_the_command_line_overrides_that_of_the_settings(home) -> None:
    async with LoopbackEndpoint([say("Yes.", usage=USAGE), say("No.", usage=USAGE)]) as endpoint:
        home.configure(f'model = "m"\nbase_url = "{endpoint.base_url}"\neffort = "high"\n')
        ended = [await run(home, "run", "--effort", "low", "a"), await run(home, "run", "b")]
    assert [one.code for one in ended] == [0, 0], ended
    sent = [one for log in home.logs() for one in log if isinstance(one, RequestRecord)]
    assert [one.effort for one in sent] == ["low", "high"]


async def test_a_field_that_the_endpoint_refuses_is_omitted_from_later_requests(home) -> None:
    def script(seen: Seen) -> Answer:
        if "temperature" in seen.body:
            return refuse(400, "Unsupported parameter: 'temperature' is not supported here.")
        return say("Done.", usage=USAGE)

    async with LoopbackEndpoint(script) as endpoint:
        home.configure(f'model = "m"\nbase_url = "{endpoint.base_url}"\ntop_p = 0.5\nseed = 1\n')
        ended = await run(home, "run", "hello")
    assert ended.code == 0, ended
    refused, taken = endpoint.seen
    assert "temperature" in refused.body
    assert (taken.body["top_p"], taken.body["seed"]) == (0.5, 1)


async def test_models_of_all_endpoints_are_listed_and_a_silent_one_is_left_out(home) -> None:
    async with (
        LoopbackEndpoint(answering(listed("main-model", context_length=64_000))) as main,
        LoopbackEndpoint(answering(listed("big", "small", max_model_len=40_000))) as work,
    ):
        home.configure(f"""
            model = "big@work"
            base_url = "{main.base_url}"
            [endpoints.work]
            base_url = "{work.base_url}"
            [endpoints.gone]
            base_url = "http://127.0.0.1:9/v1"
        """)
        ended = await run(home, "models", "--json")
    rows = json.loads(ended.stdout)
    assert {one["name"]: one["chosen"] for one in rows} == {
        "big@work": True,
        "small@work": False,
        "main-model": False,
    }


async def test_a_summary_may_be_written_at_another_endpoint(home) -> None:
    async with (
        LoopbackEndpoint([say("Done.", usage=USAGE)]) as main,
        LoopbackEndpoint([]) as local,
    ):
        home.configure(f"""
            model = "m"
            small_model = "s@local"
            base_url = "{main.base_url}"
            window = 32000
            [endpoints.local]
            base_url = "{local.base_url}"
            window = 16000
        """)
        ended = await run(home, "run", "hello")
    assert ended.code == 0, ended
    assert (len(main.seen), len(local.seen)) == (1, 0)


async def test_the_doctor_asks_the_endpoint_of_the_model(home) -> None:
    async with LoopbackEndpoint(answering(listed("m", max_model_len=40_000))) as work:
        home.configure(f"""
            model = "m@work"
            [endpoints.work]
            base_url = "{work.base_url}"
            headers = {{ X-Team = "a-team-name" }}
        """)
        ended = await run(home, "doctor")
    assert "it offers m" in ended.stdout
    assert {one.headers.get("x-team") for one in work.seen} == {"a-team-name"}


async def test_a_mistyped_endpoint_is_reported_before_anything_is_sent(home) -> None:
    home.configure('model = "m@wrok"\n[endpoints.work]\nbase_url = "http://127.0.0.1:9/v1"\n')
    ended = await run(home, "run", "hello")
    assert ended.code != 0
    assert "names the endpoint 'wrok', and your settings have only 'work'" in ended.stderr


async def test_a_turn_continues_with_the_fallback_model_and_reports_both_prices(home) -> None:
    def broke(_seen: Seen) -> Answer:
        return refuse(402, "you have no credit left")

    script = [say("I look.", calls=[READ], usage=USAGE), say("Done.", usage=USAGE)]
    async with LoopbackEndpoint(broke) as main, LoopbackEndpoint(script) as spare:
        home.configure(f"""
            model = "m"
            base_url = "{main.base_url}"
            fallback = "f@spare"
            window = 32000
            price_in = 1
            price_out = 2
            [endpoints.spare]
            base_url = "{spare.base_url}"
            window = 30000
            price_in = 10
            price_out = 20
        """)
        ended = await run(home, "run", "hello")
        again = await run(home, "run", "--continue", "once more")
    assert ended.code == 0, ended
    assert "Done." in ended.stdout
    words = " ".join((ended.stdout + ended.stderr).split())
    assert (
        "this turn goes on with 'f@spare' ($10.00 in and $20.00 out for a million tokens) in place "
        "of 'm' ($1.00 in and $2.00 out for a million tokens), which the next turn tries again"
    ) in words
    (log, *_) = home.logs()
    costs = [one.cost for one in log if isinstance(one, Spent)]
    cost = (10 * USAGE["prompt_tokens"] + 20 * USAGE["completion_tokens"]) / 1e6
    assert costs[:2] == [pytest.approx(cost)] * 2
    assert [one.body["model"] for one in main.seen if one.method == "POST"] == ["m", "m"]
    assert [one.body["model"] for one in spare.seen] == ["f", "f", "f"]
    assert again.code != 0  # the script of the fallback has ended


async def test_without_a_usable_fallback_the_first_error_counts(home) -> None:
    async with LoopbackEndpoint(lambda _seen: refuse(402, "you have no credit left")) as main:
        home.configure(f"""
            model = "m"
            base_url = "{main.base_url}"
            fallback = "f@wrok"
            [endpoints.work]
            base_url = "http://127.0.0.1:9/v1"
        """)
        ended = await run(home, "run", "hello")
    assert ended.code != 0
    assert "no credit" in ended.stderr


async def test_the_next_turn_of_the_same_server_tries_the_first_endpoint_again(home) -> None:
    is_down = True

    def main_script(_seen: Seen) -> Answer:
        return refuse(402, "you have no credit left") if is_down else say("First.", usage=USAGE)

    async with (
        LoopbackEndpoint(main_script) as main,
        LoopbackEndpoint([say("Second.", usage=USAGE)]) as spare,
    ):
        home.configure(f"""
            model = "m"
            base_url = "{main.base_url}"
            fallback = "f@spare"
            [endpoints.spare]
            base_url = "{spare.base_url}"
        """)
        async with editing(home) as editor:
            one = await editor.ask("a")
            is_down = False
            two = await editor.ask("b")
    assert (one.answer, two.answer) == ("Second.", "First.")
    models = [one.body["model"] for one in main.seen if one.method == "POST"]
    assert models == ["m", "m"]


PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@pytest.mark.parametrize("takes_pictures", [False, True])
async def test_a_fallback_without_pictures_is_not_used_for_pictures_and_the_turn_says_why(
    home, takes_pictures
) -> None:
    n_chats = 0

    def script(_seen: Seen) -> Answer:
        nonlocal n_chats
        n_chats += 1
        if n_chats > 1:
            return refuse(402, "you have no credit left")
        return say("I look.", calls=[("read_file", json.dumps({"path": "a.png"}))], usage=USAGE)

    (home.workspace / "a.png").write_bytes(PNG)
    async with (
        LoopbackEndpoint(script) as main,
        LoopbackEndpoint([say("A dot.", usage=USAGE)]) as spare,
    ):
        home.configure(f"""
            model = "m"
            base_url = "{main.base_url}"
            fallback = "f@spare"
            pictures = true
            [endpoints.spare]
            base_url = "{spare.base_url}"
            pictures = {str(takes_pictures).lower()}
        """)
        ended = await run(home, "run", "what is on a.png?")
    words = " ".join((ended.stdout + ended.stderr).split())
    told = "the fallback 'f@spare' is not used: the conversation has pictures"
    assert (ended.code, told in words) == ((0, False) if takes_pictures else (1, True)), ended
    assert len(spare.seen) == takes_pictures
    if not takes_pictures:
        assert "no credit" in words


async def test_a_fallback_that_cannot_be_used_is_named_with_the_reason(home) -> None:
    async with LoopbackEndpoint(lambda _seen: refuse(402, "you have no credit left")) as main:
        home.configure(f"""
            model = "m"
            base_url = "{main.base_url}"
            fallback = "f@wrok"
            [endpoints.work]
            base_url = "http://127.0.0.1:9/v1"
        """)
        ended = await run(home, "run", "hello")
    words = " ".join((ended.stdout + ended.stderr).split())
    assert "the fallback cannot be used: the model 'f@wrok' names the endpoint 'wrok'" in words
    assert "no credit" in words


async def test_a_fallback_for_an_endpoint_over_its_limit_reports_its_higher_price(
    home,
) -> None:
    busy = refuse(429, "rate limit reached", headers={"Retry-After": "300"})
    async with (
        LoopbackEndpoint(lambda _seen: busy) as main,
        LoopbackEndpoint([say("Done.", usage=USAGE)]) as spare,
    ):
        home.configure(f"""
            model = "m"
            base_url = "{main.base_url}"
            fallback = "f@spare"
            price_in = 1
            price_out = 2
            [endpoints.spare]
            base_url = "{spare.base_url}"
            price_in = 30
            price_out = 40
        """)
        ended = await run(home, "run", "hello")
    words = " ".join((ended.stdout + ended.stderr).split())
    assert ended.code == 0, ended
    assert len(main.seen) == 1
    assert "'f@spare' ($30.00 in and $40.00 out for a million tokens)" in words
    assert "'m' ($1.00 in and $2.00 out" in words


async def test_the_price_follows_the_model_and_its_endpoint_not_the_host(home) -> None:
    """Both endpoints have one address, and their profiles price the same model differently."""
    async with LoopbackEndpoint(answering(listed("m", "n"), chat=plain)) as gateway:
        home.configure(f"""
            model = "m"
            base_url = "{gateway.base_url}"
            [endpoints.cheap]
            base_url = "{gateway.base_url}"
            price_in = 1
            price_out = 2
            [endpoints.dear]
            base_url = "{gateway.base_url}"
            price_in = 10
            price_out = 20
            [endpoints.hidden]
            base_url = "{gateway.base_url}"
            counts_as = "gpt-4o"
        """)
        for model in ("m", "m@cheap", "m@dear", "n@dear", "m@hidden"):
            ended = await run(home, "run", "--model", model, "hello")
            assert ended.code == 0, ended
        listing = await run(home, "models", "--json")
    spent = {one.model: one.cost for log in home.logs() for one in log if isinstance(one, Spent)}
    assert spent == {
        "m": None,
        "m@cheap": pytest.approx((10 * 1 + 2 * 2) / 1e6),
        "m@dear": pytest.approx((10 * 10 + 2 * 20) / 1e6),
        "n@dear": pytest.approx((10 * 10 + 2 * 20) / 1e6),
        "m@hidden": pytest.approx((10 * 2.5 + 2 * 10) / 1e6),
    }
    shown = {one["name"]: one["price_in"] for one in json.loads(listing.stdout)}
    assert (shown["m"], shown["n@cheap"], shown["m@dear"]) == (None, 1, 10)


def plain(_seen: Seen) -> Answer:
    return say("Yes.", usage=USAGE)
