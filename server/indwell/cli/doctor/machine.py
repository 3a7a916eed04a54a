"""Checks the machine: Python, packages, text encoding, limits, programs and editors."""

from __future__ import annotations

import asyncio
import contextlib
import locale
import os
import platform
import sys
from collections.abc import Iterator, Sequence
from importlib import metadata
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from indwell import __version__
from indwell.cli.doctor.check import DoctorFinding, Findings
from indwell.errors import SettingsError, ToolError
from indwell.files.private import read_own
from indwell.lazy_pattern import lazy_pattern
from indwell.providers.endpoint import State
from indwell.sandbox import find_program, run_program
from indwell.sandbox.environment import own_installation
from indwell.sandbox.shells import GET_ONE, TITLES, command_shell, prefer_shell
from indwell.service.user_settings import read_settings

RUN_S = 5.0  # the time limit, in seconds, for a program to print its version


async def programs(folder: Path) -> Findings:
    """Check the programs that tools and commands need, without running programs in ``folder``."""
    no_git = "install git; without it Indwell sees no branches and no ignore files"
    return tuple(
        await asyncio.gather(
            _program("rg", folder, "fail", "reinstall Indwell, which includes ripgrep"),
            _program("git", folder, "warn", no_git),
            _shell(folder)
            if sys.platform == "win32"
            else _program("bash", folder, "fail", "install bash; without it no command can run"),
        )
    )


def installation(folder: Path) -> Findings:
    """Check that Indwell is not installed inside the folder that the agent works in."""
    found = own_installation([folder])
    if not found:
        return ()
    words = (
        f"Indwell itself is installed in {found[0]}, where the agent works: sandboxed commands may "
        "not write there, but what you allow without the sandbox could change Indwell"
    )
    return (
        DoctorFinding("own place", "warn", words, "install it outside of the folders you work in"),
    )


async def version_of(program: Path) -> str | None:
    """Return the first line of ``program --version``, or None if the program does not run."""
    try:
        ended = await run_program(
            [str(program), "--version"],
            cwd=Path("/"),
            timeout_s=RUN_S,
            merge_errors=True,
            env={"NVIM_LOG_FILE": os.devnull},  # otherwise Neovim makes a log in the home folder
        )
    except ToolError:
        return None
    if ended.exit_code != 0 or ended.timed_out:
        return None
    return next(iter(ended.output.strip().splitlines()), "")[:100]


async def _shell(folder: Path) -> DoctorFinding:
    """Check the shell for commands, with the reason for the choice."""
    with contextlib.suppress(SettingsError):  # another check reports the problem
        prefer_shell(read_settings(os.environ).settings.command_shell)
    try:
        shell = await asyncio.to_thread(command_shell, (folder,))
    except ToolError as error:
        return DoctorFinding("shell", "fail", str(error), GET_ONE)
    if shell.path is None:
        return DoctorFinding("shell", "fail", f"no shell for commands: {shell.why}", GET_ONE)
    ended = await run_program(
        shell.argv("echo works"), cwd=Path("/"), timeout_s=2 * RUN_S, merge_errors=True
    )
    said = f"{TITLES[shell.name]}, {shell.path} ({shell.why})"
    if ended.exit_code or ended.output.strip() != "works":
        return DoctorFinding("shell", "fail", f"{said}, does not run commands", GET_ONE)
    return DoctorFinding("shell", "ok", said)


async def _program(name: str, folder: Path, without: State, fix: str) -> DoctorFinding:
    path = await asyncio.to_thread(find_program, name, (folder,))
    if path is None and (there := await asyncio.to_thread(find_program, name)):
        words = f"{there} lies in the folder that the agent works in, so it is not used"
        return DoctorFinding(name, without, words, fix)
    if path is None:
        return DoctorFinding(name, without, f"{name} is not on PATH", fix)
    version = await version_of(path)
    if version is None:
        return DoctorFinding(name, without, f"{path} does not run", fix)
    return DoctorFinding(name, "ok", f"{version}, {path}")


