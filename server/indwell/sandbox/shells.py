"""Finds the shell for commands (bash, PowerShell or none), and builds its command lines.

On Linux and macOS, the shell is the bash on PATH. On Windows, the shell is the first that exists
of: the bash of Git for Windows, another bash on PATH, PowerShell 7, Windows PowerShell. A process
chooses its shell once, because the rules, the tool's description and the run must mean the same
shell. Without a shell, a command of plain words still runs.
"""

from __future__ import annotations

import binascii
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PureWindowsPath
from typing import Literal, TypeAlias

import msgspec

from indwell.errors import ToolError
from indwell.lazy_pattern import lazy_pattern
from indwell.own_path import lies_in, own_path
from indwell.sandbox.environment import find_program
from indwell.settings.model import CommandShellName

ShellName: TypeAlias = Literal["bash", "pwsh", "powershell", "none"]
TITLES: Mapping[ShellName, str] = {
    "bash": "bash",
    "pwsh": "PowerShell 7",
    "powershell": "Windows PowerShell",
    "none": "none",
}

_LANGUAGES: Mapping[ShellName, str] = {
    **TITLES,
    "powershell": "Windows PowerShell 5.1 (no && or ||)",
    "none": "bash",
}
"""The language that the model is told to write; without a shell, plain words count as bash."""

# A login shell is never used, because it takes 0.3 s instead of 1 ms.
BASH_OPTIONS = ("--norc", "--noprofile", "-c")
# Without the formats, errors are written as XML. The machine's execution policy applies to scripts.
_POWERSHELL_OPTIONS = (
    *("-NoLogo", "-NoProfile", "-NonInteractive", "-InputFormat", "Text", "-OutputFormat", "Text"),
    "-EncodedCommand",
)
_BEFORE = (
    "$ProgressPreference = 'SilentlyContinue'; "
    "try { [Console]::OutputEncoding = New-Object System.Text.UTF8Encoding $false } catch { }; "
    "$OutputEncoding = New-Object System.Text.UTF8Encoding $false; $global:LASTEXITCODE = 0\n"
)
# The last command decides the exit code, as in bash; the blank line ends an incomplete line.
_AFTER = (
    "\n\n$indwell = $?; {at_end}"
    "if ($indwell) {{ exit 0 }} elseif ($LASTEXITCODE) {{ exit $LASTEXITCODE }} else {{ exit 1 }}"
)
_PLAIN = lazy_pattern(r"[\w./:=@%+,-]+(?:[ \t]+[\w./:=@%+,-]+)*")
_STUBS = frozenset(["system32", "syswow64", "sysnative", "windowsapps"])
"""Folders whose ``bash.exe`` starts WSL, which is another system with other paths."""
GET_ONE = "install Git for Windows, which brings bash, or PowerShell 7"


class CommandShell(msgspec.Struct, frozen=True):
    """The shell that runs commands.

    Attributes:
        name: The kind of shell.
        path: The shell's program, or None if there is no shell.
        why: The reason for this choice, as a clause for people.
    """

    name: ShellName
    path: Path | None
    why: str

    @property
    def language(self) -> Literal["bash", "powershell"]:
        """The language of the shell's texts; without a shell, bash."""
        return "powershell" if self.name in {"pwsh", "powershell"} else "bash"

    def path_with(self, path: str) -> str:
        """Return PATH, followed by the folders that the shell's commands need."""
        place = self.path
        if place is None or place.name != "bash.exe" or place.parent.parent.name != "usr":
            return path
        root = place.parents[2]  # `usr/bin/bash.exe` by itself finds no programs, not even `ls`.
        return os.pathsep.join([path, str(root / "usr/bin"), str(root / "mingw64/bin")])

    def argv(self, text: str, *, before: str = "", at_end: str = "") -> list[str]:
        """Return the arguments that run a text in the shell.

        Args:
        text: The text.

        before: Bash text that precedes the text on the same line.

        at_end: Text in the shell's language that runs at the end, even if the first text fails.

        Raises:
        ToolError: There is no shell, and the text is more than a program with plain words.
        """
        match self.name:
            case "bash":
                # The trap also runs after `exit`, and does not run in subshells.
                trap = f"trap {shlex.quote(at_end)} EXIT; " if at_end else ""
                return [str(self.path), *BASH_OPTIONS, f"{before}{trap}{text}"]
            case "pwsh" | "powershell":
                script = powershell_script(text, at_end)
                data = script.encode("utf-16-le", "surrogatepass")
                encoded = binascii.b2a_base64(data, newline=False).decode("ascii")
                return [str(self.path), *_POWERSHELL_OPTIONS, encoded]
            case "none":
                return _plain_words(text, self.why)


