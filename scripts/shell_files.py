"""Write shell completions and the man page of `indwell` from its argument parser.

    python scripts/shell_files.py [--check]

The files are in server/share/, which the wheel installs as `share/`. With `--check` the script
writes nothing; the exit code is 1 if a file is not up to date.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from indwell import __version__
from indwell.cli.parser import make_parser
from indwell.settings.load import VARIABLES

SHARE = Path(__file__).resolve().parents[1] / "server" / "share"
NAMES = {
    "bash": "bash-completion/completions/indwell",
    "zsh": "zsh/site-functions/_indwell",
    "fish": "fish/vendor_completions.d/indwell.fish",
    "man": "man/man1/indwell.1",
}
MORE_VARIABLES = {
    "INDWELL_STATE": "The folder for sessions and approvals.",
    "NO_COLOR": "If set, no colours are printed.",
}


@dataclass(frozen=True)
class Option:
    """One option or argument; `value` is empty if an option takes no value."""

    names: tuple[str, ...]
    help: str
    value: str
    choices: tuple[str, ...]


@dataclass(frozen=True)
class Command:
    """A command with its options, its arguments and its own commands."""

    path: str
    help: str
    about: str
    epilog: str
    options: tuple[Option, ...]
    arguments: tuple[Option, ...]
    below: tuple[Command, ...]

    def walk(self) -> Iterator[Command]:
        """Yield the command and all commands below it."""
        yield self
        for one in self.below:
            yield from one.walk()


def command_of(parser: argparse.ArgumentParser, path: str, words: str) -> Command:
    """Read the command of a parser; hidden options are left out."""
    options, arguments, below = [], [], []
    for action in parser._actions:  # noqa: SLF001 - argparse has no public list
        if action.help == argparse.SUPPRESS:
            continue
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            helps = {one.dest: one.help or "" for one in action._choices_actions}  # noqa: SLF001
            below = [
                command_of(one, f"{path} {name}", helps[name])
                for name, one in action.choices.items()
                if name in helps
            ]
            continue
        takes = action.nargs != 0
        choices = tuple(map(str, action.choices or ()))
        value = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
        if choices and action.metavar is None:
            value = "|".join(choices)
        text = parser._get_formatter()._expand_help(action) if action.help else ""  # noqa: SLF001
        read = Option(tuple(action.option_strings), text, value if takes else "", choices)
        (options if action.option_strings else arguments).append(read)
    about, epilog = parser.description or "", parser.epilog or ""
    return Command(path, words, about, epilog, tuple(options), tuple(arguments), tuple(below))


def _words(one: Command) -> list[tuple[str, str]]:
    """Return what may follow the command: its commands, its choices, its options."""
    found = [(below.path.rsplit(" ", 1)[1], below.help) for below in one.below]
    found += [(choice, argument.help) for argument in one.arguments for choice in argument.choices]
    return found + [(name, option.help) for option in one.options for name in option.names]


def _cases(root: Command) -> tuple[str, dict[str, list[str]], list[str]]:
    """Return the patterns of commands, of options with choices, and of options with any value."""
    paths = "|".join(f'"{one.path}"' for one in root.walk() if one is not root)
    closed: dict[str, list[str]] = {}
    free = []
    for one in root.walk():
        for option in one.options:
            for name in option.names:
                if option.choices:
                    closed.setdefault(" ".join(option.choices), []).append(f'"{one.path} {name}"')
                elif option.value:
                    free.append(f'"{one.path} {name}"')
    return paths, closed, free


def bash(root: Command) -> str:
    """Return the completion for bash."""
    paths, closed, free = _cases(root)
    lines = [
        "# bash completion for indwell, made by scripts/shell_files.py",
        "_indwell() {",
        "  local current=${COMP_WORDS[COMP_CWORD]} at=indwell words='' i",
        "  for ((i = 1; i < COMP_CWORD; i++)); do",
        '    case "$at ${COMP_WORDS[i]}" in',
        f'      {paths}) at+=" ${{COMP_WORDS[i]}}" ;;',
        "    esac",
        "  done",
        '  case "$at ${COMP_WORDS[COMP_CWORD - 1]}" in',
        *(f"    {'|'.join(names)}) words='{values}' ;;" for values, names in closed.items()),
        f"    {'|'.join(free)}) COMPREPLY=(); return ;;",
        '    *) case "$at" in',
    ]
    for one in root.walk():
        found = " ".join(word for word, _ in _words(one))
        lines += [f"      \"{one.path}\") words='{found}' ;;"]
    lines += [
        "    esac ;;",
        "  esac",
        # The bash of macOS, 3.2, has no mapfile; no word holds a blank.
        '  COMPREPLY=($(compgen -W "$words" -- "$current"))',
        "}",
        "complete -o default -F _indwell indwell",
    ]
    return "\n".join(lines) + "\n"


def zsh(root: Command) -> str:
    """Return the completion for zsh."""
    paths, closed, free = _cases(root)
    lines = [
        "#compdef indwell",
        "# zsh completion for indwell, made by scripts/shell_files.py",
        "_indwell() {",
        "  local at=indwell i",
        "  local -a found",
        "  for ((i = 2; i < CURRENT; i++)); do",
        '    case "$at ${words[i]}" in',
        f'      {paths}) at+=" ${{words[i]}}" ;;',
        "    esac",
        "  done",
        '  case "$at ${words[CURRENT - 1]}" in',
        *(
            f"    {'|'.join(names)}) compadd {values}; return ;;"
            for values, names in closed.items()
        ),
        f"    {'|'.join(free)}) _files; return ;;",
        "  esac",
        '  case "$at" in',
    ]
    for one in root.walk():
        entries = " ".join(
            _quoted(f"{word.replace(':', chr(92) + ':')}:{_short(text)}")
            for word, text in _words(one)
        )
        lines.append(f'    "{one.path}") found=({entries}) ;;')
    lines += ["  esac", "  _describe indwell found || _files", "}", '_indwell "$@"']
    return "\n".join(lines) + "\n"


def fish(root: Command) -> str:
    """Return the completion for fish."""
    paths = " ".join(f'"{one.path}"' for one in root.walk() if one is not root)
    lines = [
        "# fish completion for indwell, made by scripts/shell_files.py",
        "function __indwell_at",
        "    set -l at indwell",
        "    for word in (commandline -opc)[2..]",
        f'        if contains -- "$at $word" {paths}',
        '            set at "$at $word"',
        "        end",
        "    end",
        '    test "$at" = "$argv"',
        "end",
    ]
    for one in root.walk():
        here = f"complete -c indwell -n '__indwell_at {one.path}'"
        lines += [
            f"{here} -a {_escaped(word)} -d {_escaped(_short(text))}"
            for word, text in _words(one)
            if not word.startswith("-")
        ]
        for option in one.options:
            names = " ".join(
                f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"
                for name in option.names
            )
            value = f" -x -a {_escaped(' '.join(option.choices))}" if option.choices else ""
            value = value or (" -r" if option.value else "")
            lines.append(f"{here} {names}{value} -d {_escaped(_short(option.help))}")
    return "\n".join(lines) + "\n"


def man(root: Command) -> str:
    """Return the man page."""
    lines = [
        f'.TH INDWELL 1 "" "indwell {__version__}" "User Commands"',
        ".SH NAME",
        r"indwell \- a coding agent that lives in the editor's language server",
        ".SH SYNOPSIS",
        r".B indwell",
        r"[\fIOPTION\fR]... [\fICOMMAND\fR [\fIARGUMENT\fR]...]",
    ]
    if root.about:
        lines += [".SH DESCRIPTION", _roff(root.about)]
    lines += [".SH OPTIONS", *_roff_options(root), ".SH COMMANDS"]
    for one in root.walk():
        if one is root:
            continue
        words = " ".join(argument.value for argument in one.arguments)
        lines.append(f'.SS "{_roff(f"{one.path} {words}".strip())}"')
        lines += [_roff(text) for text in (one.about or f"{one.help}.",) if text]
        lines += _roff_options(one)
        lines += [".PP", _roff(one.epilog)] if one.epilog else []
    lines.append(".SH ENVIRONMENT")
    settings = {name: f"The setting {one}." for name, one in VARIABLES.items()}
    for name, text in {**settings, **MORE_VARIABLES}.items():
        lines += [".TP", f".B {name}", _roff(text)]
    lines += [".SH SEE ALSO", "The folder docs of the source has all pages."]
    return "\n".join(line for text in lines for line in text.split("\n") if line) + "\n"


def _roff_options(one: Command) -> list[str]:
    lines = []
    for option in (*one.arguments, *one.options):
        names = ", ".join(rf"\fB{_roff(name)}\fR" for name in option.names)
        value = rf"\fI{_roff(option.value)}\fR" if option.value else ""
        lines += [".TP", f"{names} {value}".strip(), _roff(option.help) or r"\&"]
    return lines


def _roff(text: str) -> str:
    plain = text.replace("\\", r"\e").replace("-", r"\-").replace("`", r"\(ga")
    plain = "".join(one if one.isascii() else f"\\[u{ord(one):04X}]" for one in plain)
    lines = (line.strip() for line in plain.splitlines())
    return "\n".join(rf"\&{line}" if line.startswith((".", "'")) else line for line in lines)


def _short(text: str) -> str:
    return " ".join(text.split()).split(";")[0].split(". ")[0]


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _escaped(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def texts() -> Mapping[Path, str]:
    """Return the text of each file."""
    root = command_of(make_parser(), "indwell", "")
    made = {"bash": bash(root), "zsh": zsh(root), "fish": fish(root), "man": man(root)}
    return {SHARE / name: made[kind] for kind, name in NAMES.items()}


def main() -> int:
    """Write the files, or check them."""
    old = [
        path
        for path, text in texts().items()
        if not path.is_file() or path.read_text("utf-8") != text
    ]
    if "--check" in sys.argv[1:]:
        for path in old:
            print(f"{path.relative_to(SHARE.parents[1])} is not up to date; run scripts/fix")
        return int(bool(old))
    for path in old:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(texts()[path], "utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
