"""Keys that the client stores: the server holds them only in memory, for their origin."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from pathlib import Path

import pytest

from indwell.lsp.messages import status, views
from indwell.settings.keys import parsed_keys
from support.editing import Editor, Home, bash, editing
from support.file_keyring import FOLDER
from support.loopback_endpoint import Answer, LoopbackEndpoint, Seen, say
from support.model_server import CALL, answering, listed

KEY, OTHER = "sk-canary-abcdefgh12345678", "sk-canary-elsewhere-87654321"


class Chat:
    """Answers the test requests of a login, and then prompts."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)

    def __call__(self, seen: Seen) -> Answer:
        names = [one["function"]["name"] for one in seen.body.get("tools", ())]
        return say(calls=[CALL]) if "read_file" not in names else self.answers.pop(0)


def with_keyring(home: Home, **more: str) -> dict[str, str]:
    """Return an environment with a working keyring."""
    environment = home.environment(
        PYTHON_KEYRING_BACKEND="support.file_keyring.FileKeyring",
        TEST_KEYRING=str(home.folder / "keyring.json"),
        **more,
    )
    paths = (FOLDER, environment.get("PYTHONPATH", ""))
    return {**environment, "PYTHONPATH": ":".join(filter(None, paths))}


async def once(_params: object) -> str:
    return "once"


async def ask(editor: Editor, method: str, params: object):
    return await editor.client.protocol.send_request_async(method, params)


def held_in(folder: Path, text: str) -> list[str]:
    return [
        one.name for one in folder.rglob("*") if one.is_file() and text.encode() in one.read_bytes()
    ]


def origin_of(endpoint: LoopbackEndpoint) -> str:
    return endpoint.base_url.removesuffix("/v1")


async def test_an_api_key_kept_by_the_client_is_used_at_once_and_never_stored(tmp_path) -> None:
    home = Home(tmp_path)
    chat = Chat(say("Well."), say("Again."))
    async with LoopbackEndpoint(answering(listed("m"), key=KEY, chat=chat)) as endpoint:
        environment = with_keyring(home)
        async with editing(home, environment=environment, extensions=("events",)) as editor:
            params = views.LoginParams("", KEY, endpoint.base_url, keep="client")
            outcome = await ask(editor, "indwell/login", params)
            assert (outcome.ok, outcome.origin) == (True, origin_of(endpoint))
            assert (await editor.ask("hello")).ending == "done"
            assert endpoint.seen[-1].headers["authorization"] == f"Bearer {KEY}"
            # The user chooses another model later, without entering a key, and no key is on disk.
            again = views.LoginParams("", None, endpoint.base_url, "m")
            outcome = await ask(editor, "indwell/login", again)
            assert (outcome.ok, outcome.origin) == (True, "")
            told = repr(editor.events) + repr(editor.messages) + repr(editor.logged)
        assert (KEY in told, held_in(home.folder, KEY)) == (False, [])
        # The next process has the key only if the client passes the key on.
        async with editing(home, environment=environment) as editor:
            assert (await ask(editor, "indwell/status", None)).model == "m"
            assert (await editor.ask("hello")).ending == "failed"


async def test_a_key_from_the_client_goes_only_to_its_origin(tmp_path) -> None:
    home = Home(tmp_path)
    chat = Chat(bash("env; cat /proc/$PPID/environ | tr '\\0' '\\n'"), say("Well."))
    async with LoopbackEndpoint(answering(listed("m"), key=KEY, chat=chat)) as endpoint:
        home.configure(f'base_url = "{endpoint.base_url}"\nmodel = "m"\nmode = "auto"\n')
        keys = json.dumps({origin_of(endpoint): KEY, "https://elsewhere.example": OTHER})
        environment = with_keyring(home, INDWELL_KEYS=keys)
        async with editing(
            home, environment=environment, extensions=("events", "permission")
        ) as editor:
            assert (await ask(editor, "indwell/status", None)).lacking == ""
            editor.answers.permission = once
            assert (await editor.ask("go")).ending == "done"
            told = repr(editor.events) + repr(editor.messages)
        sent = repr([one.body["messages"] for one in endpoint.seen if one.raw])
        assert "PATH=" in sent
        for text in (KEY, OTHER, "INDWELL_KEYS"):
            assert (text in sent, text in told) == (False, False)
            assert held_in(home.folder, text) == []


async def test_a_key_of_another_origin_is_not_sent(tmp_path) -> None:
    home = Home(tmp_path)
    async with LoopbackEndpoint(answering(listed("m"), chat=Chat(say("Well.")))) as endpoint:
        home.configure(f'base_url = "{endpoint.base_url}"\nmodel = "m"\n')
        keys = json.dumps({"http://127.0.0.1:1": KEY, "https://127.0.0.1": OTHER})
        async with editing(home, environment=with_keyring(home, INDWELL_KEYS=keys)) as editor:
            assert (await editor.ask("go")).ending == "done"
        assert KEY not in repr([one.headers for one in endpoint.seen])


async def test_a_client_with_a_flow_of_its_own_leads_to_a_model(tmp_path) -> None:
    home = Home(tmp_path)
    chat = Chat(say("Well."))
    async with LoopbackEndpoint(answering(listed("m"), key=KEY, chat=chat)) as endpoint:
        extensions = ("events", "firstRun")
        async with editing(home, environment=with_keyring(home), extensions=extensions) as editor:
            reasons: list[str] = []

            async def lead(params: status.FirstRunParams) -> status.FirstRunResult:
                reasons.append(params.reason)
                if len(reasons) == 1:
                    return status.FirstRunResult(ok=False)
                wish = views.LoginParams("", KEY, endpoint.base_url, "m", "client")
                return status.FirstRunResult(ok=(await ask(editor, "indwell/login", wish)).ok)

            editor.client.feature("indwell/firstRun")(partial(lead))
            with pytest.raises(Exception, match="no model is set"):
                await editor.ask("first")
            async with asyncio.timeout(60):
                assert (await editor.ask("second")).answer == "Well."
            assert reasons[0].startswith("no model is set")
            assert (len(reasons), editor.choices) == (2, [])


@pytest.mark.parametrize(
    ("text", "origins", "problem"),
    [
        ("", [], ""),
        ('{"https://A.example:443/v1": "k1"}', ["https://a.example"], ""),
        ("[1]", [], "INDWELL_KEYS is not a JSON object from origin to key, so it is ignored"),
        (
            "{" * 90_000,
            [],
            "INDWELL_KEYS is not a JSON object from origin to key, so it is ignored",
        ),
        (
            '{"": "k", "ftp://x": "k", "https://x": "a b", "https://y": 7, "https://z": "k"}',
            ["https://z"],
            "4 entries of INDWELL_KEYS are ignored",
        ),
    ],
)
def test_a_malformed_keys_variable_is_reported_without_its_values(text, origins, problem) -> None:
    keys, said = parsed_keys(text)
    assert (list(keys), said) == (origins, problem)
