"""Tests that the VS Code extension has exactly the server's settings, safe in any workspace."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec

from indwell.lsp.messages.features import COMMAND_NAMES
from indwell.settings.model import Settings
from indwell.settings.tighten import RULES
from indwell.wiring.model import FIRST_S

PACKAGE = Path(__file__).resolve().parents[2] / "vscode-extension" / "package.json"
OUR_OWN = {"serverPath", "enterSends"}
HARMLESS = {"model", "review_hints"}  # neither of them raises a permission


def manifest() -> Any:
    return json.loads(PACKAGE.read_text("utf-8"))


def settings() -> dict[str, Any]:
    """Return the settings by their name after ``indwell.``."""
    properties = manifest()["contributes"]["configuration"]["properties"]
    return {name.removeprefix("indwell."): value for name, value in properties.items()}


def server_name(name: str) -> str:
    """Return the server's name of a setting, as ``serverName`` in configuration.ts does."""
    small = re.sub("[A-Z]", lambda found: f"_{found[0].lower()}", name)
    return f"{small}_s" if small.endswith(("_timeout", "_pause")) else small


def for_the_server() -> dict[str, Any]:
    return {server_name(name): it for name, it in settings().items() if name not in OUR_OWN}


def test_the_extension_offers_exactly_what_the_server_takes_from_an_editor() -> None:
    assert set(for_the_server()) == {*RULES, "model"}


def test_a_workspace_can_override_only_harmless_user_settings() -> None:
    scopes = {name: value["scope"] for name, value in for_the_server().items()}
    assert {name for name, scope in scopes.items() if scope != "application"} == HARMLESS
    assert {name: settings()[name]["scope"] for name in OUR_OWN} == {
        "serverPath": "machine",
        "enterSends": "application",
    }


def test_vscode_settings_of_the_server_have_no_defaults() -> None:
    unset = (None, [], "", "config")
    assert [name for name, it in for_the_server().items() if it["default"] not in unset] == []


def test_an_empty_number_is_described_as_the_servers_default() -> None:
    defaults = {field.name: field.default for field in msgspec.structs.fields(Settings)}
    numbers = {name: it for name, it in for_the_server().items() if it["default"] is None}
    assert numbers
    for name, it in numbers.items():
        default = defaults[name]
        told = "no limit" if default is None else f"{default:g}"
        if name == "first_token_timeout_s":
            told = f"{FIRST_S:g}, and no limit for a model on this machine"
        assert f", or {told}." in it["markdownDescription"], name
    switches = [it for it in settings().values() if it.get("enum") == ["config", "on", "off"]]
    assert {it["enumItemLabels"][0] for it in switches} == {"As `config.toml` says; on by default"}
    names = {name for name, it in for_the_server().items() if it in switches}
    assert {defaults[name] for name in names} == {True}


def test_the_settings_page_can_draw_every_setting() -> None:
    """VS Code shows only a link to the file for a switch or a list that may be null."""
    drawn = ("string", "boolean", "array", ["number", "null"], ["integer", "null"])
    assert [name for name, it in settings().items() if it["type"] not in drawn] == []
    assert [name for name in settings() if "_" in name] == []


def test_settings_that_a_restricted_workspace_may_not_choose_are_declared() -> None:
    declared = manifest()["capabilities"]["untrustedWorkspaces"]["restrictedConfigurations"]
    assert {"indwell.serverPath", "indwell.model"} <= set(declared)


def test_every_vscode_setting_is_described_by_sentences_that_are_understood_alone() -> None:
    texts = {name: it["markdownDescription"] for name, it in settings().items()}
    assert len(set(texts.values())) == len(texts)
    for name, text in texts.items():
        assert re.fullmatch(r"[A-Z].*[^.]\.", text), name
        assert len(text.split(". ")[0].split()) > 4, name
        assert "`#" not in text, f"{name} explains itself by another setting"
        # A stranger does not know whose file that is.
        assert "config.toml" not in text or "Indwell's own settings file" in text, name


def test_every_value_of_a_vscode_setting_is_explained() -> None:
    for name, it in settings().items():
        told = it.get("enumDescriptions", it.get("enumItemLabels", []))
        assert len(told) == len(it.get("enum", [])), name


def test_no_two_vscode_settings_have_one_place_on_the_settings_page() -> None:
    orders = [it["order"] for it in settings().values()]
    assert len(set(orders)) == len(orders)


def test_every_command_has_a_category_and_a_title_of_its_own() -> None:
    commands = manifest()["contributes"]["commands"]
    assert {one["category"] for one in commands} == {"Indwell"}
    titles = [one["title"] for one in commands]
    assert len(set(titles)) == len(titles)
    small = {"a", "an", "and", "as", "at", "for", "in", "of", "the", "to"}
    words = [word for title in titles for word in title.split()]
    assert [word for word in words if not word[0].isupper() and word not in small] == []


def test_every_command_of_the_server_is_in_the_command_palette() -> None:
    offered = {entry["command"] for entry in manifest()["contributes"]["commands"]}
    assert set(COMMAND_NAMES) <= offered


def test_each_title_has_the_name_of_indwell_once_also_in_other_menus() -> None:
    """The palette adds ``Indwell:`` before the title; a context menu shows the title alone."""
    contributes = manifest()["contributes"]
    assert [one["title"] for one in contributes["commands"] if "Indwell" in one["title"]] == []
    named = {one["id"] for one in contributes["submenus"] if one["label"] == "Indwell"}
    shared = [
        place
        for place in contributes["menus"]
        # such a menu name is a field of Indwell's own
        if place.endswith("/context") and not place.startswith("comments/")
    ]
    entries = [entry for place in shared for entry in contributes["menus"][place]]
    assert len(shared) > 3
    assert [entry for entry in entries if entry.get("submenu") not in named] == []


def test_every_step_of_the_walkthrough_has_a_button_and_is_completed_by_what_was_done() -> None:
    contributes = manifest()["contributes"]
    keys = (
        PACKAGE.parent / "src" / "extension" / "editor" / "status" / "context-keys.ts"
    ).read_text("utf-8")
    offered = {one["command"] for one in contributes["commands"]}
    buttons = {}
    for step in contributes["walkthroughs"][0]["steps"]:
        (buttons[step["id"]],) = re.findall(r"\]\(command:([\w.]+)\)", step["description"])
        events = step["completionEvents"]
        # A step is completed by its context key, in whichever way it was done, or by its command.
        done = [one.removeprefix("onContext:indwell.") for one in events if "onContext" in one]
        assert [one for one in done if f'keep("{one}"' not in keys] == []
        assert done or f"onCommand:{buttons[step['id']]}" in events
    assert set(buttons.values()) <= offered
    assert buttons["trust"] == "indwell.trust"
