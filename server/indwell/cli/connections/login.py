"""``indwell login`` and ``indwell logout``: store and delete keys, and choose a model."""

from __future__ import annotations

import getpass
import os
import sys
from collections.abc import Mapping, Sequence

import msgspec
from rich.console import Console

from indwell.cli import code_of_stop
from indwell.cli.connections.models import model_table
from indwell.cli.terminal.interruptible_work import wait_for
from indwell.cli.terminal.json_line import json_line
from indwell.cli.terminal.telling import tell, told
from indwell.context.untrusted_text import visible
from indwell.errors import IndwellError, UserError, WrongArgument
from indwell.providers.catalogue import CATALOGUE, row_of, title_of
from indwell.providers.discovery import find_servers, local_rows
from indwell.providers.endpoint import (
    EndpointStep,
    LocalServer,
    LoginOutcome,
    failure,
)
from indwell.providers.offered_models import OfferedModel
from indwell.service.endpoint.connect import (
    Endpoint,
    EndpointPlaces,
    address_of,
    checked_name,
    connect,
    found,
    known_key,
)
from indwell.service.endpoint.connection_test import NAME_ONE, EndpointAnswer
from indwell.service.stored_keys import key_store
from indwell.service.user_settings import (
    extras_at,
    named_endpoints,
    used_elsewhere,
)
from indwell.settings.credentials import Secret, origin_of
from indwell.settings.paths import user_file
from indwell.settings.values import convert

NO_CHAT = ("embed", "rerank", "whisper", "tts", "dall-e", "moderation", "transcribe", "image")
"""Parts of names of models that cannot chat; such models come last in the list."""


NO_SERVER = "No model server, such as Ollama, runs here. Start one and run `indwell login` again."


def choose_address(servers: Sequence[LocalServer], console: Console) -> str:
    """Let the user choose a running server, a known provider, or another address."""
    rows: list[tuple[str, str]] = []
    for server in servers:
        state = f"{len(server.models)} models" if server.models else "no model yet"
        rows.append((f"{server.title}, running on this machine ({state})", server.base_url))
        if server.warning:
            say(console, f"! {server.warning}")
    if not servers:
        say(console, NO_SERVER)
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
    """Read a key without showing it; return None if the user only pressed Enter.

    Args:
        enter_means: A description of what Enter alone does, for the prompt.
    """
    while True:
        typed = getpass.getpass(f"Key (not shown; Enter: {enter_means}): ").strip()
        if not typed:
            return None
        try:
            return checked_key(typed)
        except UserError as error:
            tell(str(error))


def checked_key(text: str) -> Secret:
    """Validate a key.

    Raises:
        SettingsError: The key has invalid characters.
    """
    key = convert("api_key", text)
    assert isinstance(key, Secret)
    return key


def pick_model(offered: Sequence[OfferedModel], console: Console) -> str:
    """Let the user choose by number, by name, or by a part of a name."""
    if not offered:
        return _typed(console, "Which model? Type its name at the endpoint > ")
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
            say(console, f"There is no model named {typed!r}.")


def is_no_chat(name: str) -> bool:
    """Return whether the name is that of a model that cannot chat."""
    return any(part in name.lower() for part in NO_CHAT)


def say(console: Console, text: str) -> None:
    """Print a line unchanged, but without control characters for the terminal."""
    console.print(visible(told(text)), markup=False, highlight=False, soft_wrap=True)


def _typed(console: Console, prompt: str) -> str:
    console.print(told(prompt), end="", markup=False)
    return input().strip()


MARKS = {"ok": "✓", "warn": "!", "fail": "✗", "skipped": "–"}
PLAIN_MARKS = {"ok": "ok", "warn": "warning:", "fail": "FAILED:", "skipped": "-"}
STDIN_LIMIT = 4_096  # the limit of characters from stdin; keys are shorter


class LoginOptions(msgspec.Struct, frozen=True):
    """The options of ``indwell login``.

    ``provider`` is a name from the catalogue, the name of an endpoint in the settings, an address,
    or None to choose. ``name`` is the name of the endpoint's table in the settings. ``name`` is
    empty for the endpoint outside of the tables, and None if no name is given.
    """

    provider: str | None = None
    name: str | None = None
    key_stdin: bool = False
    model: str | None = None
    json: bool = False
    is_tested: bool = True


