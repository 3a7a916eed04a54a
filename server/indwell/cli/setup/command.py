"""``indwell setup EDITOR``: print the configuration, put it in place, or take it out."""

from __future__ import annotations

import difflib
import json
import os
import sys
from pathlib import Path

import msgspec
from rich.console import Console
from rich.syntax import Syntax

from indwell.cli.setup import program
from indwell.cli.setup.configuration import PLAIN, Configuration
from indwell.cli.setup.configurations import CONFIGURATIONS, VSCODE
from indwell.cli.setup.merging import CannotMerge, merged, without
from indwell.cli.setup.targets import Target, target
from indwell.errors import ToolError, UserError
from indwell.files.append_log import read_bytes_private
from indwell.files.atomic import write_atomic
from indwell.files.deleting import delete_exactly

BACKUP = ".before-indwell"


class Wish(msgspec.Struct, frozen=True):
    """What the command line asked for."""

    editor: str
    write: bool = False
    remove: bool = False
    json: bool = False
    lsp_mode: bool = False


class _Plan(msgspec.Struct, frozen=True):
    place: Target
    before: str | None
    after: str | None


def setup(wish: Wish) -> int:
    """Do it; 0 done, 1 it could not be done."""
    if wish.editor == "vscode":
        print(json.dumps({"editor": "vscode", "note": VSCODE}) if wish.json else VSCODE)
        return int(wish.write or wish.remove)
    name = "emacs-lsp-mode" if wish.editor == "emacs" and wish.lsp_mode else wish.editor
    configuration, command = CONFIGURATIONS[name], program.command()
    try:
        place = target(name, Path.home(), os.environ, sys.platform, Path.exists)
        if not (wish.write or wish.remove):
            return _show(wish, configuration, command, place)
        return _change(wish, configuration, command, place)
    except CannotMerge as problem:
        path = place.path
        sys.stderr.write(f"{path} was left alone: {problem}. Do it by hand, with this:\n\n")
        print(configuration.text(command))
        return 1
    except (OSError, ToolError, UserError) as error:
        sys.stderr.write(f"{place.path} was left alone: {error}\n")
        return 1


def _show(wish: Wish, configuration: Configuration, command: tuple[str, ...], place: Target) -> int:
    text = configuration.text(command)
    if wish.json:
        told = {
            "editor": wish.editor,
            "path": str(place.path),
            "command": list(command),
            "text": text,
            "page": f"docs/editors/{configuration.page}",
        }
        print(json.dumps(told, ensure_ascii=False))
        return 0
    print(text, end="")
    sys.stderr.write(f"\nThis belongs into {place.path} (`--write` puts it there).\n")
    _tell(configuration, command)
    return 0


def _tell(configuration: Configuration, command: tuple[str, ...]) -> None:
    if command != PLAIN:
        sys.stderr.write(
            f"The command is a whole path, {command[0]}: an editor that is started from the "
            "desktop would not find it otherwise.\n"
        )
    for step in configuration.next_steps:
        sys.stderr.write(f"- {step}\n")
    sys.stderr.write(f"- All of it: docs/editors/{configuration.page}\n")


def _change(
    wish: Wish, configuration: Configuration, command: tuple[str, ...], place: Target
) -> int:
    before = _read(place.path)
    text, comment = configuration.text(command), configuration.comment
    if wish.remove:
        after = None if before is None else without(place.how, before, text, comment)
    else:
        after = merged(place.how, before, text, comment)
    plan = _Plan(place, before, after)
    is_changed = after != before
    if is_changed and not _is_wanted(plan, quiet=wish.json):
        sys.stderr.write("Nothing was changed.\n")
        return 1
    backup = _carry_out(plan) if is_changed else None
    if wish.json:
        told = {"path": str(place.path), "changed": is_changed, "backup": backup}
        print(json.dumps(told, ensure_ascii=False))
        return 0
    done = "Removed from" if wish.remove else "Written to"
    print(f"{done} {place.path}." if is_changed else f"{place.path} is as it should be.")
    if backup is not None:
        print(f"What it was before is in {backup}.")
    if not wish.remove:
        _tell(configuration, command)
    return 0


def _read(path: Path) -> str | None:
    try:
        return read_bytes_private(path, follow_link=True).decode()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise CannotMerge("it is no UTF-8 text") from error


def _is_wanted(plan: _Plan, *, quiet: bool) -> bool:
    """Show the difference; ask, if somebody is there."""
    lines = difflib.unified_diff(
        (plan.before or "").splitlines(keepends=True),
        (plan.after or "").splitlines(keepends=True),
        str(plan.place.path),
        str(plan.place.path),
    )
    if not quiet:
        Console(stderr=True, soft_wrap=True).print(Syntax("".join(lines), "diff"))
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return True
    sys.stderr.write("Change the file like this? [y/N] ")
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def _carry_out(plan: _Plan) -> str | None:
    """Write or remove it, with a copy of what it was; gives the copy's path."""
    path = plan.place.path.resolve()  # many keep their configuration elsewhere, and link to it
    roots = (_ground(path),)
    backup = None
    if plan.before is not None:
        kept = path.with_name(path.name + BACKUP)
        write_atomic(kept, plan.before.encode(), roots, parents=True)
        backup = str(kept)
    if plan.after is None:
        delete_exactly(path, roots, (plan.before or "").encode())
    else:
        write_atomic(path, plan.after.encode(), roots, parents=True)
    return backup


def _ground(path: Path) -> Path:
    """The nearest folder above that is there."""
    return next(one for one in path.parents if one.is_dir())
