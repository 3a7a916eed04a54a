"""Runs shell text in a shell without start-up files and within limits (H48)."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path, PurePath
from typing import Protocol

import msgspec

from indwell import edges
from indwell.edges import program_edge
from indwell.sandbox.capture import Feed, OnChunk
from indwell.sandbox.confine.confined_run import (
    ConfinedStart,
    prepare_confined,
    resolve_bounds,
    settle_bounds,
)
from indwell.sandbox.confine.strength import strength
from indwell.sandbox.confinement import Confinement
from indwell.sandbox.environment import LOADER, commands_path, path_without
from indwell.sandbox.gate import (
    RunningCommandWatch,
    check_running_commands,
    keep_untold,
    pass_gate,
    shorten_notes,
    watch_command,
)
from indwell.sandbox.leftovers import here as leftovers
from indwell.sandbox.limits import CommandLimits, overrun, shell_prefix
from indwell.sandbox.program import (
    COMMANDS,
    DEFAULT_LIMIT_B,
    TIMEOUT_GRACE_S,
    Finished,
    Pool,
    new_mark,
    run_program,
    shortages,
)
from indwell.sandbox.shells import command_shell
from indwell.sandbox.starting import Starter, start_plainly

_MOST_LINES, _MOST_NAMES = 20, 3  # At most 20 lines are searched, and at most 3 names are shown.


@program_edge
async def spawn(
    command: str,
    *,
    cwd: Path,
    timeout_s: float | None,
    at_end: str = "",
    limit_b: int = DEFAULT_LIMIT_B,
    on_chunk: OnChunk | None = None,
    env: Mapping[str, str] | None = None,
    pass_fds: Sequence[int] = (),
    stdin: bytes = b"",
    merge_errors: bool = True,
    limits: CommandLimits | None = None,
    confinement: Confinement | None = None,
    never_in: Sequence[Path] = (),
    unasked: bool = False,
    pool: Pool = COMMANDS,
    stop: asyncio.Event | None = None,
    on_note: Callable[[str], None] | None = None,
) -> Finished:
    """Run shell text in bash, on Windows perhaps in PowerShell (``sandbox.shells``).

    By default both output streams are merged, as on a terminal.

    Args:
        command: The text for the shell.
        cwd: The working directory.
        timeout_s: Seconds until the command is ended, or None for no timeout.
        at_end: Shell text that runs at the end, in bash even after ``exit``.
        limit_b: Bytes of output to keep, from both ends.
        on_chunk: Called with each part of the output on the event loop. If the function returns a
            future, the command waits for the future.
        env: Variables in addition to the allowed variables of this process.
        pass_fds: Descriptors that the shell inherits, under the same numbers.
        stdin: The standard input; empty by default.
        merge_errors: Whether to merge standard error into standard output.
        limits: The resource limits.
        confinement: The command's bounds; with None, the command has all permissions of this
            process.
        never_in: Workspace folders, which must not contain the shell.
        unasked: Whether the command runs without a question, because it only reads. If such a
            command could reach the network, it finds no program in ``never_in`` by a bare name,
            because a model may have written an ``ls`` there.
        pool: The pool in which the command waits for a slot.
        stop: An event that the caller sets to end the command as a timeout does, with time to clean
            up.
        on_note: Called with notes about files moved away while the command keeps running; such a
            command is checked before any other command runs.

    Raises:
        ToolError: There is no shell for such a text, ``cwd`` cannot be used, the command cannot be
            confined here, or a file that an earlier command planted is still there.
        asyncio.CancelledError: The call was cancelled; everything that the command started has
            ended.
    """
    shell = await asyncio.to_thread(command_shell, never_in)
    limits = limits or CommandLimits()
    given = {"PATH": shell.path_with(commands_path()), **(env or {})}
    mark = new_mark()
    before = shell_prefix(limits, mark, cwd, timeout_s)
    words = shell.argv(command, before=before, at_end=at_end)
    run = functools.partial(
        run_program,
        timeout_s=timeout_s,
        limit_b=limit_b,
        on_chunk=on_chunk,
        enough=stop,
        enough_grace_s=TIMEOUT_GRACE_S,
        stdin=stdin,
        merge_errors=merge_errors,
        mark=mark,
        limits=limits,
        pool=None,
    )
    # The slot comes first, because protected files are scanned right before the command runs.
    async with shortages(), pool.place():
        await check_running_commands()
        shown = (*confinement.writable, *confinement.readable) if confinement else ()
        await pass_gate((cwd, *never_in, *map(Path, shown)))
        if unasked and not (confinement and strength().cuts_network):
            given["PATH"] = shell.path_with(path_without(never_in))
        if confinement is None:
            finished = await run(words, cwd=cwd, env=given, pass_fds=pass_fds)
        else:
            finished = await _held(confinement, run, words, cwd, given, pass_fds, on_note)
    if finished.timed_out or finished.overrun:
        return finished
    return msgspec.structs.replace(finished, overrun=overrun(finished.exit_code, limits, timeout_s))


async def spawn_server(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    feed: Feed,
    on_output: OnChunk,
    on_errors: OnChunk,
    stop: asyncio.Event,
    confinement: Confinement | None,
    never_in: Sequence[Path] = (),
    on_note: Callable[[str], None],
    start: Starter | None = None,
) -> Finished:
    """Run a program with which Indwell communicates over the standard streams.

    The program needs no slot of a pool, because it runs as long as a session. No output is kept.

    Args:
        argv: The program and its arguments.
        cwd: The working directory.
        env: Variables in addition to the allowed variables of this process.
        feed: The standard input.
        on_output: Called with each part of standard output; see ``run_program``.
        on_errors: The same for standard error.
        stop: An event that the caller sets to end the program, with time to clean up.
        confinement: The program's bounds; with None, the program has all permissions of this
            process.
        never_in: Workspace folders; without bounds, a program with a bare name is never taken from
            these folders.
        on_note: Called with notes about files that the program planted, and that were moved away.
        start: The function that starts a program without bounds; ``start_plainly`` by default.

    Raises:
        ToolError: The program cannot be started or confined here, or a file that an earlier command
            planted is still there.
        asyncio.CancelledError: The call was cancelled; everything that the program started has
            ended.
    """
    edges.current().before_unrecordable("a language server or an MCP server")
    run = functools.partial(
        run_program,
        timeout_s=None,
        limit_b=0,
        on_chunk=on_output,
        on_errors=on_errors,
        enough=stop,
        enough_grace_s=TIMEOUT_GRACE_S,
        stdin=feed,
        mark=new_mark(),
        pool=None,
    )
    path = path_without(never_in) if confinement is None else commands_path()
    given = {"PATH": path, **env}
    async with shortages():
        await check_running_commands()
        shown = (*confinement.writable, *confinement.readable) if confinement else ()
        await pass_gate((cwd, *never_in, *map(Path, shown)))
        if confinement is None:
            return await run(argv, cwd=cwd, env=given, start=start)
        return await _held(confinement, run, argv, cwd, given, (), on_note)


class _SandboxRun(Protocol):
    """Runs a program as ``run_program`` does, with the sandbox's arguments already set."""

    def __call__(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str] | None,
        pass_fds: Sequence[int],
        is_wrapped: bool = False,
        has_ui: bool = True,
        start: Starter = start_plainly,
        alarm: asyncio.Event | None = None,
        pause: leftovers.Pause | None = None,
    ) -> Coroutine[None, None, Finished]: ...


