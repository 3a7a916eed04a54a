"""The scenes of scripts/pictures/take-terminal: the tutorial, played in real programs.

python scripts/pictures/terminal_scenes.py FOLDER [terminal] [neovim] [emacs]
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from terminal_screen import Screen

ROOT = Path(__file__).resolve().parents[2]
_MADE = re.compile(r"^cat > (\S+) <<'END'\n(.*?)^END$", re.MULTILINE | re.DOTALL)
QUIET = "(setq native-comp-async-report-warnings-errors nil)"


def project(home: Path) -> Path:
    """Make the project of the tutorial, from the tutorial's own text."""
    folder = home / "shop"
    folder.mkdir()
    page = (ROOT / "docs" / "tutorial.md").read_text("utf-8")
    for name, text in _MADE.findall(page):
        (folder / name).write_text(text, "utf-8")
    git = ("git", "-c", "user.name=me", "-c", "user.email=me@example.com")
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "A shop")):
        subprocess.run([*git, *words], cwd=folder, check=True)
    return folder


def environment(home: Path) -> dict[str, str]:
    """Return the variables of a session that has only the scripted model."""
    return {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_STATE_HOME": str(home / ".state"),
        "XDG_DATA_HOME": str(home / ".data"),
        "INDWELL_PROVIDER": "scripted",
        "PATH": os.environ["PATH"],
        "LANG": "C.UTF-8",
        "TERM": "tmux-256color",
        "COLORTERM": "truecolor",
        "PS1": "$ ",
    }


def opened(home: Path, command: Sequence[str], columns: int = 88) -> Screen:
    """Start a program in the project."""
    return Screen(command, folder=project(home), environment=environment(home), columns=columns)


def terminal(home: Path, out: Path) -> None:
    """A fix by `indwell run`, then its review in the interactive session."""
    with opened(home, ("bash", "--norc", "--noprofile")) as screen:
        screen.until("$")
        screen.write('indwell run "Fix this" --file prices.py:1-6')
        screen.press("Enter")
        screen.until("[T]rust?")
        screen.watch(1.5)
        screen.write("t")
        screen.press("Enter")
        screen.until("tokens")
        screen.until("\n$")
        screen.watch(1.5)
        screen.write("indwell --continue")
        screen.press("Enter")
        screen.until("\n>")
        screen.watch(1)
        screen.write("/review")
        screen.press("Enter")
        screen.until("[a]ccept")
        screen.watch(1.5)
        screen.write("a")
        screen.press("Enter")
        screen.until("ccepted")
        screen.until("\n>")
        screen.watch(1)
        screen.write("/quit")
        screen.press("Enter")
        screen.watch(1)
        recording = screen.recording(
            "A session: Indwell fixes a function, and the change is accepted"
        )
    (out / "terminal.svg").write_text(recording, "utf-8")


def configured(home: Path, editor: str) -> None:
    """Write the editor's configuration, as step 1 of the tutorial does."""
    command = ("indwell", "setup", editor, "--write")
    subprocess.run(
        command, input="y\n", text=True, env=environment(home), check=True, capture_output=True
    )


def neovim(home: Path, out: Path) -> None:
    configured(home, "nvim")
    with opened(home, ("nvim", "prices.py")) as screen:
        screen.until("def total")
        screen.watch(3)
        screen.press("g", "g", "V", "5", "j", "g", "r", "a")
        screen.until("Fix this")
        screen.watch(0.5)
        (out / "neovim-actions.svg").write_text(
            screen.picture("Neovim lists the code actions"), "utf-8"
        )
        screen.write("1")
        screen.press("Enter")
        screen.until("choose-t")
        screen.watch(1.5)
        (out / "neovim-trust.svg").write_text(
            screen.picture("Neovim asks whether you trust the folder"), "utf-8"
        )
        screen.write("choose-t", 0.1)
        screen.press("Enter")
        screen.until("done")
        screen.watch(1)
        screen.press("g", "g", "]", "d")
        screen.watch(1)
        (out / "neovim-change.svg").write_text(
            screen.picture("The change in Neovim's buffer"), "utf-8"
        )


def emacs(home: Path, out: Path) -> None:
    configured(home, "emacs")
    with opened(home, ("emacs", "-nw", "--eval", QUIET, "prices.py"), 100) as screen:
        screen.until("def total")
        screen.watch(2)
        screen.press("C-x", "h")
        screen.press("C-c", "i")
        screen.until("Fix this")
        screen.watch(0.5)
        (out / "emacs-menu.svg").write_text(screen.picture("Emacs shows all actions"), "utf-8")
        screen.press("f")
        screen.until("choose-t")
        screen.watch(2)
        (out / "emacs-trust.svg").write_text(
            screen.picture("Emacs asks whether you trust the folder"), "utf-8"
        )
        screen.write("choose-t", 0.1)
        screen.press("Enter")
        screen.until("done")
        screen.watch(1)
        screen.press("C-c", "i", "n")
        screen.watch(1)
        (out / "emacs-change.svg").write_text(
            screen.picture("The change in Emacs, with the chat"), "utf-8"
        )


SCENES: Mapping[str, Callable[[Path, Path], None]] = {
    "terminal": terminal,
    "neovim": neovim,
    "emacs": emacs,
}


def _remove(folder: Path) -> None:
    """Remove a folder in which programs that were just killed may still write."""
    for _ in range(50):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        time.sleep(0.1)
    raise OSError(f"{folder} cannot be removed")


def main() -> None:
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:] or SCENES:
        home = Path(tempfile.gettempdir()) / "indwell-tutorial"  # the pictures show this name
        home.mkdir()
        try:
            SCENES[name](home, out)
        finally:
            _remove(home)


if __name__ == "__main__":
    main()