def powershell_script(text: str, at_end: str = "") -> str:
    """Return a script that runs a text with output in UTF-8, and ends with a plain exit code."""
    last = f"{at_end}; " if at_end else ""
    return f"{_BEFORE}{text}{_AFTER.format(at_end=last)}"


def _plain_words(text: str, why: str) -> list[str]:
    if not _PLAIN.fullmatch(text.strip()):
        raise ToolError(
            f"there is no shell for commands ({why}), so only a program with plain words can run; "
            f"{GET_ONE}"
        )
    program, *words = text.split()
    found = find_program(program)
    if found is None:
        raise ToolError(f"there is no shell for commands ({why}) and no program {program!r}")
    return [str(found), *words]


def choose_shell(wanted: CommandShellName, found: Iterable[CommandShell]) -> CommandShell:
    """Choose a shell. Pure.

    Args:
    wanted: The user's setting.

    found: The installed shells, the best one first.
    """
    if wanted == "auto":
        return next(iter(found), CommandShell("none", None, "no bash and no PowerShell was found"))
    named = next((one for one in found if one.name == wanted), None)
    setting = f"your setting `command_shell` names {TITLES[wanted]}"
    if named is None:
        return CommandShell("none", None, f"{setting}, which was not found")
    return CommandShell(named.name, named.path, f"{setting}; {named.why}")


def installed_on_windows(
    environment: Mapping[str, str],
    git_folders: Iterable[str],
    is_file: Callable[[PureWindowsPath], bool],
) -> Iterator[CommandShell]:
    """Yield the shells of a machine with Windows, the best one first.

    Args:
        environment: The machine's variables, with names in capitals.
        git_folders: Folders of git according to the registry.
        is_file: Returns whether a path is a file.
    """
    path = [PureWindowsPath(one) for one in environment.get("PATH", "").split(";")]
    path = [one for one in path if one.is_absolute()]
    for root, where in _git_roots(environment, path, git_folders, is_file):
        for place in ("bin/bash.exe", "usr/bin/bash.exe"):
            if is_file(bash := root / place):
                yield CommandShell("bash", Path(bash), f"the bash of Git for Windows, {where}")
    for folder in path:
        is_stub = _STUBS.intersection(part.lower() for part in folder.parts)
        if not is_stub and is_file(bash := folder / "bash.exe"):
            yield CommandShell("bash", Path(bash), "no Git for Windows was found; bash is on PATH")
    no_bash = "no bash was found, other than that of WSL"
    programs = [environment.get(name, "") for name in ("PROGRAMFILES", "PROGRAMW6432")]
    standard = [PureWindowsPath(one) / "PowerShell" / "7" for one in programs if one]
    for folder in (*path, *standard):
        if is_file(pwsh := folder / "pwsh.exe"):
            yield CommandShell("pwsh", Path(pwsh), no_bash)
    system = PureWindowsPath(environment.get("SYSTEMROOT") or "C:\\Windows") / "System32"
    if is_file(own := system / "WindowsPowerShell" / "v1.0" / "powershell.exe"):
        yield CommandShell("powershell", Path(own), f"{no_bash}, and no PowerShell 7")


