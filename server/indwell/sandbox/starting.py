"""Starts a program in its own session (POSIX) or its own hidden console (Windows).

Windows passes one text to a program, and the program itself splits the text into arguments.
``subprocess`` quotes the text for most programs. For a batch file (``.cmd``, ``.bat``: used by npm
and others), ``cmd.exe`` has other rules, so this module builds the command line.
"""

from __future__ import annotations

import asyncio
import errno
import subprocess
import sys
import threading
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from pathlib import Path, PureWindowsPath
from typing import NamedTuple, Protocol, TypeAlias

from indwell.errors import ToolError
from indwell.files.spelling import quoted
from indwell.sandbox.environment import commands_path, path_without, program_in, raw


class StartedProgram(Protocol):
    """A running program, such as asyncio's process."""

    @property
    def pid(self) -> int:
        """The process id, which is also the id of the program's session and group."""

    async def wait(self) -> int:
        """Wait for the program's end; return its exit code, negative for a signal."""


class Launch(NamedTuple):
    """A program to start.

    Attributes:
        argv: The program and its arguments.
        cwd: The working directory.
        env: The complete environment.
        stdin: A descriptor for the input, or ``DEVNULL``.
        stdout: A descriptor for the output.
        stderr: A descriptor for the errors, which may be the same.
        pass_fds: Further descriptors, under the same numbers; Windows passes none.
    """

    argv: Sequence[str]
    cwd: Path
    env: Mapping[str, str]
    stdin: int
    stdout: int
    stderr: int
    pass_fds: tuple[int, ...] = ()

    def failed(self, error: OSError | ValueError) -> ToolError:
        """Return the error for a program that did not start."""
        reason = error.strerror if isinstance(error, OSError) else error
        return ToolError(f"{self.argv[0]!r} could not be started in {quoted(self.cwd)}: {reason}")


Starter: TypeAlias = Callable[[Launch], Coroutine[None, None, StartedProgram]]
"""Starts a program. On Windows the program is suspended, and ``leftovers.adopt`` lets it run."""


if sys.platform == "win32":
    import win32api

    HIDDEN = subprocess.CREATE_NO_WINDOW | subprocess.CREATE_NEW_PROCESS_GROUP
    # The value comes from processthreadsapi.h; `subprocess` lacks the name.
    _CREATE_SUSPENDED = 0x4

    class _Started:
        """A program and the thread that waits for its end."""

        def __init__(self, process: subprocess.Popen[bytes]) -> None:
            self.pid = process.pid
            self._process = process

        async def wait(self) -> int:
            """Wait for the program's end; return its exit code."""
            loop = asyncio.get_running_loop()
            code: asyncio.Future[int] = loop.create_future()

            def tell(found: int) -> None:
                if not code.done():
                    code.set_result(found)

            def wait() -> None:
                found = self._process.wait()
                try:
                    loop.call_soon_threadsafe(tell, found)
                except RuntimeError:
                    return  # The event loop has ended, so nothing waits for the program.

            # A pool thread is unsuitable, because the pool has few threads and a server runs for
            # days.
            threading.Thread(target=wait, daemon=True, name="indwell-wait").start()
            return await code

    def batch_files(words: Iterable[str], never_in: Sequence[Path]) -> tuple[str, ...]:
        """Return the names, in lower case, of batch files on PATH; blocks.

        Args:
            words: The bare names of programs to look for.
            never_in: Folders that PATH may lack when the command runs.
        """
        paths = dict.fromkeys((commands_path(), path_without(never_in)))
        return tuple(
            word.lower()
            for word in words
            if any(is_batch_file(program_in(word, path) or "") for path in paths)
        )

    async def start_plainly(launch: Launch) -> StartedProgram:
        """Start a program, suspended, in its own process group and its own hidden console.

        Raises:
            ToolError: The program or ``cwd`` cannot be used.
        """
        assert not launch.pass_fds, "Windows passes no descriptors under their numbers"

        def start() -> subprocess.Popen[bytes]:
            shell = str(Path(win32api.GetSystemDirectory()) / "cmd.exe")
            program, *words = launch.argv
            # Windows would look in the current folder first, which is a folder of the workspace.
            if not Path(program).is_absolute():
                program = program_in(program, launch.env.get("PATH", "")) or program
            if not Path(program).is_absolute():
                raise FileNotFoundError(errno.ENOENT, "it was not found on PATH")
            is_batch = is_batch_file(program)
            words = [program, *words]
            return subprocess.Popen(  # noqa: S603 - it is judged, asked for and held
                batch_command_line(words, shell) if is_batch else words,
                executable=shell if is_batch else program,
                cwd=str(launch.cwd),
                env={**launch.env},
                stdin=launch.stdin,
                stdout=launch.stdout,
                stderr=launch.stderr,
                creationflags=HIDDEN | _CREATE_SUSPENDED,
            )

        try:
            return _Started(await asyncio.to_thread(start))
        # A ValueError means a NUL byte, or an invalid argument of a batch file.
        except (OSError, ValueError) as error:
            raise launch.failed(error) from error