def login(wish: LoginOptions) -> int:
    """Log in; return 0 if a model is stored, 1 if not, 2 if a value is missing."""
    # With --json, only the result goes to stdout; questions and messages go to stderr.
    console = Console(stderr=wish.json, highlight=False, soft_wrap=True)
    try:
        outcome = _login(wish, console)
    except WrongArgument as error:
        return _failed(wish, str(error), 2)
    except IndwellError as error:
        return _failed(wish, str(error), 1)
    except (KeyboardInterrupt, EOFError) as error:
        if sys.stdin.isatty():
            console.print()  # start a new line after ^C
        code = code_of_stop(error) if isinstance(error, KeyboardInterrupt) else 1
        return _failed(wish, "stopped; nothing was stored", code)
    outcome = msgspec.structs.replace(outcome, notes=(*outcome.notes, *_small_context(outcome)))
    if wish.json:
        sys.stdout.write(json_line(outcome) + "\n")
    for note in outcome.notes:
        say(console, note)
    say(console, outcome.message)
    if outcome.ok:
        say(
            console,
            "Editors use it from their next request. To check the rest, run `indwell doctor`.",
        )
    return 0 if outcome.ok else 1


def _login(wish: LoginOptions, console: Console) -> LoginOutcome:
    places = EndpointPlaces(user_file(), key_store(), os.environ)
    wish = _with_name(wish)
    base_url = _address(wish, console)
    if wish.name is None:
        wish = msgspec.structs.replace(wish, name=_ask_name(wish, base_url, console))
    if _is_asked(wish) and wish.is_tested:
        return _conversation(wish, base_url, console, places)
    key = _key(wish, base_url, console, places)
    model = wish.model
    if model is None and _is_asked(wish):
        model = pick_model((), console)
    endpoint = msgspec.structs.replace(
        _endpoint(wish, base_url, key), model=model, is_tested=wish.is_tested
    )
    _wait(console, f"Asking {title_of(base_url)} …")
    return wait_for(
        connect(endpoint, places, on_step=lambda step: show_step(console, _for_command_line(step)))
    )


def _conversation(
    wish: LoginOptions, base_url: str, console: Console, places: EndpointPlaces
) -> LoginOutcome:
    """Ask for values and test them, until all values work or the user stops."""
    key = _key(wish, base_url, console, places)
    while True:
        _wait(console, f"Asking {title_of(base_url)} …")
        key = key or known_key(base_url, places, wish.name or "")
        extras = extras_at(os.environ, wish.name or "", base_url)
        base_url, looked = wait_for(found(base_url, key.reveal() if key else None, extras))
        for step in looked.steps:
            show_step(console, step)
        failed = failure(looked.steps)
        if failed is None:
            outcome = _with_model(wish, _endpoint(wish, base_url, key), looked, console, places)
            failed = failure(outcome.steps)
            if outcome.ok or failed is None or failed.name != "key":
                return outcome
        if failed.name == "key":
            key = ask_key("stop")
            if key is None:
                return _not_yet(base_url, looked.steps)
        elif wish.provider is None:
            base_url = _address(wish, console)
            key = _key(wish, base_url, console, places)
        else:
            return _not_yet(base_url, looked.steps)


def _with_model(
    wish: LoginOptions,
    endpoint: Endpoint,
    looked: EndpointAnswer,
    console: Console,
    places: EndpointPlaces,
) -> LoginOutcome:
    """Choose a model and test it; after a failure, let the user choose another model."""
    left = list(looked.models)
    name = wish.model or (left[0].name if len(left) == 1 else pick_model(left, console))
    while True:
        _wait(console, f"Asking {name} to call a tool; it may have to be loaded first …")
        trying = msgspec.structs.replace(endpoint, model=name)
        outcome = wait_for(
            connect(trying, places, looked=looked, on_step=lambda step: show_step(console, step))
        )
        failed = failure(outcome.steps)
        left = [one for one in left if one.name != name]
        is_models_fault = failed is not None and failed.name in {"tools", "streaming"}
        if not is_models_fault or not left:
            return outcome
        name = pick_model(left, console)


def _endpoint(wish: LoginOptions, base_url: str, key: Secret | None) -> Endpoint:
    name = wish.name or ""
    return Endpoint(base_url, key, name=name, extras=extras_at(os.environ, name, base_url))


def _with_name(wish: LoginOptions) -> LoginOptions:
    """Replace the name of an endpoint in the settings with its address; check a new name."""
    tables = named_endpoints(os.environ)
    if wish.name is None and wish.provider in tables:
        wish = msgspec.structs.replace(wish, name=wish.provider, provider=None)
    if wish.name is None:
        return wish
    known = tables.get(checked_name(wish.name), {}).get("base_url")
    return msgspec.structs.replace(wish, provider=wish.provider or (str(known) if known else None))


def _ask_name(wish: LoginOptions, base_url: str, console: Console) -> str:
    """Ask for an endpoint's name if another endpoint is in use, so that both can be kept."""
    if not _is_asked(wish):
        return ""
    used = used_elsewhere(os.environ, base_url)
    if not used:
        return ""
    say(console, f"You already use {used}.")
    while True:
        words = "Type a name, such as work, to keep both (Enter: use the new one instead) > "
        typed = _typed(console, words)
        try:
            return checked_name(typed) if typed else ""
        except UserError as error:
            say(console, str(error))


