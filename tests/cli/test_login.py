"""A login from a terminal is tested and stored for one origin, or nothing is stored."""

from __future__ import annotations

import asyncio
import json

import pytest

from support import file_keyring
from support.editing import Home
from support.loopback_endpoint import CUT, Answer, LoopbackEndpoint, Seen, refuse, say
from support.model_server import answering, listed
from support.terminal import Ended, indwell

CANARY = "sk-canary-30d7"


@pytest.fixture
def home(tmp_path) -> Home:
    return Home(tmp_path)


async def run(home: Home, *arguments: str, key: str | None = None, **variables: str) -> Ended:
    """Run ``indwell`` with a working keyring, unless the variables say otherwise."""
    environment = {**home.environment(), **file_keyring.variables(home.folder), **variables}
    stdin = None if key is None else f"{key}\n".encode()
    return await indwell(*arguments, environment=environment, folder=home.workspace, stdin=stdin)


def config(home: Home) -> str:
    path = home.config / "indwell" / "config.toml"
    return path.read_text(encoding="utf-8") if path.exists() else ""


async def test_a_key_goes_to_the_keyring_and_the_next_command_uses_it(home) -> None:
    async with LoopbackEndpoint(answering(listed("q"), key=CANARY)) as endpoint:
        url = endpoint.base_url
        ended = await run(home, "login", url, "--key-stdin", key=CANARY)
        assert (ended.code, ended.stderr) == (0, "")
        assert ended.stdout.splitlines()[:5] == [
            ended.stdout.splitlines()[0],
            "✓ the key is accepted",
            "✓ it offers 1 model",
            "✓ q answers in a stream",
            "✓ q calls tools",
        ]
        origin = url.removesuffix("/v1")
        assert file_keyring.held(home.folder) == {f"indwell {origin}": CANARY}
        assert config(home) == f'model = "q"\nbase_url = "{url}"\n'
        listing = await run(home, "models", "--json")
        assert [row["name"] for row in json.loads(listing.stdout)] == ["q"]
        spoken = await run(home, "run", "hello", "--json")
        assert spoken.events[-1]["ending"] in {"done", "repeated"}
        assert {one.headers["authorization"] for one in endpoint.seen} == {f"Bearer {CANARY}"}
    for one in (ended, listing, spoken):
        assert CANARY not in one.stdout + one.stderr
    files = [path for path in home.folder.rglob("*") if path.is_file()]
    holding = [path.name for path in files if CANARY.encode() in path.read_bytes()]
    assert holding == ["keyring.json"]


async def test_the_stored_key_goes_to_no_other_origin(home) -> None:
    async with (
        LoopbackEndpoint(answering(listed("q"), key=CANARY)) as first,
        LoopbackEndpoint(answering(listed("q"))) as other,
    ):
        await run(home, "login", first.base_url, "--key-stdin", key=CANARY)
        ended = await run(home, "models", OPENAI_BASE_URL=other.base_url)
        assert ended.code == 0
        assert [one.headers.get("authorization") for one in other.seen] == [None]
        # A key that other programs use is not sent to an endpoint with its own key.
        await run(home, "models", OPENAI_API_KEY="sk-of-others")
        assert first.seen[-1].headers["authorization"] == f"Bearer {CANARY}"


async def test_without_a_keyring_the_key_is_in_a_private_file_and_it_is_reported(home) -> None:
    off = {"PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring"}
    async with LoopbackEndpoint(answering(listed("q"), key=CANARY)) as endpoint:
        ended = await run(home, "login", endpoint.base_url, "--key-stdin", key=CANARY, **off)
        keys = home.config / "indwell" / "keys.json"
        assert "the keyring is switched off" in ended.stdout
        assert f"the key is in '{keys}', which only you can read" in ended.stdout
        assert keys.stat().st_mode & 0o777 == 0o600
        assert (await run(home, "models", **off)).code == 0


FAILURES = {
    "a wrong key": (answering(listed("q"), key="another"), "✗ the key is not accepted at"),
    "no models": (answering({"data": []}), "✗ it offers no model"),
    "no tools": (
        answering(listed("q"), chat=lambda _seen: refuse(400, "q does not support tools")),
        "does not support tool calls, which Indwell needs",
    ),
    "no stream": (
        answering(listed("q"), chat=lambda _seen: Answer((b"", CUT))),
        "broke off",
    ),
    "not there": ([refuse(502, "gateway")] * 4, "failed with status 502"),
}


@pytest.mark.parametrize("failure", FAILURES)
async def test_a_failed_step_is_reported_and_nothing_is_stored(home, failure) -> None:
    script, words = FAILURES[failure]
    home.configure('model = "old" # mine\n')
    async with LoopbackEndpoint(script, gets=True) as endpoint:
        ended = await run(home, "login", endpoint.base_url, "--key-stdin", key=CANARY)
    assert (ended.code, words in ended.stdout) == (1, True), ended
    assert "nothing was stored" in ended.stdout
    assert config(home) == 'model = "old" # mine\n'
    assert file_keyring.held(home.folder) == {}
    assert not (home.config / "indwell" / "keys.json").exists()