else:
    HIDDEN = 0

    def batch_files(words: Iterable[str], never_in: Sequence[Path]) -> tuple[str, ...]:
        """Return nothing, because only Windows has batch files."""
        del words, never_in
        return ()

    async def start_plainly(launch: Launch) -> StartedProgram:
        """Start a program in its own session.

        Raises:
            ToolError: The program or ``cwd`` cannot be used.
        """
        try:
            return await asyncio.create_subprocess_exec(
                *map(raw, launch.argv),
                cwd=raw(str(launch.cwd)),
                env={raw(name): raw(value) for name, value in launch.env.items()},
                stdin=launch.stdin,
                stdout=launch.stdout,
                stderr=launch.stderr,
                pass_fds=launch.pass_fds,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:  # A ValueError means a NUL byte or a lone surrogate.
            raise launch.failed(error) from error


async def start_conversation(
    argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], stderr: int
) -> asyncio.subprocess.Process:
    """Start a program that communicates over stdin and stdout, and ends when stdin closes.

    Raises:
        ToolError: The program or ``cwd`` cannot be used.
    """
    try:
        return await asyncio.create_subprocess_exec(
            *map(raw, argv),
            cwd=raw(str(cwd)),
            env={raw(name): raw(value) for name, value in env.items()},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=stderr,
            start_new_session=True,
            creationflags=HIDDEN,
        )
    except (OSError, ValueError) as error:
        pipe = asyncio.subprocess.PIPE
        raise Launch(argv, cwd, env, pipe, pipe, stderr).failed(error) from error


# These characters, like letters and digits, need no quotes in a batch file.
_PLAIN = frozenset(r"#$*+-./:?@\_")
# The text is a percent sign, and then an empty part of the current folder's name.
_PERCENT = "%%cd:~,%"


def is_batch_file(program: str) -> bool:
    """Return whether Windows runs a file by ``cmd.exe``, ignoring dots and blanks at the end."""
    name = PureWindowsPath(program).name.rstrip(". ").lower()
    return name.endswith((".bat", ".cmd"))


def batch_command_line(argv: Sequence[str], shell: str) -> str:
    r"""Return the command line by which ``cmd.exe`` runs a batch file with exactly ``argv``.

    ``cmd.exe`` parses the line twice: once itself, and once for the batch file's ``%*``. Within
    double quotes, only ``%`` and ``"`` have an effect. A doubled quote stays inside the quotes,
    also for the program that the batch file starts. A percent sign cannot be escaped, so an empty
    part of ``%cd%`` separates the sign from a name ("BatBadBut", CVE-2024-24576; the rules are
    those of Rust's standard library).

    Args:
        argv: The batch file and its arguments.
        shell: The path of ``cmd.exe``.

    Raises:
        ValueError: An argument with a line break or a NUL cannot be passed on.
    """
    script, *words = argv
    if '"' in script or script.endswith("\\"):
        raise ValueError(f"{script!r} is not the name of a batch file")
    for word in argv:
        if any(one in word for one in "\r\n\0"):
            raise ValueError("a batch file takes no argument with a line break or a NUL")
    line = " ".join([_batch_word(script, must_quote=True), *map(_batch_word, words)])
    return f'{subprocess.list2cmdline([shell])} /e:ON /v:OFF /d /s /c "{line}"'


def _batch_word(word: str, *, must_quote: bool = False) -> str:
    must_quote = must_quote or not word or word.endswith("\\")
    must_quote |= any(not _is_plain(one) for one in word)
    text, n_backslashes = "", 0
    for one in word:
        if one == '"':
            text += "\\" * n_backslashes + '"'
        n_backslashes = n_backslashes + 1 if one == "\\" else 0
        text += _PERCENT if one == "%" else one
    return f'"{text}{chr(92) * n_backslashes}"' if must_quote else text


def _is_plain(char: str) -> bool:
    if char.isascii():
        return char.isalnum() or char in _PLAIN
    return not "\x80" <= char <= "\x9f"  # The characters up to 0x9f are control characters.