PACKAGES = ("openai", "httpx2", "pygls", "lsprotocol", "msgspec", "genai-prices", "keyring")
FEW_FILES = 256  # with a lower limit of open files, the doctor warns; a server needs fifty
# Old kernels watch at most 8,192 folders by default; a project with packages can have more.
FEW_WATCHES = 8_192
_WATCHES = Path("/proc/sys/fs/inotify/max_user_watches")


def versions() -> Findings:
    """Return the versions of Indwell, Python and important packages, with their folders."""
    found, missing = [], []
    for name in PACKAGES:
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            missing.append(name)
    system = f"{platform.system()} {platform.release()} {platform.machine()}"
    python = f"Indwell {__version__} on Python {platform.python_version()}, {system}"
    # PyInstaller sets `sys.frozen`, as docs/decisions/0033 explains.
    kind = "with its own Python in" if hasattr(sys, "frozen") else "in"
    findings = [DoctorFinding("Indwell", "ok", f"{python}, {kind} {sys.prefix}")]
    if missing:
        fix = "reinstall Indwell into an environment of its own"
        findings.append(DoctorFinding("packages", "fail", f"missing: {', '.join(missing)}", fix))
    else:
        findings.append(DoctorFinding("packages", "ok", ", ".join(found)))
    return tuple(findings)


def text() -> Findings:
    """Check whether text is UTF-8 in the locale, on the terminal and in file names."""
    used = {
        "the locale": _locale(),
        "file names": sys.getfilesystemencoding(),
        "this terminal": sys.stdout.encoding or "",
    }
    odd = [f"{what} is {name or 'unknown'}" for what, name in used.items() if not _is_utf8(name)]
    if odd:
        fix = "set LANG=C.UTF-8, or another UTF-8 locale"
        return (DoctorFinding("text", "warn", "not UTF-8: " + ", ".join(odd), fix),)
    return (DoctorFinding("text", "ok", "everything is UTF-8"),)


if sys.platform == "win32":

    def _locale() -> str:
        """Return UTF-8, because Indwell never uses the ANSI code page."""
        return "utf-8"

    def limits() -> Findings:
        """Check nothing, because Windows sets no such limits."""
        return ()

else:
    import resource

    def _locale() -> str:
        return locale.getpreferredencoding(do_setlocale=False)

    def limits() -> Findings:
        """Check the limits of open files and of watched folders."""
        return (*_open_files(), *_watches())

    def _open_files() -> Findings:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft == resource.RLIM_INFINITY:
            return (DoctorFinding("open files", "ok", "without limit"),)
        if soft >= FEW_FILES:
            return (DoctorFinding("open files", "ok", f"up to {soft:,}"),)
        most = "more" if hard == resource.RLIM_INFINITY else f"up to {hard:,}"
        fix = f"run `ulimit -n 1024` before the editor starts ({most} are allowed)"
        words = f"only {soft:,} files may be open at once"
        return (DoctorFinding("open files", "warn", words, fix),)


def _watches() -> Findings:
    try:
        number = int(read_own(_WATCHES, 64))
    except (OSError, ToolError, ValueError):
        return ()  # the system is not Linux, or a container hides the file
    if number >= FEW_WATCHES:
        return (DoctorFinding("file watches", "ok", f"inotify watches up to {number:,} folders"),)
    return (
        DoctorFinding(
            "file watches",
            "warn",
            f"inotify watches only {number:,} folders, and editors share them",
            "sudo sysctl fs.inotify.max_user_watches=524288",
        ),
    )


def _is_utf8(name: str) -> bool:
    return name.lower().replace("-", "").replace("_", "") == "utf8"


MOST_FILES = 300  # the limit of files for one editor's configuration; Neovim's may have a hundred
LIMIT_B = 1 << 20
NEWER_NEOVIM = (0, 11)  # the first version of Neovim with `vim.lsp.config`
_NEOVIM = lazy_pattern(r"NVIM v(\d+)\.(\d+)")


