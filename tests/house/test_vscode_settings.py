"""What the VS Code extension contributes is what the server takes, and no workspace loosens it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from indwell.lsp.names import COMMAND_NAMES
from indwell.settings.tighten import RULES

PACKAGE = Path(__file__).resolve().parents[2] / "vscode-extension" / "package.json"
OUR_OWN = {"serverPath", "enterSends"}
HARMLESS = {"model", "review_hints"}  # chosen among the user's own, and a matter of taste


def manifest() -> Any:
    return json.loads(PACKAGE.read_text("utf-8"))


def settings() -> dict[str, Any]:
    """By their name after ``indwell.``."""
    properties = manifest()["contributes"]["configuration"]["properties"]
    return {name.removeprefix("indwell."): value for name, value in properties.items()}


def server_name(name: str) -> str:
    """As ``serverName`` of src/extension/server/configuration.ts."""
    small = re.sub("[A-Z]", lambda found: f"_{found[0].lower()}", name)
    return f"{small}_s" if small.endswith("_timeout") else small


def for_the_server() -> dict[str, Any]:
    return {server_name(name): it for name, it in settings().items() if name not in OUR_OWN}


def test_the_extension_offers_exactly_what_the_server_takes_from_an_editor() -> None:
    assert set(for_the_server()) == {*RULES, "model"}


def test_no_workspace_can_put_its_value_in_the_place_of_the_users_own() -> None:
    scopes = {name: value["scope"] for name, value in for_the_server().items()}
    assert {name for name, scope in scopes.items() if scope != "application"} == HARMLESS
    assert settings()["serverPath"]["scope"] == "machine"


def test_settings_of_the_server_are_not_set_until_the_user_sets_them() -> None:
    unset = (None, [], "", "config")
    assert [name for name, it in for_the_server().items() if it["default"] not in unset] == []


def test_the_settings_page_can_draw_every_setting() -> None:
    """VS Code draws no switch and no list of choices that may be null: only a link to the file."""
    drawn = ("string", "boolean", "array", ["number", "null"], ["integer", "null"])
    assert [name for name, it in settings().items() if it["type"] not in drawn] == []
    assert [name for name in settings() if "_" in name] == []


def test_what_a_restricted_workspace_may_not_choose_is_declared() -> None:
    declared = manifest()["capabilities"]["untrustedWorkspaces"]["restrictedConfigurations"]
    assert {"indwell.serverPath", "indwell.model"} <= set(declared)


def test_every_setting_says_what_it_is() -> None:
    assert [name for name, it in settings().items() if len(it["markdownDescription"]) < 30] == []


def test_every_command_of_the_server_is_one_of_the_palette() -> None:
    offered = {entry["command"] for entry in manifest()["contributes"]["commands"]}
    assert set(COMMAND_NAMES) <= offered
