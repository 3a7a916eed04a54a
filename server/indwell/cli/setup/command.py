"""``indwell setup EDITOR``: prints, writes or removes the configuration of an editor.

A small private file in the state folder records the written text and its file.
"""

from __future__ import annotations

import asyncio
import difflib
import hashlib
import os
import shutil
import sys
import sysconfig
import unicodedata
from pathlib import Path

import msgspec
from rich.console import Console
from rich.syntax import Syntax

from indwell.cli import NO_HOME
from indwell.cli.setup.configurations import (
    CONFIGURATIONS,
    PACKAGE,
    PLAIN,
    VSCODE,
    EditorConfiguration,
    SetupTarget,
    target,
)
from indwell.cli.setup.merging import (
    SERVER,
    CannotMerge,
    Placed,
    Record,
    WantedConfiguration,
    put,
    take,
)
from indwell.cli.terminal.json_line import json_line
from indwell.cli.terminal.stdin import says_yes
from indwell.cli.terminal.telling import tell
from indwell.compatibility import StoredForm
from indwell.context.untrusted_text import visible
from indwell.errors import ToolError, UserError
from indwell.files.append_log import make_private_folder, read_bytes_private
from indwell.files.contents.atomic import write_atomic
from indwell.files.user_files import delete_exactly, keep_beside
from indwell.settings.paths import state_folder
from indwell.workspace.paths import visible as visible_path

_NEWER_NEOVIM = ("nvim", "nvim-plain")
BACKUP = ".before-indwell"
DESKTOP_PATH = {
    "darwin": "/usr/bin:/bin:/usr/sbin:/sbin",  # the PATH of launchd
    "win32": None,  # programs on the desktop get the user's own PATH
}
# the categories of control characters, surrogates and line separators
_ODD = frozenset({"Cc", "Cs", "Zl", "Zp"})
_LINUX = "/usr/local/bin:/usr/bin:/bin"  # the PATH of a session manager without the user's shell


class SetupOptions(msgspec.Struct, frozen=True):
    """The options of ``indwell setup``."""

    editor: str
    write: bool = False
    remove: bool = False
    json: bool = False
    eglot: bool = False
    lsp_mode: bool = False


class _SetupPlan(msgspec.Struct, frozen=True):
    """The planned change of one file; ``path`` is the resolved path."""

    shown: Path
    path: Path
    before: str | None
    after: Placed


def setup(wish: SetupOptions) -> int:
    """Run the command; return 0 for success, otherwise 1."""
    if wish.editor == "vscode":
        print(json_line({"editor": "vscode", "note": VSCODE}) if wish.json else VSCODE)
        return int(wish.write or wish.remove)
    name = wish.editor
    if name == "emacs" and (wish.eglot or wish.lsp_mode):
        name = "emacs-lsp-mode" if wish.lsp_mode else "emacs-eglot"
    configuration = CONFIGURATIONS[name]
    try:
        command = server_command()
        printable((str(PACKAGE),))
        place = target(name, _home(), os.environ, sys.platform, Path.exists)
    except UserError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    try:
        if not (wish.write or wish.remove):
            return _show(wish, configuration, command, place)
        return _change(wish, configuration, command, place)
    except CannotMerge as problem:
        by_hand = "Remove the parts of this by hand" if wish.remove else "Add this by hand"
        sys.stderr.write(f"{_named(place.path)} was not changed: {problem}. {by_hand}:\n\n")
        print(configuration.text(command))
        return 1
    # RuntimeError reports a cycle of links.
    except (OSError, RuntimeError, ToolError, UserError) as error:
        sys.stderr.write(f"{_named(place.path)} was not changed: {error}\n")
        return 1


def _home() -> Path:
    """Return the user's home folder.

    Raises:
        UserError: The home folder is unknown.
    """
    try:
        home = Path.home()
    except (RuntimeError, KeyError):
        home = None
    if home is None or str(home) == NO_HOME:
        raise UserError("Your home folder is not known, so nothing was changed. Set HOME to it.")
    return home


