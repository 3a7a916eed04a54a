"""``indwell run``: runs one turn from the terminal, or several, within optional limits."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path

import msgspec
from rich.console import Console

from indwell.agent.compaction.fit import COMPACT, is_compact, no_command
from indwell.agent.core import events
from indwell.agent.core.prompt import Prompt, taken_words
from indwell.agent.core.session import Session
from indwell.bounds.secrets import SecretPlaces, denied_name
from indwell.cli import DONE, FAILED, LIMITED, USAGE, code_of_stop
from indwell.cli.run.answer import UnusableFile, view_of
from indwell.cli.run.grammar import RunLimits, RunOptions
from indwell.cli.run.metered_calls import MeteredCalls
from indwell.cli.run.session import LeanModels, carrying_out, rewound, session_of, tell_rewound
from indwell.cli.terminal.front_door import AllowingApprover, TerminalDoor, TerminalPerson
from indwell.cli.terminal.interruptible_work import stopping, wait_for
from indwell.cli.terminal.stdin import WrongInput, begun, stdin_prompts, stdin_text
from indwell.cli.terminal.telling import tell
from indwell.context.attachments import PastedText, Selection
from indwell.context.untrusted_text import visible
from indwell.errors import ToolError, UserError, WrongArgument
from indwell.files.listing import has_other_names
from indwell.lazy_pattern import lazy_pattern
from indwell.messages import Usage
from indwell.policy.approvals import Approver
from indwell.policy.paths import matches_any
from indwell.sandbox.environment import own_environment
from indwell.service.endpoint.connect import address_place
from indwell.service.service import Service
from indwell.service.sessions.inherited_task import naming_new_session
from indwell.service.sessions.stored_sessions import gone_words, sweep_now
from indwell.sessions.storage.automatic_deletion import take_untold
from indwell.settings.model import Settings
from indwell.settings.paths import state_folder
from indwell.wiring.model import NoModel
from indwell.wiring.service import Composition
from indwell.workspace.base import Workspace
from indwell.workspace.paths import FIND, display
from indwell.workspace.text import split_lines

_PLACE = lazy_pattern(r"^(?P<path>.+?)(?::L?(?P<first>\d+)(?:-L?(?P<last>\d+))?)?$")

_OPTIONS = {"budget_session": "--max-cost", "budget_turn_tokens": "--max-tokens"}
"""The command-line option that sets each budget."""


class WrongPlace(UserError):
    """The option ``--file`` names no file that can be sent."""


async def selection_of(place: str, workspace: Workspace, settings: Settings) -> Selection:
    """Return the selection for ``PATH`` or ``PATH:L1-L2``.

    Raises:
        WrongPlace: The file does not exist, may not be sent, or lacks the lines.
    """
    match = _PLACE.match(place)
    if match is None:
        raise WrongPlace("the path is empty; write PATH or PATH:L1-L2")
    try:
        path = workspace.resolve(match["path"])
        snapshot = await workspace.read(path)
    except ToolError as error:
        raise WrongPlace(str(error).removesuffix(FIND)) from error
    shown = display(path, workspace.roots)
    deny = settings.deny
    if any(matches_any(name, deny) for name in (shown, match["path"])):
        raise WrongPlace(f"{shown!r} matches a deny rule for secrets, so it is not sent")
    if has_other_names(path) and (other := await asyncio.to_thread(_denied, path, workspace, deny)):
        raise WrongPlace(
            f"{shown!r} is another name (a hard link) of {other!r}, which matches a deny rule for "
            "secrets, so it is not sent"
        )
    lines = split_lines(snapshot.text)
    first = int(match["first"] or 1)
    last = int(match["last"] or match["first"] or len(lines))
    if not 1 <= first <= last <= len(lines):
        n_lines = "1 line" if len(lines) == 1 else f"{len(lines)} lines"
        raise WrongPlace(f"{shown!r} has {n_lines}, so there is no range {first}-{last}")
    return Selection(
        path=shown, first_line=first, last_line=last, text="".join(lines[first - 1 : last])
    )


def _denied(path: Path, workspace: Workspace, deny: tuple[str, ...]) -> str:
    """Return a name of the file that a deny rule matches, such as a hard link; blocks."""
    secret = SecretPlaces(workspace.roots, lambda: deny).look()
    return denied_name(path, workspace.roots, secret, deny)


def run(wish: RunOptions) -> int:
    """Run the prompts; return the exit code."""
    try:
        view = view_of(wish)
    except UnusableFile as error:
        tell(visible(str(error)), file=sys.stderr)
        return USAGE
    if refused := _refused(wish):
        view(_failed(refused, ""))
        return 1
    told = _EndSeen(view)
    try:
        if wish.turn is not None and not wish.words.strip() and wish.stdin is None:
            session, made = wait_for(rewound(wish))
            tell_rewound(session, made, as_json=wish.json, files=wish.files)
            return 0
        return wait_for(_timed(wish, told))
    except WrongPlace as error:
        view(_failed(f"--file: {error}", wish.words))
        return USAGE
    except WrongInput as error:
        view(_failed(f"stdin: {error}", wish.words))
        return USAGE
    except NoModel as error:
        view(_failed(f"{error}{wait_for(_what_runs_here())}", wish.words))
        return 1
    except (UserError, ToolError) as error:
        view(_failed(str(error), wish.words))
        return USAGE if isinstance(error, WrongArgument) else 1
    except KeyboardInterrupt as stop:
        told.stopped(wish.words)
        return code_of_stop(stop)
    except asyncio.CancelledError:
        return 1  # another program closed the output


class _EndSeen:
    """Forwards events to ``view``, and remembers whether a turn has ended."""

    def __init__(self, view: events.Listener) -> None:
        self._view, self._has_ended = view, False

    def __call__(self, event: events.Event) -> None:
        self._has_ended |= isinstance(event, events.TurnFinished)
        self._view(event)

    def stopped(self, draft: str) -> None:
        """Report that the command was stopped, unless a turn has already reported that."""
        if not self._has_ended:
            end = _failed("stopped before the turn began", draft)
            self._view(msgspec.structs.replace(end, ending="cancelled"))


_INTERACTIVE = frozenset(
    ("/context", "/cost", "/exit", "/help", "/model", "/plan", "/quit", "/resume", "/review")
) | {"/rewind", "/share", "/trust", "/worktree"}
"""Commands that only an interactive session has."""


def _refused(wish: RunOptions) -> str:
    """Return why a prompt that is a command cannot run here, or an empty text."""
    if is_compact(wish.words) and not wish.session:
        return f"there is no conversation to shorten yet; resume one with `--continue {COMPACT}`"
    if wish.words.lstrip().startswith("/"):  # other prompts cannot be commands
        from indwell.wiring.project_files import names_here

        names = names_here((wish.folder,), os.environ, is_given=wish.trust)
        name = wish.words.split()[0]
        if name[1:] not in names and name in _INTERACTIVE:
            return f"`{name}` works in an interactive session; begin one with `indwell`"
        return no_command(wish.words, names)
    return ""


async def _timed(wish: RunOptions, view: events.Listener) -> int:
    """Run within the time limit; return the exit code."""
    view = stopping(_placing(view))
    untold = _failed("", wish.words)
    return await within(wish.limits.seconds, view, partial(_turns, wish), untold)


async def _turns(wish: RunOptions, view: events.Listener, ending: AsyncExitStack) -> int:
    attached = ""
    if wish.stdin == "text":
        attached = await stdin_text()
        if not wish.words.strip():
            wish, attached = msgspec.structs.replace(wish, words=attached), ""
    door = _door_of(wish, view)
    calls = MeteredCalls() if wish.metered else None
    service = _service_of(wish, door, calls)
    opened: list[Session] = []
    ending.push_async_callback(_end, service, opened)
    if calls is not None:
        calls.begin()
    await service.settle()
    settings = service.settings
    if wish.approves:
        service.configuration.override(mode=carrying_out(settings).mode)
    selection = None
    if wish.place is not None:
        selection = await selection_of(wish.place, service.workspace, settings)
    # Read the first line before the session opens, so that an invalid line creates no session.
    lines = await begun(stdin_prompts()) if wish.stdin == "jsonl" else None
    session, words = await session_of(wish, service)
    opened.append(session)
    texts = (PastedText("standard input", attached),) if attached else ()
    prompt = Prompt("", selection=selection, texts=texts)
    limiting = Limiting(session, wish.limits)
    door.view = view = limiting.wording(naming_new_session(view, session.id))
    return await _one_by_one(service, lines or _once(words), prompt, limiting, view)


def _door_of(wish: RunOptions, view: events.Listener) -> TerminalDoor:
    console = Console(stderr=True)
    approver: Approver = AllowingApprover() if wish.allow else TerminalPerson(console)
    return TerminalDoor(view, approver, console)


def _service_of(wish: RunOptions, door: TerminalDoor, calls: MeteredCalls | None) -> Service:
    """Return the service for one command, in the folder that the options name."""
    composition = Composition(
        own_environment(),
        scripted=wish.scripted,
        models=LeanModels(calls),
        is_trust_given=wish.trust,
        in_worktrees=wish.worktree,
    )
    service = composition.service(door, is_resident=False)
    service.start((wish.folder,), {})
    service.sessions.workspace = composition.disk((wish.folder,))
    service.configuration.override(mode=wish.mode, model=wish.model, effort=wish.effort)
    return service


async def _end(service: Service, opened: Sequence[Session]) -> None:
    """Close all sessions; then delete old sessions, as the server does."""
    settings = service.settings
    await service.stop()
    for session in opened:
        await asyncio.to_thread(_sweep, settings, session.id)


async def _once(words: str) -> AsyncIterator[str]:
    yield words


async def _one_by_one(
    service: Service,
    prompts: AsyncIterator[str],
    along: Prompt,
    limiting: Limiting,
    view: events.Listener,
) -> int:
    """Run a turn for each prompt until a limit is reached; add ``along`` to the first prompt.

    The result is the exit code of the reached limit, or of the first failed turn.
    """
    code = DONE
    async for given in prompts:
        words = taken_words(given)
        if why := limiting.begin_turn():
            view(msgspec.structs.replace(_failed(why, words), ending="limit"))
            return LIMITED
        prompt = msgspec.structs.replace(along, words=words, title=words[:60])
        ended = limiting.end_turn(await _finished(service, prompt))
        if ended == LIMITED:
            return LIMITED
        code, along = code or ended, Prompt("")
    return code


async def _finished(service: Service, prompt: Prompt) -> events.TurnFinished:
    """Run a turn of the current session to its end; a cancellation stops the turn properly."""
    ticket = service.turns.submit(service.waiting(prompt), _nothing)
    try:
        return await ticket.wait()
    except asyncio.CancelledError:
        service.turns.abandon(ticket)
        await ticket.ended.wait()
        raise


async def _nothing(session: Session, finished: events.TurnFinished) -> None:
    """Do nothing, because an event has shown the end of the turn."""
    del session, finished


def _placing(view: events.Listener) -> events.Listener:
    """Return a listener that adds a hint on the settings if the endpoint does not answer."""

    def tell(event: events.Event) -> None:
        if isinstance(event, events.TurnFinished) and event.retryable:
            message = f"{event.message}{address_place(os.environ)}"
            event = msgspec.structs.replace(event, message=message)
        view(event)

    return tell


def _sweep(settings: Settings, session: str) -> None:
    """Delete old sessions, as the server does, and report the deleted sessions."""
    state = state_folder(os.environ)
    if sweep_now(state, settings, session) is not None:
        tell(gone_words(take_untold(state)), file=sys.stderr)


async def _what_runs_here() -> str:
    """Return the end of a message about a missing model, with a local model server."""
    from indwell.providers.discovery import find_servers

    ready = [one for one in await find_servers(environment=os.environ) if one.is_ready]
    return f"; {ready[0].title} runs here: `indwell login {ready[0].name}`" if ready else ""


def _failed(message: str, draft: str) -> events.TurnFinished:
    return events.TurnFinished(
        turn=0,
        ending="failed",
        message=message,
        answer="",
        draft=draft,
        rounds=0,
        usage=Usage(),
        cost=0.0,
        seconds=0.0,
    )


class Limiting:
    """Enforces the limits of a session.

    Raises:
        UserError: The user set a limit in US dollars, but the model's price is unknown.
    """

    def __init__(self, session: Session, limits: RunLimits) -> None:
        parts = session.parts
        if limits.cost is not None and parts.model.cost(Usage(input=1, output=1)) is None:
            raise UserError(
                f"the price of {session.conversation.config.model!r} is not known, so --max-cost "
                f"cannot be enforced; set `price_in` and `price_out`, or use --max-tokens"
            )
        self._session, self._limits = session, limits
        self._budgets, self._round_limit = parts.limits.budgets, parts.limits.rounds
        self._cost, self._usage = session.spending.spent, session.spending.usage
        self._n_rounds = 0

    def begin_turn(self) -> str:
        """Give the next turn the remaining budget; return a reason if no budget remains."""
        limits, budgets = self._limits, self._budgets
        rounds = self._round_limit
        if limits.rounds is not None:
            rounds = min(rounds, limits.rounds - self._n_rounds)
            if rounds <= 0:
                return f"not started: --max-rounds {limits.rounds} is used up"
        if limits.cost is not None:
            most = self._cost + limits.cost
            budgets = msgspec.structs.replace(budgets, session=_least(budgets.session, most))
        if limits.tokens is not None:
            used = _tokens(self._session.spending.usage) - _tokens(self._usage)
            left = limits.tokens - used
            if left <= 0:
                return f"not started: --max-tokens {limits.tokens:,} is used up"
            budgets = msgspec.structs.replace(
                budgets, turn_tokens=int(_least(budgets.turn_tokens, left))
            )
        parts = self._session.parts
        turn = replace(parts.limits, budgets=budgets, rounds=rounds)
        self._session.parts = replace(parts, limits=turn)
        return ""

    def end_turn(self, finished: events.TurnFinished) -> int:
        """Count the turn's usage; return the turn's exit code."""
        self._n_rounds += finished.rounds
        return code_of(finished)

    def wording(self, view: events.Listener) -> events.Listener:
        """Return a listener whose messages name each limit by its command-line option."""

        def tell(event: events.Event) -> None:
            view(self._worded(event) if isinstance(event, events.TurnFinished) else event)

        return tell

    def _worded(self, finished: events.TurnFinished) -> events.TurnFinished:
        """Return the event with the name of the option whose limit ended the turn."""
        message = finished.message
        if finished.ending == "budget":
            given = {"--max-cost": self._limits.cost, "--max-tokens": self._limits.tokens}
            for name, option in _OPTIONS.items():
                if given[option] is not None:
                    message = message.replace(f"`{name}`", f"`{option}`").replace(name, option)
        elif finished.ending == "limit" and self._limits.rounds is not None:
            message = message.replace("`round_limit`", "`--max-rounds`")
        return msgspec.structs.replace(finished, message=message)


def code_of(finished: events.TurnFinished) -> int:
    """Return the exit code for the end of a turn."""
    if finished.ending in {"limit", "budget"}:
        return LIMITED
    return DONE if finished.ending == "done" else FAILED


class Timed:
    """A listener that reports the time limit as the reason for a stop.

    Attributes:
        is_told: Whether the reason was shown.
    """

    def __init__(self, view: events.Listener, clock: asyncio.Timeout, seconds: float) -> None:
        self.is_told = False
        self._view, self._clock, self._seconds = view, clock, seconds

    def __call__(self, event: events.Event) -> None:
        """Forward the event."""
        if isinstance(event, events.TurnFinished) and self._clock.expired():
            self.is_told = True
            words = f"stopped: the {self._seconds:g} s of --time-limit have passed"
            event = msgspec.structs.replace(event, message=words)
        self._view(event)


async def within(
    seconds: float | None,
    view: events.Listener,
    work: Callable[[events.Listener, AsyncExitStack], Awaitable[int]],
    untold: events.TurnFinished,
) -> int:
    """Run ``work`` within a time limit that excludes its clean-up; return its exit code.

    Args:
        seconds: The time limit, or None for no limit.
        view: Receives the event when the time is over.
        work: The function to run, with a listener, and a stack of callbacks for its end.
        untold: Called with the reason if the time is over while no turn runs.
    """
    async with AsyncExitStack() as ending:
        if seconds is None:
            return await work(view, ending)
        clock = asyncio.timeout(seconds)
        timed = Timed(view, clock, seconds)
        try:
            async with clock:
                return await work(timed, ending)
        except TimeoutError:
            if not clock.expired():
                raise
        if not timed.is_told:
            timed(untold)
    return LIMITED


def _least(one: float | None, other: float) -> float:
    return other if one is None else min(one, other)


def _tokens(usage: Usage) -> int:
    return usage.input + usage.output