def _failed(finished: Finished, how: ConfinedStart) -> tuple[str, ...]:
    """Return an error for a failure of the sandbox itself, such as a folder that vanished."""
    said = finished.head or finished.errors
    if finished.exit_code != 1 or not said.startswith(b"bwrap: ") or how.was_set_up():
        return ()
    return ("the sandbox could not be set up, so nothing was run; try again",)


def _hidden_words(finished: Finished, bounds: Confinement) -> tuple[str, ...]:
    """List the hidden files that the command's output calls unreadable."""
    if not finished.exit_code:
        return ()
    refused = [
        line
        for part in (finished.head, finished.tail, finished.errors)
        for line in part.decode("utf-8", "replace").splitlines()
        if "ermission denied" in line
    ][:_MOST_LINES]
    names = {PurePath(path).name for path in bounds.hidden}
    found = sorted(name for name in names if any(name in line for line in refused))
    if not found:
        return ()
    listed = ", ".join(map(repr, found[:_MOST_NAMES]))
    why = "may contain secrets and is hidden from commands, which was the reason for"
    return (f"{listed} {why} 'Permission denied'",)


def _git_words(finished: Finished, bounds: Confinement) -> tuple[str, ...]:
    """Explain why git could change nothing, if the command's output shows that."""
    said = finished.head + finished.tail + finished.errors
    is_kept = any(path.endswith("/.git") for path in bounds.protected)
    if not (finished.exit_code and is_kept and b".git" in said and b"ead-only file system" in said):
        return ()
    words = (
        "the folder .git is read-only for a command that names no git and that the user was not "
        "asked about; run git in a command of its own"
    )
    return (words,)