def _named(path: Path) -> str:
    return visible(str(path))


def _show(
    wish: SetupOptions,
    configuration: EditorConfiguration,
    command: tuple[str, ...],
    place: SetupTarget,
) -> int:
    text = configuration.text(command)
    if wish.json:
        told = {
            "editor": wish.editor,
            "path": str(place.path),
            "command": list(command),
            "text": text,
            "page": f"docs/editors/{configuration.page}",
        }
        print(json_line(told))
        return 0
    print(text, end="")
    sys.stderr.write(f"\nThis belongs in {place.path} (`--write` adds it).\n")
    _tell(wish.editor, configuration, command)
    return 0


def _tell(editor: str, configuration: EditorConfiguration, command: tuple[str, ...]) -> None:
    if editor in _NEWER_NEOVIM and (version := _older_neovim()):
        sys.stderr.write(
            f"! The `nvim` on PATH is {version}, which cannot use this configuration: run "
            f"`indwell setup nvim-older --write`, or install Neovim 0.11 or later.\n"
        )
    if command != PLAIN:
        sys.stderr.write(
            f"The command is an absolute path, {command[0]}: an editor that you start from the "
            f"desktop would not find it otherwise.\n"
        )
    for step in configuration.next_steps:
        sys.stderr.write(f"- {step}\n")
    sys.stderr.write(
        f"- More, in the documentation of Indwell: docs/editors/{configuration.page}\n"
    )


def _older_neovim() -> str | None:
    """Return the version of the Neovim on PATH if it is older than 0.11; starts ``nvim`` once."""
    # Only these two editors need the modules that start programs.
    from indwell.cli.doctor.machine import is_older_neovim, version_of

    program = shutil.which("nvim")
    version = None if program is None else asyncio.run(version_of(Path(program)))
    return version if version and is_older_neovim(version) else None


def _change(
    wish: SetupOptions,
    configuration: EditorConfiguration,
    command: tuple[str, ...],
    place: SetupTarget,
) -> int:
    path, state = place.path.resolve(), state_folder(os.environ)
    before, record = _read(path), _record_of(state, path)
    text, comment = configuration.text(command), configuration.language.comment
    wanted = WantedConfiguration(str(path), place.how, text, comment)
    if not wish.remove:
        after = put(wanted, before, record)
    else:
        after = Placed(None, None) if before is None else take(wanted, before, record)
    plan = _SetupPlan(place.path, path, before, after)
    is_changed = after.text != before
    if is_changed and not _is_wanted(plan, quiet=wish.json):
        sys.stderr.write("Nothing was changed.\n")
        return 1
    backup = _carry_out(plan, state) if is_changed else None
    if wish.json:
        told = {"path": str(place.path), "changed": is_changed, "backup": backup}
        print(json_line(told))
        return 0
    done = "Removed from" if wish.remove else "Written to"
    at = _named(place.path)
    tell(f"{done} {at}." if is_changed else f"{at} is already up to date.")
    if backup is not None:
        tell(f"Its earlier text is in {visible(backup)}.")
    if wish.remove and SERVER in (after.text or "").lower():
        tell("It still names Indwell in lines that setup did not write; those stay.")
    if not wish.remove:
        _tell(wish.editor, configuration, command)
    return 0


def _read(path: Path) -> str | None:
    try:
        return read_bytes_private(path).decode()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise CannotMerge("it is not UTF-8 text") from error


def _is_wanted(plan: _SetupPlan, *, quiet: bool) -> bool:
    """Show the diff; at a terminal, ask whether to write the file."""
    old, new = (
        visible(text.replace("\r\n", "\n")).split("\n")
        for text in (plan.before or "", plan.after.text or "")
    )
    name = _named(plan.shown)
    lines = difflib.unified_diff(old, new, name, name, lineterm="")
    if not quiet:
        _print_diff("\n".join(lines))
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return True
    return says_yes(_asked, sys.stderr)


