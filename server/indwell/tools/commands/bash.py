"""Defines the tool ``bash``, which runs a command and keeps only the working directory (H48)."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec

from indwell import edges
from indwell.errors import ToolError
from indwell.files.beneath import locate
from indwell.files.private import read_own, remove_scratch, scratch_folder
from indwell.files.spelling import is_absolute, quoted, slashed
from indwell.lazy_pattern import lazy_pattern
from indwell.policy.rules import Widening
from indwell.sandbox import BACKGROUND, Finished, spawn
from indwell.sandbox.capture import OnChunk
from indwell.sandbox.proxy.hosts import allowed
from indwell.sandbox.shells import (
    command_language,
    joined_words,
    language_title,
    powershell_quoted,
)
from indwell.tools.arguments import Given, of_struct, renamed
from indwell.tools.base import (
    NOWHERE,
    Background,
    Outcome,
    Running,
    Succeeded,
    Tool,
    ToolContext,
    ToolFacts,
)
from indwell.tools.commands.command_output import (
    MAX_TIMEOUT_S,
    SPILL_LIMIT_B,
    TAIL_B,
    CommandOutput,
    ending_figure,
    ending_words,
    notes_after,
)
from indwell.tools.truncate import TextEnds
from indwell.workspace.base import Workspace
from indwell.workspace.paths import display

DEFAULT_TIMEOUT_S = 120
MOST_HOSTS = 10  # A person has to read all hosts that one command asks for.
HOST_LIMIT = 253  # A host's name has at most 253 characters (RFC 1035).
_PIPE_B = 65_536

# The pattern matches a host name, or ``*.`` and a host name, perhaps with a port; not an IP
# address.
_HOST = lazy_pattern(
    r"(?:\*\.(?=[^:]*\.))?(?=.*[A-Za-z])\w(?:[\w.-]*\w)?(?::[1-9]\d{0,4})?", re.ASCII
)


class Bash(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of ``bash``."""

    command: str
    timeout_s: Annotated[int, msgspec.Meta(ge=1, le=MAX_TIMEOUT_S)] | None = None
    max_lines: Annotated[
        int,
        msgspec.Meta(ge=0, description="lines to keep, such as 250"),
    ] = 0
    network: Annotated[
        tuple[str, ...],
        msgspec.Meta(
            description=("hosts, such as *.github.com or localhost:3000; the user is asked")
        ),
    ] = ()
    unsandboxed: Annotated[
        bool,
        msgspec.Meta(description="only after the sandbox made it fail"),
    ] = False
    why: Annotated[str, msgspec.Meta(description="for the user: why either is needed")] = ""
    background: Annotated[
        bool, msgspec.Meta(description="for servers and long builds; see `commands`")
    ] = False


_NAMES = {"cmd": "command", "run_in_background": "background", "is_background": "background"}
_SHELLS = {
    "bash": {"bash", "sh", "/bin/bash", "/bin/sh"},
    "powershell": {"powershell", "powershell.exe", "pwsh", "pwsh.exe"},
}
"""Shells that other agents put before a command."""
_FOLDERS = ("workdir", "cwd", "dir_path", "directory")
_MS_FROM = 1000  # A ``timeout`` of this size is in milliseconds, because no command gets 1,000 s.


