"""Runs the command line: parses arguments and runs commands; heavy modules load late."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence

from indwell.own_path import own_path

DONE, FAILED, USAGE = 0, 1, 2
LIMITED = 3  # the exit code if a limit of rounds, a budget or a time limit ended a run
STOPPED = 130  # the exit code 128 + SIGINT, as shells report a program that Ctrl-C ended
TERMINATED = 143  # the exit code 128 + SIGTERM


class Terminated(KeyboardInterrupt):
    """The process received SIGTERM, and stopped its work properly."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return 0 for success, 1 for a failure, 2 for wrong arguments, 130 or 143."""
    try:
        return _main(sys.argv[1:] if arguments is None else list(arguments))
    except KeyboardInterrupt as stop:
        sys.stderr.write("stopped\n")
        return code_of_stop(stop)
    except OSError as error:
        from indwell.cli.terminal.interruptible_work import hush, is_full

        if not isinstance(error, BrokenPipeError) and not is_full():
            raise
        hush(error)
        return FAILED


def code_of_stop(stop: KeyboardInterrupt) -> int:
    """Return the exit code of a stopped command."""
    return TERMINATED if isinstance(stop, Terminated) else STOPPED


if sys.platform == "win32":

    def _write_everything() -> None:
        """Write UTF-8 into pipes and files, and replace characters that a console cannot show.

        By default, a pipe gets the ANSI code page, and any other character would end the command.
        """
        is_chosen = bool(os.environ.get("PYTHONIOENCODING"))
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                encoding = None if is_chosen or stream.isatty() else "utf-8"
                stream.reconfigure(encoding=encoding, errors="replace")

else:

    def _write_everything() -> None:
        """Do nothing, because other systems use UTF-8."""


_STARTS = (
    ("serve", "--stdio"),
    ("serve", "--stdio", "--editor-trust"),
    ("serve",),
    (),
)


def _main(given: list[str]) -> int:
    # Protect the search for programs before the first search; more folders are added later.
    own_path.keep_out()
    _write_everything()
    _find_home()
    # With this variable, the openai library would log prompts to stderr.
    os.environ.pop("OPENAI_LOG", None)
    # An editor runs this command, so load nothing else.
    if tuple(given) in _STARTS and (given or not _is_terminal()):
        from indwell.cli.serve.command import serve

        return serve(scripted=False, pace_s=0.0, editor_asks_trust="--editor-trust" in given)
    if (folder := _working_folder()) is not None:
        own_path.keep_out([folder])
    from indwell.cli.commands import run_command

    # stdout may have been closed before the start (`>&-`), and its output is then discarded.
    sys.stdout, sys.stderr = sys.stdout or io.StringIO(), sys.stderr or io.StringIO()
    try:
        return run_command(given)
    finally:
        sys.stdout.flush()


NO_HOME = "/nonexistent"  # as the system's own accounts without a home have it


def _find_home() -> None:
    """Set ``HOME`` to the system's entry for this user, if the variable has no absolute path.

    A container may run a user without an entry. Then the home is a folder that cannot be written,
    so each part works without its files, and says what it cannot keep.
    """
    if sys.platform == "win32" or os.environ.get("HOME", "").startswith("/"):
        return
    import pwd

    try:
        home = pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        home = ""
    os.environ["HOME"] = home if home.startswith("/") else NO_HOME


def _is_terminal() -> bool:
    """Return whether a person types and reads here, and not an editor."""
    return all(one is not None and one.isatty() for one in (sys.stdin, sys.stdout))


def _working_folder() -> str | None:
    """Return the current directory, or None if the directory was deleted."""
    try:
        return os.getcwd()  # noqa: PTH109 - before anything heavy is imported
    except OSError:
        return None