class Editor(NamedTuple):
    """An editor: its program, its configuration in the home folder, and its name for `setup`."""

    title: str
    program: str
    places: tuple[str, ...]
    setup: str


EDITORS = (
    Editor(
        "Neovim",
        "nvim",
        (".config/nvim/*.lua", ".config/nvim/*.vim", ".config/nvim/**/*.lua"),
        "nvim",
    ),
    Editor(
        "Emacs",
        "emacs",
        (".emacs", ".emacs.d/*.el", ".config/emacs/*.el", ".config/doom/*.el", ".doom.d/*.el"),
        "emacs",
    ),
    Editor("Helix", "hx", (".config/helix/languages.toml",), "helix"),
    Editor("Kate", "kate", (".config/kate/lspclient/*.json",), "kate"),
    Editor("VS Code", "code", (".config/Code/User/settings.json",), "vscode"),
)


async def editors(home: Path, folder: Path | None = None) -> Findings:
    """Return a finding for each editor on PATH outside ``folder``, or a single warning."""
    never_in = () if folder is None or home.is_relative_to(folder) else (folder,)
    found = await asyncio.gather(*(_editor(editor, home, never_in) for editor in EDITORS))
    here = tuple(finding for finding in found if finding is not None)
    if here:
        return here
    return (DoctorFinding("editor", "warn", "no editor that speaks LSP was found on PATH"),)


async def _editor(editor: Editor, home: Path, never_in: tuple[Path, ...]) -> DoctorFinding | None:
    program = await asyncio.to_thread(find_program, editor.program, never_in)
    if program is None:
        return None
    version = await version_of(program) or "its version is not known"
    return finding_of(editor, version, await asyncio.to_thread(_naming_us, editor, home))


def finding_of(editor: Editor, version: str, ours: Sequence[bytes]) -> DoctorFinding:
    """Return the finding for an editor with this first line of ``--version``. Pure.

    Args:
        editor: The editor.
        version: The first line of the editor's version text.
        ours: The contents of the editor's configuration files that mention Indwell.
    """
    setup = "nvim-older" if is_older_neovim(version) else editor.setup
    if setup == "nvim-older" and ours and _is_newer_neovims(ours):
        return DoctorFinding(
            editor.title,
            "warn",
            f"{version}; its configuration of Indwell is for Neovim 0.11 or later",
            f"`indwell setup {setup} --write` makes one for yours; or install a newer Neovim",
        )
    if ours:
        return DoctorFinding(editor.title, "ok", f"{version}; its configuration names Indwell")
    return DoctorFinding(
        editor.title,
        "skipped",
        f"{version}; its configuration does not name Indwell",
        f"`indwell setup {setup}` says how",
    )


def is_older_neovim(version: str) -> bool:
    """Return whether ``nvim --version`` printed a Neovim without ``vim.lsp.config``."""
    found = _NEOVIM.match(version)
    return found is not None and (int(found[1]), int(found[2])) < NEWER_NEOVIM


def _is_newer_neovims(ours: Sequence[bytes]) -> bool:
    """Return whether these files start Indwell by functions that only newer Neovims have."""
    whole = b"\n".join(ours)
    names_newer = b"vim.lsp.config" in whole or b"nvim-0.11" in whole
    return names_newer and b"start_client" not in whole


def _naming_us(editor: Editor, home: Path) -> list[bytes]:
    texts = map(_text, islice(_files(editor, home), MOST_FILES))
    return [text for text in texts if b"indwell" in text]


def _files(editor: Editor, home: Path) -> Iterator[Path]:
    for place in editor.places:
        yield from home.glob(place)


def _text(path: Path) -> bytes:
    try:
        return read_own(path, LIMIT_B)
    except (OSError, ToolError):
        return b""