def _address(wish: LoginOptions, console: Console) -> str:
    for row in local_rows(os.environ):
        if row.name == wish.provider:
            return row.base_url  # An environment variable of the server has the address.
    if wish.provider is not None:
        return address_of(wish.provider)
    if not _is_asked(wish):
        names = ", ".join(row.name for row in CATALOGUE)
        raise WrongArgument(f"name the provider: one of {names}, or an address 'https://…/v1'")
    return choose_address(wait_for(find_servers(environment=os.environ)), console)


def _key(
    wish: LoginOptions, base_url: str, console: Console, places: EndpointPlaces
) -> Secret | None:
    if wish.key_stdin:
        if not (text := sys.stdin.readline(STDIN_LIMIT).strip()):
            raise WrongArgument("--key-stdin: stdin is empty; check the command before the pipe")
        return checked_key(text)
    row = row_of(base_url)
    own = str(named_endpoints(os.environ).get(wish.name or "", {}).get("api_key_variable", ""))
    for variable in filter(None, (own, *(row.variables if row is not None else ()))):
        text = os.environ.get(variable, "").strip()
        if text:
            say(console, f"Using the key from {variable}.")
            return checked_key(text)
    if row is not None and not row.needs_key:
        return None
    kept = places.keys.get(origin_of(base_url))
    if not _is_asked(wish):
        if kept is None and row is not None:
            raise WrongArgument(f"{title_of(base_url)} needs a key; pipe it in with --key-stdin")
        return None
    if row is not None and row.key_page:
        say(console, f"Create a key at {row.key_page}")
    return ask_key("the stored one" if kept is not None else "none")


def _small_context(outcome: LoginOutcome) -> tuple[str, ...]:
    """Return warnings about a local server, such as that the server cuts long prompts."""
    if not outcome.ok:
        return ()
    rows = [row for row in local_rows(os.environ) if row.base_url == outcome.base_url]
    servers = wait_for(find_servers(rows, environment=os.environ)) if rows else ()
    return tuple(server.warning for server in servers if server.warning)


def _not_yet(base_url: str, steps: tuple[EndpointStep, ...]) -> LoginOutcome:
    message = f"{title_of(base_url)} does not work yet; nothing was stored"
    return LoginOutcome(ok=False, base_url=base_url, model="", steps=steps, message=message)


def show_step(console: Console, step: EndpointStep) -> None:
    """Print a line for a tested step, and a line with advice."""
    encoding = console.encoding.lower()
    marks = MARKS if encoding.startswith("utf") else PLAIN_MARKS
    say(console, f"{marks[step.state]} {step.sentence}")
    if step.fix and step.state in {"fail", "warn"}:
        say(console, f"  → {step.fix}" if marks is MARKS else f"  {step.fix}")


def _for_command_line(step: EndpointStep) -> EndpointStep:
    """Return a step's result with the command-line option that fixes the problem."""
    if step.fix != NAME_ONE:
        return step
    return msgspec.structs.replace(step, fix=f"{NAME_ONE} with --model")


def _wait(console: Console, words: str) -> None:
    """Tell the user at a terminal why the command takes time."""
    if console.is_terminal:
        say(console, words)


def _is_asked(wish: LoginOptions) -> bool:
    """Return whether a user at a terminal can be asked."""
    return sys.stdin.isatty() and not wish.key_stdin


def _failed(wish: LoginOptions, message: str, code: int) -> int:
    if wish.json:
        answer: Mapping[str, object] = {"ok": False, "message": message}
        sys.stdout.write(json_line(answer) + "\n")
    else:
        say(Console(stderr=True), message)
    return code


def logout(wanted: str | None, *, as_json: bool) -> int:
    """Delete keys; return 0 for success, 1 if the endpoint has no key.

    Raises:
        UserError: A key cannot be deleted.
    """
    store = key_store()
    origins = tuple(store.origins())
    if wanted is not None:
        table = named_endpoints(os.environ).get(wanted)
        origins = (origin_of(str(table["base_url"]) if table else address_of(wanted)),)
    gone = tuple(origin for origin in origins if store.forget(origin))
    if as_json:
        sys.stdout.write(json_line({"forgotten": gone}) + "\n")
    elif gone:
        tell("forgotten: " + ", ".join(gone))
    else:
        endpoint = origins[0] if origins else ""
        tell("no key is stored" if wanted is None else f"no key is stored for {endpoint}")
    return 0 if gone or wanted is None else 1