def _understood(given: Given) -> Given:
    """Translate the names and units of other agents.

    Raises:
        ToolError: The call names a folder to run in; in Indwell, the command itself must change the
            folder.
    """
    ours = renamed(given, _NAMES)
    # Other agents' description of the command is not used, because people see the command.
    ours.pop("description", None)
    folders = [ours.pop(name) for name in _FOLDERS if name in ours]
    if elsewhere := [one for one in folders if one not in {"", ".", None}]:
        raise ToolError(f"to run it in {elsewhere[0]!r}, begin the command with `cd FOLDER &&`")
    match ours.get("command"):
        case [str(shell), "-c" | "-lc" | "-Command", str(script)] if (
            shell in _SHELLS[command_language()]
        ):
            ours["command"] = script
        case [*words] if all(isinstance(one, str) for one in words):
            ours["command"] = joined_words(words)
    for name in ("timeout_ms", "timeout"):
        if isinstance(time := ours.get(name), int):
            is_ms = name == "timeout_ms" or time >= _MS_FROM
            seconds = max(1, -(-time // 1000)) if is_ms else time
            ours = renamed({**ours, name: seconds}, {name: "timeout_s"})
    return ours


class Shell:
    """The folder of one agent's next command, and the time limit of commands.

    Args:
        start: A folder of the workspace.
        timeout_s: The time limit of commands whose call states no limit, in seconds.
    """

    def __init__(self, start: Path, *, timeout_s: float = DEFAULT_TIMEOUT_S) -> None:
        self.cwd = start
        self.timeout_s = timeout_s


def make_bash(shell: Shell, background: Background = NOWHERE) -> Tool[Bash]:
    """Create the tool; ``shell`` and ``background`` belong to one agent."""
    return Tool(
        name="bash",
        description=(
            f"Run a {language_title()} command. Only the working directory carries over. No "
            "terminal or input. What it starts ends with it, unless `background` is set."
        ),
        arguments=of_struct(Bash, _understood),
        effect="run",
        facts=lambda arguments: ToolFacts(
            tool="bash",
            effect="run",
            command=arguments.command,
            cwd=shell.cwd.as_posix(),
            wants=_wanted(arguments),
            why=arguments.why,
            background=arguments.background,
        ),
        run=lambda arguments, context: (
            _run_on(shell, background, arguments, context)
            if arguments.background
            else _run(shell, arguments, context)
        ),
    )


def _wanted(arguments: Bash) -> Widening:
    """Return the access beyond the sandbox that the model requests, which grants nothing (POL-16).

    Raises:
        ToolError: A host is not a name, or there are too many hosts for a person to read.
    """
    if len(arguments.network) > MOST_HOSTS:
        raise ToolError(f"`network` may name {MOST_HOSTS} hosts; name those that are needed")
    for host in arguments.network:
        is_read = len(host) <= HOST_LIMIT and _HOST.fullmatch(host) and allowed([host]).places
        if not is_read:
            raise ToolError(
                f"{host[:80]!r} is not a name of a host; write one such as 'example.com'"
            )
    hosts = tuple(dict.fromkeys(host.lower() for host in arguments.network))
    return Widening(hosts=hosts, unconfined=arguments.unsandboxed)


async def _run_on(
    shell: Shell, background: Background, arguments: Bash, context: ToolContext
) -> Outcome:
    """Start a command that continues after the call; later commands keep the working directory."""
    if arguments.timeout_s is not None:
        raise ToolError("a background command has no timeout_s; `commands` stops it")
    cwd, (before, _) = shell.cwd, await _notes_before(shell, context)

    def run(on_chunk: OnChunk, stop: asyncio.Event, on_note: Callable[[str], None]) -> Running:
        return spawn(
            arguments.command,
            cwd=cwd,
            timeout_s=None,
            limit_b=TAIL_B,
            on_chunk=on_chunk,
            confinement=context.confinement,
            never_in=context.workspace.roots,
            unasked=context.unasked,
            pool=BACKGROUND,
            stop=stop,
            on_note=on_note,
        )

    outcome = await background.start(arguments.command, run, context)
    lines = [*before, outcome.text, *await notes_after(context.workspace)]
    return msgspec.structs.replace(outcome, text="\n".join(lines))


async def _run(shell: Shell, arguments: Bash, context: ToolContext) -> Outcome:
    workspace = context.workspace
    cwd, (before, stale) = shell.cwd, await _notes_before(shell, context)
    saw = await asyncio.to_thread(context.look)
    output = CommandOutput(context.on_output)
    timeout_s = arguments.timeout_s or shell.timeout_s
    with _trail() as reporting:
        async with contextlib.nullcontext() if context.unasked else context.covered():
            finished = await spawn(
                arguments.command,
                cwd=cwd,
                timeout_s=timeout_s,
                at_end=reporting.words,
                limit_b=3 * TAIL_B,
                on_chunk=output.feed,
                pass_fds=reporting.pass_fds,
                confinement=context.confinement,
                never_in=workspace.roots,
                unasked=context.unasked,
            )
        trail = edges.current().value("folder", reporting.read)
    after = await asyncio.to_thread(_follow, shell, trail, workspace)
    after += [f"[{note}]" for note in finished.notes]
    after += await notes_after(workspace)
    text, cut = await asyncio.to_thread(output.finish, finished, arguments.max_lines, context.hide)
    if cut is not None:
        text = await _spilled(text, cut, finished, context)
    ending = ending_words(finished, timeout_s)
    lines = [*before, text.rstrip("\n") or "(no output)", *ending, *after]
    succeeded = None if ending != ["exit code 0"] else Succeeded(saw, stale)
    return Outcome(text="\n".join(lines), figure=ending_figure(finished), succeeded=succeeded)


async def _notes_before(shell: Shell, context: ToolContext) -> tuple[list[str], frozenset[Path]]:
    """Synchronise disk and buffers, and verify the working directory.

    The method returns notes for the model, and the files that could not be saved.

    Raises:
        ToolError: The directory is not the allowed directory.
    """
    workspace = context.workspace
    if context.facts is not None and context.facts.cwd != shell.cwd.as_posix():
        raise ToolError(
            f"the command was to run in {context.facts.cwd!r}, but the working directory is "
            f"{quoted(shell.cwd)} by now, so nothing was run; call bash again"
        )
    notes = []
    settled = await workspace.settle()
    if settled.stale:
        names = ", ".join(display(path, workspace.roots) for path in settled.stale)
        notes.append(f"[the command sees older text on disk of files not saved yet: {names}]")
    if not await asyncio.to_thread(_is_usable, shell.cwd, workspace):
        # The permission was for the old directory, so the command must not run in another
        # directory.
        shell.cwd = workspace.roots[0]
        raise ToolError(
            f"the working directory is gone, so nothing was run; it is now {quoted(shell.cwd)}; "
            "call bash again"
        )
    return notes, frozenset(settled.stale)


def _is_usable(cwd: Path, workspace: Workspace) -> bool:
    """Return whether the directory still exists under the same path."""
    try:
        return locate(cwd, workspace.roots).path == cwd and cwd.is_dir()
    except ToolError:
        return False


class _Trail(NamedTuple):
    """How the shell reports its last directory: the shell text and the file to read."""

    words: str  # The command reports the directory.
    pass_fds: tuple[int, ...]
    read: Callable[[], str]


if sys.platform == "win32":

    @contextlib.contextmanager
    def _trail() -> Iterator[_Trail]:
        """Prepare a file for the shell's report, because on Windows the shell inherits no pipe."""
        folder = scratch_folder()
        path = folder / "last"

        def read() -> str:
            try:
                return read_own(path, _PIPE_B).decode("utf-8", "replace").replace("\r\n", "\n")
            except OSError:  # The shell was killed, replaced by `exec`, or had another trap.
                return ""

        try:
            if command_language() == "bash":
                # ``-W`` prints the path in Windows' form; only the bash of Git for Windows knows
                # this option.
                words = "{ builtin pwd -W 2>/dev/null || builtin pwd; }"
                words += f" >{shlex.quote(path.as_posix())}"
            else:
                place = powershell_quoted(str(path))
                report = f"[IO.File]::WriteAllText({place}, $PWD.ProviderPath)"
                # A sandboxed command may not be allowed to write the file.
                words = f"try {{ {report} }} catch {{ }}"
            yield _Trail(words, (), read)
        finally:
            remove_scratch(folder)

else:

    @contextlib.contextmanager
    def _trail() -> Iterator[_Trail]:
        """Open a pipe through which the shell reports."""
        reading, writing = os.pipe()

        def read() -> str:
            try:
                return os.fsdecode(os.read(reading, _PIPE_B))
            # The shell was killed, replaced by `exec`, or had another trap.
            except BlockingIOError:
                return ""

        try:
            os.set_blocking(reading, False)
            os.set_blocking(writing, False)  # A command that fills the pipe must not hang.
            # `builtin` bypasses functions that the command may have defined.
            yield _Trail(f"builtin pwd -P 2>/dev/null >&{writing}", (writing,), read)
        finally:
            os.close(reading)
            os.close(writing)


def _follow(shell: Shell, trail: str, workspace: Workspace) -> list[str]:
    """Move to the shell's last directory, if the directory is in the workspace."""
    last = slashed(trail.removesuffix("\n").rpartition("\n")[2])
    if not is_absolute(last) or last == shell.cwd.as_posix():
        return []  # A command can also write into the pipe, but gains nothing.
    try:
        place = locate(Path(last), workspace.roots).path
    except ToolError:
        stays = f"the working directory stays {shell.cwd.as_posix()}"
        return [f"[{stays}: {last[:500]!r} is outside the workspace]"]
    if not place.is_dir():
        return []
    shell.cwd = place
    return [f"[the working directory is now {display(place, workspace.roots)!r}]"]


async def _spilled(text: str, cut: TextEnds, finished: Finished, context: ToolContext) -> str:
    """Return both ends of an output, and between them the path of the whole output."""
    path = await context.spill("bash", text)
    whole = "it is whole in"
    if finished.total_b > SPILL_LIMIT_B + TAIL_B:
        whole = f"its first {SPILL_LIMIT_B:,} bytes are in"
    missing = finished.total_b - SPILL_LIMIT_B - TAIL_B
    n_chars = cut.n_chars + max(missing, 0)
    return (
        f"{cut.head}\n[… {n_chars:,} characters left out; {whole} {quoted(path)}, for read_file or "
        f"grep …]\n{cut.tail}"
    )