async def test_if_the_settings_file_cannot_be_changed_the_stored_key_is_removed(home) -> None:
    path = home.configure("# mine\n")
    path.unlink()
    path.symlink_to(
        home.folder / "nowhere" / "config.toml"
    )  # the file cannot be written; it is missing, so reading works
    async with LoopbackEndpoint(answering(listed("q"))) as endpoint:
        ended = await run(home, "login", endpoint.base_url, "--key-stdin", key=CANARY)
    assert (ended.code, "cannot be written" in ended.stdout) == (1, True), ended
    assert file_keyring.held(home.folder) == {}


async def test_comments_of_the_settings_file_stay_and_its_key_moves_to_its_own_origin(home) -> None:
    home.configure(
        '# mine\napi_key = "sk-of-openai" # secret\nmodel = "gpt"\nmode = "plan" # careful\n'
    )
    async with LoopbackEndpoint(answering(listed("q"))) as endpoint:
        ended = await run(home, "login", endpoint.base_url)
        assert ended.code == 0, ended
        assert {one.headers.get("authorization", "none") for one in endpoint.seen[:1]} == {"none"}
        assert config(home) == (
            f'# mine\nmodel = "q"\nmode = "plan" # careful\nbase_url = "{endpoint.base_url}"\n'
        )
    assert file_keyring.held(home.folder) == {"indwell https://api.openai.com": "sk-of-openai"}


async def test_login_without_a_terminal_needs_a_model_name_if_several_exist(home) -> None:
    async with LoopbackEndpoint(answering(listed("a", "b"))) as endpoint:
        unnamed = await run(home, "login", endpoint.base_url)
        assert (unnamed.code, config(home)) == (1, "")
        assert "no model was chosen of a, b\n  → name one with --model" in unnamed.stdout
        named = await run(home, "login", endpoint.base_url, "--model", "b", "--json")
    outcome = json.loads(named.stdout)
    assert (named.code, outcome["ok"], outcome["model"]) == (0, True, "b")
    assert [(step["name"], step["state"]) for step in outcome["steps"]] == [
        (name, "ok") for name in ("reachable", "key", "models", "streaming", "tools", "stored")
    ]


async def test_login_reports_a_loaded_model_with_too_small_a_context(home) -> None:
    more = {
        "/api/show": {"capabilities": ["tools"]},
        "/api/ps": {"models": [{"name": "q", "context_length": 4_096}]},
    }
    script = answering(listed("q", owned_by="library"), more=more)
    async with LoopbackEndpoint(script) as endpoint:
        host = endpoint.base_url.removeprefix("http://").removesuffix("/v1")
        ended = await run(home, "login", "ollama", OLLAMA_HOST=host)
    assert ended.code == 0, ended
    assert "Ollama runs 'q' with 4,096 tokens of context, which is too little" in ended.stdout


async def test_a_model_that_makes_no_tool_call_causes_a_warning(home) -> None:
    script = answering(listed("q"), chat=lambda _seen: say("I would rather talk."))
    async with LoopbackEndpoint(script) as endpoint:
        ended = await run(home, "login", endpoint.base_url)
    assert (ended.code, "! q was asked to call a tool and did not" in ended.stdout) == (0, True)


async def test_variables_that_override_stored_values_are_named(home) -> None:
    async with LoopbackEndpoint(answering(listed("q"))) as endpoint:
        ended = await run(home, "login", endpoint.base_url, INDWELL_MODEL="another")
    assert (
        "INDWELL_MODEL is set in this environment and takes precedence over the stored value"
        in ended.stdout
    )


WRONG = {
    "no provider": ((), 2, "name the provider: one of openai, openrouter"),
    "no key": (("openai",), 2, "OpenAI needs a key; pipe it in with --key-stdin"),
    "unknown": (("opnai",), 2, "'opnai' is not a provider; use one of openai"),
    "no address": (("ftp://host",), 2, "is not an address, expected one like"),
}


async def test_an_incomplete_login_command_names_the_missing_options(home) -> None:
    ends = await asyncio.gather(*(run(home, "login", *words) for words, _, _ in WRONG.values()))
    for (_, code, words), ended in zip(WRONG.values(), ends, strict=True):
        assert (ended.code, words in ended.stderr) == (code, True), ended
    assert config(home) == ""


async def test_logging_out_forgets_one_key_or_all(home) -> None:
    async with LoopbackEndpoint(answering(listed("q"))) as endpoint:
        url = endpoint.base_url
        await run(home, "login", url, "--key-stdin", key=CANARY)
        none = await run(home, "logout", "openai")
        gone = await run(home, "logout", url)
        again = await run(home, "logout", "--json")
    origin = url.removesuffix("/v1")
    assert (none.code, none.stdout) == (1, "no key is stored for https://api.openai.com\n")
    assert (gone.code, gone.stdout) == (0, f"forgotten: {origin}\n")
    assert (again.code, again.stdout) == (0, '{"forgotten":[]}\n')
    assert file_keyring.held(home.folder) == {}


