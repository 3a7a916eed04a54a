from __future__ import annotations

import asyncio

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from support.editing import MODEL, SERVE, SOURCE, Home, editing
from support.fake_editor.editor import FakeEditor


@pytest.fixture
def home(tmp_path) -> Home:
    return Home(tmp_path)


async def what_is_said(home: Home, **variables: str) -> str:
    """Return the one sentence that every command shows; no turn begins and no file changes."""
    async with editing(home, environment=home.environment(**variables)) as editor:
        editor.answers.choose = lambda _message, titles: titles[-1]  # chooses "Not now"
        buffer = editor.open(home.shop)
        await editor.heard()
        editor.messages.clear()
        assert await editor.fix(buffer) is None
        # the question of the first run, which the user declines
        asked = "Indwell: which model should answer?"
        await editor.wait_until(lambda: any(not one.startswith(asked) for one in editor.messages))
        with pytest.raises(JsonRpcException) as caught:
            await editor.ask("do it")
        sentence = caught.value.message
        said = [one for one in editor.messages if not one.startswith(asked)]
        assert (said, caught.value.code) == ([f"Indwell: {sentence}"], -32803)
        assert (buffer.text, buffer.version, home.shop.read_text(encoding="utf-8")) == (
            SOURCE,
            1,
            SOURCE,
        )
        assert home.logs() == []
    return sentence


async def test_without_a_model_every_command_names_the_missing_setting(home) -> None:
    config = home.config / "indwell" / "config.toml"
    assert await what_is_said(home) == (
        "no model is set; run `indwell login` in a terminal, or "
        f'write model = "…" in {config} or set INDWELL_MODEL'
    )


async def test_without_a_key_every_command_names_the_missing_setting(home) -> None:
    config = home.config / "indwell" / "config.toml"
    assert await what_is_said(home, INDWELL_MODEL=MODEL) == (
        "no API key is set; run `indwell login` in a terminal, or "
        f"set OPENAI_API_KEY or write api_key in {config} (an editor started "
        "from the desktop does not see the variables of a shell), or set base_url to an endpoint "
        "that needs none"
    )


async def test_a_broken_settings_file_is_reported_with_its_line(home) -> None:
    config = home.configure('model = "m"\nmode = \n')
    sentence = f"{config} line 2: invalid value; correct it and try again"
    assert await what_is_said(home) == sentence
    async with editing(home, environment=home.environment()) as editor:
        await editor.wait_until(lambda: editor.messages != [])
        assert editor.messages == [f"Indwell: {sentence}"]


async def test_a_value_that_must_not_be_guessed_stops_every_turn(home) -> None:
    config = home.configure('mode = "careful"\n')
    assert await what_is_said(home) == (
        f"{config}: mode = 'careful' is not valid, expected one of 'ask', 'auto', 'plan', 'review'"
        "; correct it and try again"
    )


async def test_unknown_settings_are_named_once_and_the_rest_applies(home) -> None:
    config = home.configure('modle = "m"\nattach_selection = false\n')
    options = {"mdoe": "plan", "attach": {"opened_file": False}, "api_key": "k", "mode": "auto"}
    async with editing(home, environment=home.environment(), options=options) as editor:
        await editor.wait_until(lambda: len(editor.messages) == 1)
        await editor.heard()
    assert editor.messages[0].split("\n") == [
        f"Indwell: unknown setting 'modle' in {config} is ignored; did you mean 'model'?",
        "unknown setting 'mdoe' in the editor's options is ignored; did you mean 'mode'?",
        "'api_key' in the editor's options is ignored: only your own settings can set it",
        (
            "mode = 'auto' in the editor's options is ignored: it may only be tighter "
            "than your 'review'"
        ),
    ]


class NoFolder(FakeEditor):
    """An editor with a single file open."""

    def _hello(self) -> types.InitializeParams:
        hello = super()._hello()
        hello.root_uri, hello.workspace_folders = None, None
        return hello


async def test_without_a_workspace_folder_a_command_asks_to_open_a_folder(home) -> None:
    editor = NoFolder(home.workspace)
    variables = home.environment(INDWELL_PROVIDER="scripted")
    await editor.start(SERVE, environment=variables)
    editor.open(home.shop)
    assert await editor.execute("indwell.fix", {"uri": home.shop.as_uri()}) is None
    async with asyncio.timeout(60):
        await editor.stop()
    assert editor.messages == [
        "Indwell: no folder is open; open the folder of the project, and try again"
    ]


async def test_commands_report_what_is_missing(home) -> None:
    variables = home.environment(INDWELL_PROVIDER="scripted")
    async with editing(home, environment=variables) as editor:
        await editor.execute("indwell.fix", {"uri": "file:///not/open.py"})
        await editor.execute("indwell.explain")
        editor.open(home.shop)
        await editor.execute("indwell.ask")
        for text, session in (("  ", None), ("x", "20261121-no-such")):
            with pytest.raises(JsonRpcException) as caught:
                await editor.ask(text, session=session)
            editor.messages.append(caught.value.message)
    assert editor.messages == [
        "Indwell: file:///not/open.py is not open in the editor; open it first",
        "Indwell: the document is not open in the editor; open it first",
        "Indwell: there is no question; give it as `text`, or in an editor that can ask",
        "the prompt is empty; write what should be done",
        "there is no session '20261121-no-such' in this workspace; `indwell sessions` lists them",
    ]
