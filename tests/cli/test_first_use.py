"""From no settings to the first edit: the real server, a plain editor, and a local model server."""

from __future__ import annotations

import pytest
from pygls.exceptions import JsonRpcException

from indwell.service.endpoint.first_run import NOT_NOW
from support import file_keyring
from support.editing import MENDED, SOURCE, Home, editing, mend
from support.loopback_endpoint import Answer, LoopbackEndpoint, Seen, refuse, say
from support.model_server import CALL, answering, listed


@pytest.fixture
def home(tmp_path) -> Home:
    return Home(tmp_path)


class Model:
    """Answers the test of tools, and then plays a turn."""

    def __init__(self, *, takes_tools: bool = True) -> None:
        self.turn = [*mend(), say("You are welcome.")]
        self.takes_tools = takes_tools

    def __call__(self, seen: Seen) -> Answer:
        if not self.takes_tools:
            return refuse(400, "q does not support tools")
        names = [tool["function"]["name"] for tool in seen.body.get("tools", ())]
        return say(calls=[CALL]) if names == ["report"] else self.turn.pop(0)


def ollama(model: Model):
    show = {"model_info": {"q.context_length": 40_960}, "capabilities": ["tools"]}
    running = {"models": [{"name": "q", "context_length": 32_768}]}
    return answering(
        listed("q", owned_by="library"),
        more={"/api/show": show, "/api/ps": running},
        chat=model,
    )


def environment(home: Home, endpoint: LoopbackEndpoint) -> dict[str, str]:
    host = endpoint.base_url.removeprefix("http://").removesuffix("/v1")
    return {**home.environment(), **file_keyring.variables(home.folder), "OLLAMA_HOST": host}


async def test_a_fix_without_a_model_finds_one_and_continues_at_once(home) -> None:
    async with LoopbackEndpoint(ollama(Model())) as endpoint:
        async with editing(home, environment=environment(home, endpoint)) as editor:
            editor.answers.choose = lambda _message, titles: titles[0]
            buffer = editor.open(home.shop)
            result = await editor.fix(buffer, wait=True)
            assert (result["ending"], buffer.text) == ("done", MENDED)
            (titles,) = editor.choices
            assert titles[0] == "Use Ollama: q"
            assert "Indwell: q at " in editor.messages[1]
            # The next turn needs no question.
            endpoint_asked = len(endpoint.seen)
            assert (await editor.ask("thanks")).ending == "done"
            assert (len(editor.choices), len(endpoint.seen) > endpoint_asked) == (1, True)
        config = (home.config / "indwell" / "config.toml").read_text(encoding="utf-8")
        assert config == f'model = "q"\nbase_url = "{endpoint.base_url}"\n'
    assert file_keyring.held(home.folder) == {}


async def test_the_answer_not_now_names_the_missing_setup_and_changes_nothing(home) -> None:
    async with LoopbackEndpoint(ollama(Model())) as endpoint:
        async with editing(home, environment=environment(home, endpoint)) as editor:
            editor.answers.choose = lambda _message, _titles: NOT_NOW
            buffer = editor.open(home.shop)
            with pytest.raises(JsonRpcException, match="no model is set; run `indwell login`"):
                await editor.ask("mend it")
            assert (buffer.text, len(editor.choices)) == (SOURCE, 1)
        assert {seen.path for seen in endpoint.seen} == {"/v1/models", "/api/show", "/api/ps"}
    assert not (home.config / "indwell").exists()


async def test_a_server_whose_model_supports_no_tools_is_not_stored(home) -> None:
    async with (
        LoopbackEndpoint(ollama(Model(takes_tools=False))) as endpoint,
        editing(home, environment=environment(home, endpoint)) as editor,
    ):
        editor.answers.choose = lambda message, titles: (
            titles[0] if "which model should answer" in message else NOT_NOW
        )
        with pytest.raises(JsonRpcException):
            await editor.ask("mend it")
        assert "does not support tool calls, which Indwell needs" in editor.messages[1]
    assert not (home.config / "indwell").exists()
