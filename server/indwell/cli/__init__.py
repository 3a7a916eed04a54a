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
        """Write a terminal's own encoding; replace characters that the terminal cannot show.

        Pipes and files get UTF-8 in every locale, because this process reads names, arguments and
        files as UTF-8 (``_read_utf8``).
        """
        encoding = _locale_encoding()
        if encoding.lower() in {"utf-8", "utf8"}:
            return
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper) and stream.isatty():
                stream.reconfigure(encoding=encoding, errors="backslashreplace")


_STARTS = (
    ("serve", "--stdio"),
    ("serve", "--stdio", "--editor-trust"),
    ("serve",),
    (),
)


def _read_utf8() -> None:
    """Start Python again in its UTF-8 mode, if the locale has another encoding.

    Otherwise, Python would decode the names of files by the locale, and the editor sends UTF-8.
    """
    is_utf8 = sys.getfilesystemencoding() == "utf-8"
    is_frozen = hasattr(sys, "frozen")  # scripts/frozen/server.spec sets the mode
    if is_utf8 or is_frozen or "utf8" in sys._xoptions or not sys.executable:  # noqa: SLF001
        return
    words = [sys.executable, "-X", "utf8", *sys.orig_argv[1:]]
    os.execv(sys.executable, words)  # noqa: S606 - this program itself


def _locale_encoding() -> str:
    """Return the encoding of the locale, which a terminal uses; UTF-8 if the locale is ``C``."""
    import locale

    name = locale.getencoding()
    return "utf-8" if name.lower() in {"ansi_x3.4-1968", "us-ascii", "ascii"} else name


def _argument(text: str) -> str:
    """Decode an argument that is not UTF-8 and names no file, by the encoding of the locale."""
    data = os.fsencode(text)
    try:
        data.decode()
    except UnicodeDecodeError:
        return text if os.path.exists(data) else data.decode(_locale_encoding(), "replace")  # noqa: PTH110 - bytes
    return text


def _main(given: list[str]) -> int:
    # Protect the search for programs before the first search; more folders are added later.
    own_path.keep_out()
    _read_utf8()
    _write_everything()
    _find_home()
    given = [_argument(one) for one in given]
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


NO_HOME = "/proc/no-home"  # Linux lets nobody create a folder there, not even root


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
