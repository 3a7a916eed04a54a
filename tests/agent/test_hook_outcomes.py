"""The meaning of a hook's exit code and output, and the hook's input."""

from __future__ import annotations

import re

import msgspec
import pytest

from indwell.agent.features.hooks.hook_io import (
    MOST_ADDED,
    MOST_CHARACTERS,
    HookOutcome,
    Payload,
    cut,
    is_closed,
    kind_of,
    outcome_of,
    parsed,
    shortened,
)
from indwell.agent.features.hooks.session_hooks import FoundHook, MatchingHooks, wanted
from indwell.settings.table_types import Hook, HookEvent
from support.doc_examples import DOCS

NO_JSON = "it begins as JSON with 'add' or 'block', and is none"
COMMON = {"session", "turn", "cwd", "mode", "in_agent"}


@pytest.mark.parametrize(
    ("exit_code", "output", "errors", "outcome"),
    [
        (0, "", "", HookOutcome()),
        (0, "  words\n", "a warning", HookOutcome(add="words")),
        (0, '{"add": "words"}', "", HookOutcome(add="words")),
        (0, '{"block": "no"}', "", HookOutcome(block="no")),
        (0, '{"add": "words", "block": "no"}', "", HookOutcome(add="words", block="no")),
        (0, '{"name": "shop"}', "", HookOutcome(add='{"name": "shop"}')),
        (0, "{broken", "", HookOutcome(add="{broken")),
        (
            0,
            '{"add": 7}',
            "",
            HookOutcome(problem="'add' and 'block' of its JSON have to be texts"),
        ),
        (
            0,
            '{"block": "no", "permission": "allow"}',
            "",
            HookOutcome(problem="its JSON has 'permission' besides 'add' and 'block'"),
        ),
        (0, '{"block": " "}', "", HookOutcome(block="it gives no reason")),
        (0, '{"add": "words"}\nmore', "", HookOutcome(problem=NO_JSON)),
        (0, '{"block": "no"}\nmore', "", HookOutcome(problem=NO_JSON)),
        (0, '{ "block": ' + "[" * 50_000, "", HookOutcome(problem=NO_JSON)),
        (0, '{"a":' * 50_000, "", HookOutcome(add='{"a":' * 50_000)),
        (2, "", "why\n", HookOutcome(block="why")),
        (2, "why", "", HookOutcome(block="why")),
        (2, "", "", HookOutcome(block="it gives no reason")),
        (1, "", "a\nlast line", HookOutcome(problem="it ended with exit code 1: last line")),
        (127, "", "", HookOutcome(problem="it ended with exit code 127")),
        (-9, "", "", HookOutcome(problem="it ended with signal 9")),
    ],
)
def test_exit_code_and_output_of_a_hook_have_the_documented_meaning(
    exit_code: int, output: str, errors: str, outcome: HookOutcome
) -> None:
    assert outcome_of(exit_code, output, errors) == outcome


@pytest.mark.parametrize("event", HookEvent.__args__)
def test_a_broken_hook_stops_only_events_that_can_be_prevented(event: HookEvent) -> None:
    assert is_closed(Hook(event, "x")) is (event in {"prompt_submitted", "before_tool"})
    assert is_closed(Hook(event, "x", if_broken="block"))
    assert not is_closed(Hook(event, "x", if_broken="go on"))


def test_a_project_hooks_text_never_gets_the_users_tag() -> None:
    kinds = {kind_of(event, is_own=False) for event in HookEvent.__args__}
    assert kinds == {"project_hook"}
    assert "project_hook" not in {kind_of(event, is_own=True) for event in HookEvent.__args__}


def test_a_hook_can_name_its_tools_by_globs() -> None:
    hooks = (
        Hook("before_tool", "all"),
        Hook("before_tool", "files", tools=("*_file",)),
        Hook("before_tool", "run", tools=("bash", "agent")),
        Hook("after_tool", "other"),
    )
    found = MatchingHooks(tuple(FoundHook(one, is_own=True) for one in hooks))
    assert [one.hook.command for one in wanted(found, "before_tool", "bash")] == ["all", "run"]
    assert [one.hook.command for one in wanted(found, "before_tool", "edit_file")] == [
        "all",
        "files",
    ]


def test_a_long_hook_text_keeps_both_ends_and_names_the_file_with_the_rest() -> None:
    text = shortened("a" * 20_000 + "end", "/spill/hook.txt")
    assert len(text) < MOST_ADDED + 200
    assert text.startswith("aaa")
    assert text.endswith("aend")
    assert "[… 10,003 characters left out; all of it is in '/spill/hook.txt' …]" in text


def test_a_long_hook_payload_is_cut_with_a_note() -> None:
    assert cut("short") == "short"
    assert cut("x" * (MOST_CHARACTERS + 5)).endswith("x\n[… 5 characters left out …]")


@pytest.mark.parametrize(
    ("text", "value"), [("", {}), ('{"a": 1}', {"a": 1}), ("{", "{"), ("[" * 50_000,) * 2]
)
def test_hook_arguments_are_json_or_the_original_text(text: str, value: object) -> None:
    assert parsed(text) == value


def test_the_documentation_names_every_field_of_every_hook_event() -> None:
    page = (DOCS / "hooks.md").read_text("utf-8")
    for struct in Payload.__args__:
        event = struct.__struct_config__.tag
        (row,) = re.findall(rf"^\| `{event}` \|.*$", page, re.MULTILINE)
        own = {one.name for one in msgspec.structs.fields(struct)} - COMMON
        assert own <= set(re.findall(r"`(\w+)`", row)), event
    assert all(f"`{name}`" in page for name in COMMON)


def test_every_hook_event_in_the_settings_has_a_payload() -> None:
    tags = {struct.__struct_config__.tag for struct in Payload.__args__}
    assert tags == set(HookEvent.__args__)