def _asked() -> str:
    """Ask on stderr, where the diff is shown, and return the typed line."""
    sys.stderr.write("Change the file like this? [y/N] ")
    sys.stderr.flush()
    typed = sys.stdin.readline()
    if not typed:
        raise EOFError
    return typed


def _print_diff(diff: str) -> None:
    """Print all lines of a diff: coloured and wrapped in a terminal, plain elsewhere."""
    console = Console(stderr=True)
    if console.is_terminal:
        console.print(Syntax(diff, "diff", word_wrap=True))
    else:
        sys.stderr.write(f"{diff}\n")


def _carry_out(plan: _SetupPlan, state: Path) -> str | None:
    """Copy the file, then write or remove the file; return the copy's path."""
    # Write through links, because many users link to a configuration in another folder.
    path, text = plan.path, plan.after.text
    roots = (_ground(path),)
    backup, old = None, None
    if plan.before is not None:
        old = plan.before.encode()
        backup = str(keep_beside(path, old, BACKUP))
    if text is None:
        delete_exactly(path, roots, old or b"")
    else:
        new = text.encode()
        write_atomic(path, new, roots, parents=True, expected=old, create=old is None)
    problem = _keep_record(state, path, plan.after.record)
    if problem:
        sys.stderr.write(
            f"The record of this change could not be written ({problem}), so `--remove` may ask "
            f"you to remove it by hand.\n"
        )
    return backup


def _ground(path: Path) -> Path:
    """Return the nearest parent folder that exists."""
    return next(one for one in path.parents if one.is_dir())


FORM: StoredForm[Record] = StoredForm("setup", Record, "the record of the setup")


def _record_of(state: Path, path: Path) -> Record | None:
    """Return the record of what ``setup`` added to ``path``, or None if no record is readable.

    Raises:
        NewerVersion: A newer Indwell wrote the record.
    """
    try:
        record = FORM.decode(read_bytes_private(_record_file(state, path)))
    except (OSError, msgspec.DecodeError):  # without a record, nothing is removed
        return None
    return record if record.path == str(path) else None


def _keep_record(state: Path, path: Path, record: Record | None) -> str:
    """Store the record, or delete it if None; return the problem, or an empty text."""
    place = _record_file(state, path)
    try:
        if record is not None:
            make_private_folder(place.parent)
            write_atomic(place, FORM.encode(record), (place.parent,))
        elif place.exists():
            delete_exactly(place, (place.parent,), read_bytes_private(place))
    except (OSError, ToolError) as error:
        return str(error)
    return ""


def _record_file(state: Path, path: Path) -> Path:
    """Return the private record file in the state folder for a configuration file."""
    name = hashlib.sha256(str(path).encode("utf-8", "surrogateescape")).hexdigest()[:32]
    return state.resolve() / "setup" / f"{name}.json"


def server_command() -> tuple[str, ...]:
    """Return the command line that starts this installation of Indwell.

    Raises:
        UserError: The command line cannot be written into an editor's configuration.
    """
    own = _own()
    if own is None:
        return printable((sys.executable, "-m", *PLAIN))
    found = shutil.which(PLAIN[0], path=DESKTOP_PATH.get(sys.platform, _LINUX))
    is_found = found is not None and Path(found).resolve() == own.resolve()
    return PLAIN if is_found else printable((str(own), *PLAIN[1:]))


def printable(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the arguments, if each is printable text on one line.

    Raises:
        UserError: An argument is not printable, or has a line break.
    """
    for word in words:
        if any(unicodedata.category(char) in _ODD for char in word):
            raise UserError(
                f"Indwell is installed at {visible_path(word)}. An editor's configuration cannot "
                f"hold a path with a line break or control character. Install Indwell elsewhere."
            )
    return words


def _own() -> Path | None:
    """Return the ``indwell`` script of this Python environment, or None if there is none."""
    found = shutil.which(PLAIN[0], path=sysconfig.get_path("scripts"))
    return Path(found) if found is not None else None