def _git_roots(
    environment: Mapping[str, str],
    path: Sequence[PureWindowsPath],
    git_folders: Iterable[str],
    is_file: Callable[[PureWindowsPath], bool],
) -> Iterator[tuple[PureWindowsPath, str]]:
    """Yield possible folders of git, and the source of each."""
    for folder in path:
        if is_file(folder / "git.exe"):  # The file git.exe is in `cmd`, `bin` or `mingw64/bin`.
            roots = (one for one in folder.parents[:2] if one != one.parent)
            # The root of a drive is left out, because every user of the machine may create a folder
            # there.
            yield from ((root, f"beside {folder / 'git.exe'}") for root in roots)
    for one in git_folders:
        yield PureWindowsPath(one), "which the registry names"
    for name, below in (
        ("PROGRAMFILES", "Git"),
        ("PROGRAMW6432", "Git"),
        ("PROGRAMFILES(X86)", "Git"),
        ("LOCALAPPDATA", "Programs/Git"),
        ("USERPROFILE", "scoop/apps/git/current"),
    ):
        if start := environment.get(name):
            yield PureWindowsPath(start) / below, "in its usual folder"


class _Choice:
    """The choice of this process's shell, on Windows."""

    def __init__(self) -> None:
        self.wanted: CommandShellName = "auto"
        self.shell: CommandShell | None = None


_choice = _Choice()


def prefer_shell(wanted: CommandShellName) -> None:
    """Set the user's choice if no shell is chosen yet; a running process keeps its shell."""
    if _choice.shell is None:
        _choice.wanted = wanted


if sys.platform == "win32":
    import winreg

    def _git_folders() -> Iterator[str]:
        """Yield the folders of git according to the registry."""
        for hive in (winreg.HKEY_LOCAL_MACHINE, winreg.HKEY_CURRENT_USER):
            for view in (winreg.KEY_WOW64_64KEY, winreg.KEY_WOW64_32KEY):
                try:
                    with winreg.OpenKey(
                        hive, r"SOFTWARE\GitForWindows", access=winreg.KEY_READ | view
                    ) as key:
                        yield str(winreg.QueryValueEx(key, "InstallPath")[0])
                except OSError:  # The registry has no git under this key.
                    continue

    def _is_file(path: PureWindowsPath) -> bool:
        try:
            return Path(path).is_file()
        except OSError:
            return False

    def command_shell(never_in: Sequence[Path] = ()) -> CommandShell:
        """Return the shell of this process; blocks for some milliseconds the first time.

        Args:
            never_in: Workspace folders, which must not contain the shell.

        Raises:
            ToolError: The shell is in a workspace folder.
        """
        if _choice.shell is None:
            environment = {name.upper(): value for name, value in os.environ.items()}
            environment["PATH"] = own_path.given
            found = installed_on_windows(environment, _git_folders(), _is_file)
            _choice.shell = choose_shell(_choice.wanted, found)
        path = _choice.shell.path
        if path is not None and lies_in(path, never_in):
            raise ToolError(
                f"the shell {path} lies in the folder that the agent works in, so it is not used; "
                "install it elsewhere"
            )
        return _choice.shell

else:

    def command_shell(never_in: Sequence[Path] = ()) -> CommandShell:
        """Find bash.

        Args:
            never_in: Workspace folders, which must not contain bash.
        """
        path = find_program("bash", never_in)
        if path is None:
            return CommandShell("none", None, "bash was not found on PATH")
        return CommandShell("bash", path, "bash is on PATH")


def language_title() -> str:
    """Return the language in which the model should write commands, with its version."""
    return _LANGUAGES[command_shell().name if sys.platform == "win32" else "bash"]


def joined_words(words: Sequence[str]) -> str:
    """Return arguments as a text in the language of commands."""
    if command_language() == "bash":
        return shlex.join(words)
    return in_powershell(words)


def in_powershell(words: Sequence[str]) -> str:
    """Quote arguments for PowerShell, so that each argument stays one plain word."""
    return "& " + " ".join(map(powershell_quoted, words))


def powershell_quoted(text: str) -> str:
    """Return a text in single quotes, with typographic quotes escaped as well."""
    doubled = re.sub("(['\u2018-\u201b])", r"\1\1", text)
    return f"'{doubled}'"


def command_language() -> Literal["bash", "powershell"]:
    """Return the language of commands; fast on all systems but Windows."""
    return command_shell().language if sys.platform == "win32" else "bash"
