"""Hooks in settings files of the user and of a project."""

from __future__ import annotations

import pytest

from indwell.errors import SettingsError
from indwell.settings.load import WORKSPACE_FILE, load
from indwell.settings.table_types import MOST_HOOKS, Hook, project_hooks
from indwell.settings.tighten import ASK_ALL, STRICTEST

GOOD = '[[hooks]]\nevent = "before_tool"\ncommand = "x"\ntools = ["bash"]\ntimeout_s = 5\n'
HOOK = Hook("before_tool", "x", tools=("bash",), timeout_s=5)


def test_hooks_of_the_users_file_keep_their_order() -> None:
    text = GOOD + GOOD.replace('"x"', '"y"')
    assert [one.command for one in load({}, text).settings.hooks] == ["x", "y"]
    assert load({}, GOOD).settings.hooks == (HOOK,)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('[hooks]\nevent = "turn_end"', "expected tables that begin with [[hooks]]"),
        ('hooks = "make"', "expected tables that begin with [[hooks]]"),
        ("hooks = [1]", "[[hooks]] number 1: expected `object`, got `int`"),
        (f'{GOOD}[[hooks]]\nevent = "turn_end"', "number 2: object missing required field `comm"),
        (GOOD.replace("before_tool", "before"), "'before' for `event`, expected one of 'prompt_su"),
        (GOOD.replace("tools", "tool"), "object contains unknown field `tool`"),
        (GOOD.replace("= 5", "= 9999"), "expected `float` <= 600"),
        (GOOD + 'if_broken = "maybe"\n', "invalid enum value 'maybe'"),
        (
            GOOD * (MOST_HOOKS + 1),
            f"there are {MOST_HOOKS + 1} hooks, and at most {MOST_HOOKS} are allowed",
        ),
    ],
)
def test_an_invalid_hook_in_the_users_file_is_an_error(text: str, why: str) -> None:
    with pytest.raises(SettingsError, match=r"config\.toml: ") as caught:
        load({}, text)
    assert why in str(caught.value)


@pytest.mark.parametrize("value", [[{"event": "turn_end", "command": "pwn"}], "pwn", {}, [{}]])
def test_editor_options_cannot_define_hooks(value: object) -> None:
    loaded = load({}, GOOD, editor_options={"hooks": value})
    assert loaded.settings.hooks == (HOOK,)
    assert loaded.notices == (
        "'hooks' in the editor's options is ignored: only your own settings can set it",
    )


def test_hooks_of_a_workspace_are_not_settings_of_the_user() -> None:
    loaded = load({}, GOOD, workspace_file=GOOD.replace('"x"', '"theirs"'))
    assert loaded.settings.hooks == (HOOK,)
    assert loaded.notices == ()


def test_a_fault_in_a_workspaces_hooks_is_reported() -> None:
    loaded = load({}, workspace_file='mode = "plan"\n[[hooks]]\nevent = "turn_end"\n')
    assert loaded.settings.mode == "plan"
    notice, asks = loaded.notices
    assert (loaded.settings.rules_ask, asks) == (ASK_ALL, STRICTEST.format(WORKSPACE_FILE))
    assert notice.startswith(f"{WORKSPACE_FILE}: [[hooks]] number 1: object missing")
    assert notice.endswith("none of its hooks runs until you correct that")


def test_one_broken_project_hook_disables_all_project_hooks() -> None:
    good = {"event": "turn_end", "command": "x"}
    assert project_hooks({"hooks": [good]}, "f") == ((Hook("turn_end", "x"),), "")
    assert project_hooks({"hooks": [good, {}]}, "f")[0] == ()
    assert project_hooks({}, "f") == ((), "")