BEFORE = """\
# my settings
model = "gpt-4o"   # the one at OpenAI
effort = "high"

[endpoints.local]
base_url = "http://127.0.0.1:9/v1"   # mine
"""


def configure(home: Home, text: str) -> None:
    path = home.config / "indwell" / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())


async def test_login_with_a_name_adds_an_endpoint_beside_existing_settings(home) -> None:
    configure(home, BEFORE)
    async with LoopbackEndpoint(answering(listed("q"), key=CANARY)) as work:
        url = work.base_url
        ended = await run(home, "login", url, "--name", "work", "--key-stdin", key=CANARY)
        assert ended.code == 0, ended
        assert "q@work at" in ended.stdout
        assert config(home) == BEFORE.replace('"gpt-4o"', '"q@work"') + (
            f'\n[endpoints.work]\nbase_url = "{url}"\n'
        )
        await run(home, "run", "hello")
        assert work.seen[-1].body["model"] == "q"
        assert {one.headers["authorization"] for one in work.seen} == {f"Bearer {CANARY}"}
    assert CANARY not in ended.stdout + ended.stderr + config(home)


async def test_a_login_by_the_name_of_an_endpoint_changes_its_table_in_place(home) -> None:
    headers = "headers = { x-team = 'search-team' }  # for the bill\n"
    seen: list[Seen] = []

    def script(one: Seen) -> Answer:
        seen.append(one)
        if one.headers.get("x-team") != "search-team":
            return refuse(403, "no team")
        return answering(listed("q"), key=CANARY)(one)

    async with LoopbackEndpoint(script, gets=True) as work:
        table = f'[endpoints.work]\nbase_url = "{work.base_url}"\n{headers}'
        configure(home, f'model = "old@work"\n{table}')
        ended = await run(home, "login", "work", "--key-stdin", key=CANARY)
        assert ended.code == 0, ended
        assert config(home) == f'model = "q@work"\n{table}'
        again = await run(home, "login", "--name", "work", "--model", "q", "--no-test")
        assert again.code == 0, again
        assert config(home) == f'model = "q@work"\n{table}'
        gone = await run(home, "logout", "work")
        assert "forgotten: " + work.base_url.removesuffix("/v1") in gone.stdout
    assert file_keyring.held(home.folder) == {}


async def test_the_key_of_an_endpoint_stays_at_its_origin_when_the_address_changes(home) -> None:
    async with (
        LoopbackEndpoint(answering(listed("q"))) as new,
        LoopbackEndpoint(answering(listed("q"), key=CANARY)) as old,
    ):
        configure(
            home,
            'model = "q@work"\n[endpoints.work]\n'
            f'base_url = "{old.base_url}"\napi_key = "{CANARY}"\n',
        )
        ended = await run(home, "login", new.base_url, "--name", "work")
        assert ended.code == 0, ended
        assert config(home) == f'model = "q@work"\n[endpoints.work]\nbase_url = "{new.base_url}"\n'
        assert CANARY not in str(new.seen)
    origin = old.base_url.removesuffix("/v1")
    assert file_keyring.held(home.folder) == {f"indwell {origin}": CANARY}


async def test_an_invalid_endpoint_name_is_refused(home) -> None:
    ended = await run(home, "login", "http://127.0.0.1:9/v1", "--name", "My Work", "--no-test")
    assert (ended.code, config(home)) == (2, "")
    assert "'My Work' is not a name for an endpoint" in ended.stderr
    ended = await run(home, "login", "http://127.0.0.1:9/v1", "--name", "vscode", "--no-test")
    assert (ended.code, config(home)) == (2, "")
    assert "'vscode' is the endpoint of VS Code's own models" in ended.stderr


async def test_the_doctor_checks_each_named_endpoint(home) -> None:
    async with (
        LoopbackEndpoint(answering(listed("m"))) as work,
        LoopbackEndpoint(answering(listed("a", "b"))) as good,
        LoopbackEndpoint(answering(listed("a"), key=CANARY)) as shut,
    ):
        configure(
            home,
            f'model = "m@work"\n[endpoints.work]\nbase_url = "{work.base_url}"\n'
            f'[endpoints.good]\nbase_url = "{good.base_url}"\n'
            f'[endpoints.shut]\nbase_url = "{shut.base_url}"\n'
            '[endpoints.gone]\nbase_url = "http://127.0.0.1:9/v1"\n',
        )
        ended = await run(home, "doctor", "--json")
    found = {
        one["name"]: (one["state"], one["sentence"])
        for one in json.loads(ended.stdout)["findings"]
        if one["name"].startswith("endpoint ")
    }
    assert {name: state for name, (state, _) in found.items()} == {
        "endpoint good": "ok",
        "endpoint shut": "warn",
        "endpoint gone": "warn",
    }
    assert "it offers 2 models" in found["endpoint good"][1]
    assert "needs a key" in found["endpoint shut"][1]
    assert "nothing answers" in found["endpoint gone"][1]
