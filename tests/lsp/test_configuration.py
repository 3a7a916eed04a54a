"""The editor's own settings are requested within a time limit, and only tighten the user's."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from indwell.errors import UserError
from indwell.lsp.wire.base_protocol import RequestError
from indwell.providers.offered_models import OfferedModel
from indwell.service.configuration import Configuration, Configured, model_identity
from indwell.service.sessions.session_settings import SessionSettings, in_mode
from indwell.settings.model import Settings
from support.editing import SERVE, Editor, Home, editing
from support.loopback_endpoint import LoopbackEndpoint, say


class Sections:
    """An editor that answers each request for its settings with the next of some answers."""

    def __init__(self, *answers: object) -> None:
        self.has_section = bool(answers)
        self._answers = list(answers)

    async def section(self) -> object:
        return self._answers.pop(0)


class Users:
    """The user's own settings, and the models of the user's endpoint."""

    def __init__(self, **settings: Any) -> None:
        self.settings = Settings(**settings)
        self.problem = ""
        self.offered: tuple[str, ...] | None = None

    def read(self, _options: Mapping[str, Any], _roots: tuple[Path, ...]) -> Configured:
        if self.problem:
            return Configured(Settings(), problem=self.problem)
        return Configured(self.settings)

    async def models(self, _settings: Settings) -> tuple[OfferedModel, ...]:
        if self.offered is None:
            raise UserError("cannot be asked")
        return tuple(map(OfferedModel, self.offered))


def configuration_of(door: Sections, users: Users, **options: float) -> Configuration:
    return Configuration(door, users.read, offered=users.models, **options)  # type: ignore[arg-type]


async def configured(users: Users, *answers: object) -> Configuration:
    configuration = configuration_of(Sections(*answers), users)
    configuration.start((), {})
    for _ in answers:
        await configuration.ask()
    return configuration


@pytest.mark.parametrize(
    ("answer", "mode"),
    [({"mode": "plan"}, "plan"), ({"mode": "auto"}, "review"), (None, "review"), ([7], "review")],
)
async def test_the_settings_section_of_the_editor_can_only_tighten_the_users_settings(
    answer, mode
) -> None:
    configuration = await configured(Users(), answer)
    assert configuration.settings.mode == mode


async def test_each_ignored_setting_is_named_once() -> None:
    configuration = configuration_of(Sections({"mode": "auto"}, {"mode": "auto"}), Users())
    configuration.start((), {})
    sentence = (
        "mode = 'auto' in the editor's settings is ignored: it may only be tighter than your "
        "'review'"
    )
    assert (await configuration.ask(), await configuration.ask()) == ((sentence,), ())


async def test_a_tightened_setting_may_be_loosened_up_to_the_users_value() -> None:
    configuration = await configured(Users(), {"mode": "plan"}, {"mode": "review"})
    assert configuration.settings.mode == "review"


async def test_a_choice_of_the_user_holds_until_the_settings_change() -> None:
    users = Users(models=("b",), model="a")
    configuration = await configured(users, {"mode": "ask"})
    configuration.choose_mode("auto")
    configuration.choose_model("b")
    await configuration.take({"mode": "ask", "max_output": 10})
    settings = configuration.settings
    assert (settings.mode, settings.model, settings.max_output) == ("auto", "b", 10)
    await configuration.take({"mode": "plan"})
    users.settings = Settings(models=("b",), model="c")
    await configuration.read_again()
    assert (configuration.settings.mode, configuration.settings.model) == ("plan", "c")


async def test_a_model_that_the_user_does_not_allow_is_not_chosen() -> None:
    configuration = await configured(Users(model="a"))
    with pytest.raises(UserError):
        configuration.choose_model("b")
    assert configuration.settings.model == "a"


async def test_the_user_can_choose_any_model_that_the_endpoint_offers() -> None:
    users = Users(model="a")
    configuration = await configured(users)
    with pytest.raises(
        UserError, match="not among the models of your settings"
    ):  # the endpoint's models are unknown
        await configuration.want_model("b")
    users.offered = ("a", "b")
    await configuration.want_model("b")
    assert configuration.settings.model == "b"
    with pytest.raises(UserError, match="offers no model 'c' now"):
        await configuration.want_model("c")
    await configuration.take({"model": "c"})  # a settings section cannot choose such a model
    assert configuration.settings.model == "b"


async def test_a_turn_waits_until_the_section_is_known() -> None:
    class Slow(Sections):
        async def section(self) -> object:
            await gate.wait()
            return None

    gate = asyncio.Event()
    configuration = configuration_of(Slow({}), Users())
    configuration.start((), {})
    asking = asyncio.create_task(configuration.ask())
    known = asyncio.create_task(configuration.known())
    await asyncio.sleep(0)
    assert not known.done()
    gate.set()
    await asyncio.gather(asking, known)


async def test_an_editor_that_sends_no_settings_does_not_block_a_turn() -> None:
    configuration = configuration_of(Sections({}), Users(), patience_s=0.01)
    configuration.start((), {})
    async with asyncio.timeout(60):
        await configuration.known()
    assert configuration.settings == Settings()


def test_a_turns_mode_replaces_the_mode_in_settings_and_keeps_the_models_identity() -> None:
    settings = Settings(model="a")
    assert in_mode(settings, "plan") == Settings(model="a", mode="plan")
    assert in_mode(settings, None) == settings
    assert model_identity(settings) == model_identity(in_mode(settings, "plan"))
    assert model_identity(settings) != model_identity(Settings(model="b"))


class ConfigurableEditor(Editor):
    """Declares ``workspace/configuration``; ``section`` makes each answer."""

    section: Callable[[], Any] = dict
    asked = 0

    def _hello(self) -> types.InitializeParams:
        hello = super()._hello()
        assert hello.capabilities.workspace is not None
        hello.capabilities.workspace.configuration = True
        return hello

    def _listen(self) -> None:
        super()._listen()

        async def answer(_params: Any) -> Any:
            self.asked += 1
            await self._tell()
            return [type(self).section()]

        self.client.feature(types.WORKSPACE_CONFIGURATION)(answer)


def an_error() -> Any:
    raise RequestError("no such thing", -32601)


@pytest.mark.parametrize("section", [an_error, lambda: {"mode": ["x"], "odd": 1}])
async def test_an_error_or_nonsense_leaves_the_defaults_and_a_turn_runs(tmp_path, section) -> None:
    home = Home(tmp_path)

    class Asked(ConfigurableEditor):
        pass

    Asked.section = staticmethod(section)
    async with LoopbackEndpoint([say("Well.")]) as endpoint:
        editor = Asked(home.workspace, extensions=("events",))
        await editor.start(SERVE, environment=home.environment(endpoint.base_url))
        assert (await editor.ask("go")).answer == "Well."
        assert editor.asked == 1
        editor.client.workspace_did_change_configuration(
            types.DidChangeConfigurationParams(settings=None)
        )
        await editor.wait_until(lambda: editor.asked == 2)
        async with asyncio.timeout(60):
            await editor.stop()
        editor.process._transport.close()


async def test_settings_that_an_editor_pushes_are_applied(tmp_path) -> None:
    home = Home(tmp_path)
    async with editing(home, "http://127.0.0.1:9/v1", extensions=("events",)) as editor:
        for settings in ({"indwell": {"mode": "auto"}}, {"indwell": 7}, ["odd"], None):
            editor.client.workspace_did_change_configuration(
                types.DidChangeConfigurationParams(settings=settings)
            )
        await editor.wait_until(lambda: editor.messages != [])
    sentence = (
        "Indwell: mode = 'auto' in the editor's settings is ignored: it may only be tighter than "
        "your 'review'"
    )
    assert editor.messages == [sentence]


async def test_m1_no_folder_is_examined_before_the_editor_gets_its_answer(tmp_path) -> None:
    looked: list[tuple[Path, ...]] = []

    class Looking(Users):
        def read(self, _options: Mapping[str, Any], roots: tuple[Path, ...]) -> Configured:
            looked.append(roots)
            notices = ("of the folder",) if roots else ()
            return Configured(Settings(mode="plan") if roots else self.settings, notices=notices)

    configuration = configuration_of(Sections(), Looking())
    configuration.start((tmp_path,), {})
    assert looked == [()]
    told, _ = await asyncio.gather(configuration.ask(), configuration.known())
    assert (told, looked) == (("of the folder",), [(), (tmp_path,)])
    assert configuration.settings.mode == "plan"


async def test_a_turn_uses_the_folder_settings_without_an_earlier_request_for_settings(
    tmp_path,
) -> None:
    class Looking(Users):
        def read(self, _options: Mapping[str, Any], roots: tuple[Path, ...]) -> Configured:
            return Configured(Settings(mode="plan") if roots else self.settings)

    configuration = configuration_of(Sections(), Looking(), patience_s=0.01)
    configuration.start((tmp_path,), {})
    await configuration.known()
    assert configuration.settings.mode == "plan"


@pytest.mark.parametrize(
    ("own", "chosen", "then"),
    [
        ("ask", ["plan"], "ask"),
        ("auto", ["plan", "plan"], "auto"),
        ("ask", ["auto", "plan"], "auto"),
        ("plan", [], "review"),
        ("plan", ["ask", "plan"], "ask"),
        ("auto", ["ask"], "ask"),
    ],
)
async def test_an_approved_plan_is_carried_out_in_the_mode_before_plan_mode(
    own, chosen, then
) -> None:
    configuration = await configured(Users(mode=own))
    for mode in chosen:
        configuration.choose_mode(mode)
    configuration.leave_plan()
    assert configuration.settings.mode == then


async def test_plan_mode_in_changed_settings_removes_the_earlier_freer_mode() -> None:
    users = Users(mode="auto")
    configuration = await configured(users)
    configuration.choose_mode("plan")
    users.settings = Settings(mode="plan")
    await configuration.read_again()
    configuration.leave_plan()
    assert configuration.settings.mode == "review"


async def test_broken_settings_keep_the_earlier_rules() -> None:
    users = Users(mode="plan", deny=("private/**",))
    configuration = await configured(users, {"round_limit": 3})
    of_turn = SessionSettings(configuration)
    users.problem = "config.toml: line 3 is no TOML"
    await configuration.read_again()
    assert (of_turn.now.mode, of_turn.now.deny, of_turn.now.round_limit) == (
        "plan",
        ("private/**",),
        3,
    )
    # the editor may still tighten the settings
    await configuration.take({"mode": "plan", "round_limit": 2})
    assert (configuration.problem, of_turn.now.round_limit) == (users.problem, 2)
    users.problem = ""
    await configuration.read_again()
    assert configuration.problem == ""


async def test_a_new_mode_in_the_settings_replaces_modes_chosen_before() -> None:
    users = Users(mode="review")
    configuration = await configured(users)
    beside, of_turn = SessionSettings(configuration), SessionSettings(configuration)
    beside.keep(mode="auto")
    of_turn.begin_turn("auto")
    users.settings = Settings(mode="plan")
    await configuration.read_again()
    assert (beside.now.mode, of_turn.now.mode) == ("plan", "plan")
    users.settings = Settings(mode="review")
    await configuration.read_again()
    assert (beside.now.mode, of_turn.now.mode) == ("review", "review")


async def test_another_open_session_ignores_a_choice_after_a_settings_change() -> None:
    users = Users(mode="review")
    configuration = await configured(users)
    beside = SessionSettings(configuration)
    beside.keep()
    users.settings = Settings(mode="plan")
    await configuration.read_again()
    configuration.choose_mode("auto")  # applies to the current session
    assert beside.now.mode == "plan"


async def test_another_open_session_leaves_plan_mode_for_its_own_earlier_mode() -> None:
    configuration = await configured(Users(mode="review"))
    beside, put_aside = SessionSettings(configuration), SessionSettings(configuration)
    beside.keep(mode="plan")
    configuration.choose_mode("ask")
    configuration.choose_mode("plan")
    put_aside.keep()
    configuration.choose_mode("auto")
    configuration.choose_mode("plan")  # the current session would return to auto mode
    beside.leave_plan()
    put_aside.leave_plan()
    assert (beside.now.mode, put_aside.now.mode) == ("review", "ask")
