"""``indwell login`` and ``logout``: an endpoint, its key and its model, tested and stored."""

from __future__ import annotations

import asyncio
import getpass
import os
import sys
from collections.abc import Mapping, Sequence

import msgspec
from rich.console import Console

from indwell.cli.connect import Endpoint, Places, address_of, connect
from indwell.cli.model_table import model_table
from indwell.cli.stored_keys import key_store
from indwell.errors import IndwellError, UserError
from indwell.policy.approvals import visible
from indwell.providers.catalogue import CATALOGUE, row_of, title_of
from indwell.providers.connection import LocalServer, LoginOutcome, Step
from indwell.providers.discovery import find_servers, local_rows
from indwell.providers.models import OfferedModel
from indwell.settings.model import Secret
from indwell.settings.origins import origin_of
from indwell.settings.places import user_file
from indwell.settings.values import convert

MARKS = {"ok": "✓", "warn": "!", "fail": "✗", "skipped": "–"}
PLAIN_MARKS = {"ok": "ok", "warn": "warning:", "fail": "FAILED:", "skipped": "-"}
STDIN_LIMIT = 4_096  # characters; longer is no key


class Wish(msgspec.Struct, frozen=True):
    """The command line; ``provider`` is a name of the catalogue, an address, or None to choose."""

    provider: str | None = None
    key_stdin: bool = False
    model: str | None = None
    json: bool = False
    is_tested: bool = True


class NotAsked(UserError):
    """Something had to be asked, and there is no terminal: the command line is not complete."""


def login(wish: Wish) -> int:
    """Log in; 0 stored, 1 not, 2 if something is missing that cannot be asked here."""
    # With --json only the outcome goes to stdout; what is asked and told goes to stderr.
    console = Console(stderr=wish.json, highlight=False, soft_wrap=True)
    try:
        outcome = asyncio.run(_login(wish, console))
    except NotAsked as error:
        return _failed(wish, console, str(error), 2)
    except IndwellError as error:
        return _failed(wish, console, str(error), 1)
    except (KeyboardInterrupt, EOFError):
        return _failed(wish, console, "stopped; nothing was stored", 1)
    if wish.json:
        sys.stdout.write(msgspec.json.encode(outcome).decode() + "\n")
    for note in outcome.notes:
        _say(console, note)
    _say(console, outcome.message)
    if outcome.ok:
        _say(console, "Editors take it with their next request; `indwell doctor` checks the rest.")
    return 0 if outcome.ok else 1


async def _login(wish: Wish, console: Console) -> LoginOutcome:
    places = Places(user_file(), key_store(), os.environ)
    base_url = await _address(wish, console)
    key = await _key(wish, base_url, console, places)

    async def pick(offered: tuple[OfferedModel, ...]) -> str | None:
        return await asyncio.to_thread(_pick_model, offered, console)

    endpoint = Endpoint(base_url, key, wish.model, wish.is_tested)
    return await connect(
        endpoint,
        places,
        pick=pick if _is_asked(wish) else None,
        on_step=lambda step: show_step(console, step),
    )


async def _address(wish: Wish, console: Console) -> str:
    for row in local_rows(os.environ):
        if row.name == wish.provider:
            return row.base_url  # where it listens, if its own variable says so
    if wish.provider is not None:
        return address_of(wish.provider)
    if not _is_asked(wish):
        names = ", ".join(row.name for row in CATALOGUE)
        raise NotAsked(f"name the provider: one of {names}, or an address 'https://…/v1'")
    servers = await find_servers(environment=os.environ)
    return await asyncio.to_thread(_choose_address, servers, console)


def _choose_address(servers: Sequence[LocalServer], console: Console) -> str:
    """Running servers first, then the network's providers, then any address."""
    rows: list[tuple[str, str]] = []
    for server in servers:
        state = f"{len(server.models)} models" if server.models else "no model yet"
        rows.append((f"{server.title}, running on this machine ({state})", server.base_url))
        if server.warning:
            _say(console, f"! {server.warning}")
    rows += [(row.title, row.base_url) for row in CATALOGUE if row.port is None]
    _say(console, "Which endpoint?")
    for number, (title, address) in enumerate(rows, 1):
        _say(console, f"  {number:2}  {title}  {address}")
    _say(console, "   or type an address, such as https://host/v1")
    while True:
        typed = _typed(console, "> ")
        if typed.isdecimal() and 1 <= int(typed) <= len(rows):
            return rows[int(typed) - 1][1]
        try:
            return address_of(typed)
        except UserError as error:
            _say(console, str(error))


async def _key(wish: Wish, base_url: str, console: Console, places: Places) -> Secret | None:
    if wish.key_stdin:
        return _checked(await asyncio.to_thread(sys.stdin.readline, STDIN_LIMIT))
    row = row_of(base_url)
    for variable in row.variables if row is not None else ():
        text = os.environ.get(variable, "").strip()
        if text:
            _say(console, f"The key is taken from {variable}.")
            return _checked(text)
    if row is not None and not row.needs_key:
        return None
    kept = await asyncio.to_thread(places.keys.get, origin_of(base_url))
    if not _is_asked(wish):
        if kept is None and row is not None:
            raise NotAsked(f"{title_of(base_url)} needs a key; pipe it in, with --key-stdin")
        return None
    if row is not None and row.key_page:
        _say(console, f"A key is made at {row.key_page}")
    stored = "the stored one" if kept is not None else "none"
    typed = await asyncio.to_thread(getpass.getpass, f"Key (not shown; Enter: {stored}): ")
    return _checked(typed) if typed.strip() else None


def _pick_model(offered: tuple[OfferedModel, ...], console: Console) -> str | None:
    """Let the user choose by number, name, or a part of names that narrows the list."""
    shown = tuple(one for one in offered if one.tools is not False) or offered
    while True:
        model_table(console, shown, numbered=True)
        typed = _typed(console, "Which model? A number, a name, or a part of one > ")
        if typed.isdecimal() and 1 <= int(typed) <= len(shown):
            return shown[int(typed) - 1].name
        if typed in {one.name for one in offered}:
            return typed
        near = tuple(one for one in offered if typed.lower() in one.name.lower())
        if len(near) == 1:
            return near[0].name
        if near:
            shown = near
        else:
            _say(console, f"No model is called {typed!r}.")


def show_step(console: Console, step: Step) -> None:
    """One line for a step that was tried, one more for how to mend it."""
    encoding = console.encoding.lower()
    marks = MARKS if encoding.startswith("utf") else PLAIN_MARKS
    _say(console, f"{marks[step.state]} {step.sentence}")
    if step.mend and step.state in {"fail", "warn"}:
        _say(console, f"  → {step.mend}" if marks is MARKS else f"  {step.mend}")


def _say(console: Console, text: str) -> None:
    console.print(visible(text), markup=False, highlight=False, soft_wrap=True)


def _typed(console: Console, prompt: str) -> str:
    console.print(prompt, end="", markup=False)
    return input().strip()


def _checked(text: str) -> Secret:
    key = convert("api_key", text)
    assert isinstance(key, Secret)
    return key


def _is_asked(wish: Wish) -> bool:
    """Is there a person at a terminal?"""
    return sys.stdin.isatty() and not wish.key_stdin


def _failed(wish: Wish, console: Console, message: str, code: int) -> int:
    if wish.json:
        answer: Mapping[str, object] = {"ok": False, "message": message}
        sys.stdout.write(msgspec.json.encode(answer).decode() + "\n")
    else:
        _say(Console(stderr=True) if code else console, message)
    return code