def _alarmed(alarm: asyncio.Event, meanwhile: RunningCommandWatch, notes: tuple[str, ...]) -> None:
    """End the command because the command planted files, and report the moved files."""
    alarm.set()
    meanwhile.heard(notes)


def _nobody(_note: str) -> None:
    """Ignore the note, because the caller has passed no function for notes."""


async def _held(  # noqa: PLR0917 - all that a run takes
    bounds: Confinement,
    run: _SandboxRun,
    words: Sequence[str],
    cwd: Path,
    env: Mapping[str, str],
    pass_fds: Sequence[int],
    on_note: Callable[[str], None] | None,
) -> Finished:
    """Run the command confined, then check for files that it planted."""
    bounds = await resolve_bounds(bounds)
    meanwhile = RunningCommandWatch(bounds.settle_so_far, on_note or _nobody)
    alarm, pause = asyncio.Event(), leftovers.Pause()
    loop = asyncio.get_running_loop()

    def hear(notes: tuple[str, ...]) -> None:
        loop.call_soon_threadsafe(_alarmed, alarm, meanwhile, notes)

    try:
        async with prepare_confined(bounds, cwd) as how:
            with (
                bounds.watched(hear, pause.hold),
                watch_command(meanwhile) if on_note else nullcontext(),
            ):
                inside, given = _given(how, {**how.environment, **env})
                finished = await run(
                    [*how.prefix, *inside, *words],
                    cwd=cwd,
                    env=given,
                    pass_fds=(*pass_fds, *how.pass_fds),
                    is_wrapped=how.is_wrapped,
                    has_ui=how.has_ui,
                    start=how.start,
                    alarm=alarm,
                    pause=pause,
                )
            told = (*how.told(), *_failed(finished, how))
            told += (*_hidden_words(finished, bounds), *_git_words(finished, bounds))
    except BaseException:  # The run was cancelled or not set up, so the caller gets no result.
        notes = await settle_bounds(bounds)
        every = meanwhile.said_with(notes)
        keep_untold(cwd, shorten_notes(notes if on_note else every, _where(bounds)))
        raise
    notes = meanwhile.said_with(await settle_bounds(bounds))
    return msgspec.structs.replace(finished, notes=(*told, *shorten_notes(notes, _where(bounds))))


def _given(how: ConfinedStart, env: Mapping[str, str]) -> tuple[tuple[str, ...], Mapping[str, str]]:
    """Return the arguments and the environment that give a command its variables.

    The sandbox's own program must not get these variables, because the loader obeys some of them in
    every program. A project's ``LD_PRELOAD`` would run code outside of any bounds.
    """
    of_loader = [one for one in env if how.is_wrapped and one.startswith(LOADER)]
    if not of_loader:
        return (), env
    words = ("/usr/bin/env", *(f"{one}={env[one]}" for one in of_loader))
    return words, {name: value for name, value in env.items() if name not in of_loader}


def _where(bounds: Confinement) -> str:
    """Return the quarantine folder, if it exists."""
    folder = bounds.quarantine.folder if bounds.quarantine else None
    return str(folder) if folder is not None and folder.is_dir() else ""
