"""What ``indwell login`` asks at a terminal: which endpoint, which key, which model.

Everything here waits on the main thread, outside of any event loop: Ctrl-C ends it at once, and the
terminal is as it was before.
"""

from __future__ import annotations

import getpass
from collections.abc import Sequence

from rich.console import Console

from indwell.cli.model_table import model_table
from indwell.errors import UserError
from indwell.policy.approvals import visible
from indwell.providers.catalogue import CATALOGUE
from indwell.providers.endpoint import LocalServer
from indwell.providers.models import OfferedModel
from indwell.service.endpoint.addresses import address_of
from indwell.settings.secret import Secret
from indwell.settings.values import convert

NO_CHAT = ("embed", "rerank", "whisper", "tts", "dall-e", "moderation", "transcribe", "image")
"""Parts of names of models that do not chat; they come last in the list."""


def choose_address(servers: Sequence[LocalServer], console: Console) -> str:
    """Running servers first, then the network's providers, then any address."""
    rows: list[tuple[str, str]] = []
    for server in servers:
        state = f"{len(server.models)} models" if server.models else "no model yet"
        rows.append((f"{server.title}, running on this machine ({state})", server.base_url))
        if server.warning:
            say(console, f"! {server.warning}")
    rows += [(row.title, row.base_url) for row in CATALOGUE if row.port is None]
    say(console, "Which endpoint?")
    for number, (title, address) in enumerate(rows, 1):
        say(console, f"  {number:2}  {title}  {address}")
    say(console, "   or type an address, such as https://host/v1")
    while True:
        typed = _typed(console, "> ")
        if typed.isdecimal() and 1 <= int(typed) <= len(rows):
            return rows[int(typed) - 1][1]
        try:
            return address_of(typed)
        except UserError as error:
            say(console, str(error))


def ask_key(enter_means: str) -> Secret | None:
    """A key, typed unseen; None if only Enter was pressed.

    Args:
        enter_means: What happens then, for the prompt.
    """
    while True:
        typed = getpass.getpass(f"Key (not shown; Enter: {enter_means}): ").strip()
        if not typed:
            return None
        try:
            return checked_key(typed)
        except UserError as error:
            print(str(error))


def checked_key(text: str) -> Secret:
    """A key that can be sent.

    Raises:
        SettingsError: It holds what no key has.
    """
    key = convert("api_key", text)
    assert isinstance(key, Secret)
    return key


def pick_model(offered: Sequence[OfferedModel], console: Console) -> str:
    """Let the user choose by number, name, or a part of names that narrows the list."""
    if not offered:
        return _typed(console, "Which model? Its name, as the endpoint calls it > ")
    able = [one for one in offered if one.tools is not False] or list(offered)
    shown = sorted(able, key=lambda one: is_no_chat(one.name))
    while True:
        model_table(console, shown, numbered=True)
        typed = _typed(console, "Which model? A number, a name, or a part of one > ")
        if typed.isdecimal() and 1 <= int(typed) <= len(shown):
            return shown[int(typed) - 1].name
        if typed in {one.name for one in offered}:
            return typed
        near = [one for one in offered if typed.lower() in one.name.lower()]
        if len(near) == 1:
            return near[0].name
        if near:
            shown = near
        else:
            say(console, f"No model is called {typed!r}.")


def is_no_chat(name: str) -> bool:
    """Does the name say that it is no model for a conversation?"""
    return any(part in name.lower() for part in NO_CHAT)


def say(console: Console, text: str) -> None:
    """A line, as it stands; nothing in it can drive the terminal."""
    console.print(visible(text), markup=False, highlight=False, soft_wrap=True)


def _typed(console: Console, prompt: str) -> str:
    console.print(prompt, end="", markup=False)
    return input().strip()
