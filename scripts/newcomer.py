"""The steps of a new user: a first edit, an upgrade, and the removal, after which nothing is left.

`install_check.py` takes these steps in an empty home for each installer. The commands are those of
docs/tutorial.md and docs/upgrading.md.
"""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from zipfile import ZipFile

from indwell.sessions.storage.store import folder_name

ROOT = Path(__file__).resolve().parents[1]
STORED = ROOT / "tests" / "stored"
KEPT_AT = "/home/user"  # in the files that an earlier version wrote
STATE, CONFIG = ".local/state/indwell", ".config/indwell"
OLDER = "0.0.9"  # a version below each release
TUTORIAL = re.compile(r"```sh\n(mkdir .*?)```", re.DOTALL)
OF_INSTALLERS = tuple(
    f"{folder}/"
    for folder in (
        *(".cache/pip", ".cache/pipx", ".cache/uv"),
        *(".local/share/pipx", ".local/share/uv", ".local/state/pipx"),
    )
)
"""Folders that pip, pipx and uv keep for themselves, with caches and logs."""
SHOWN: Mapping[str, str] = {
    "tasks": "Write a page of help",
    "memory": "The tests run with unittest",
    "trust --list": "trusted",
    "worktrees": "Fix the bug",
    "stats --days 36500": "gen_ai.usage.input_tokens",
}
"""A text of tests/stored/scenario.py that a command shows."""
OF_USER = ("indwell-tutorial/", "project/")


def older_wheel(wheel: Path, folder: Path) -> Path:
    """Write the wheel as an earlier version of itself into the folder; return its path."""
    version = wheel.name.split("-")[1]
    made = folder / wheel.name.replace(version, OLDER)
    with ZipFile(wheel) as new, ZipFile(made, "w") as old:
        for entry in new.infolist():
            content = new.read(entry)
            name = entry.filename.replace(f"-{version}.", f"-{OLDER}.")
            if name.endswith("/RECORD"):  # without digests, as two of them are wrong now
                rows = (row.split(",")[0] for row in content.decode().splitlines())
                content = "".join(f"{row},,\n" for row in rows).encode()
                content = content.replace(f"-{version}.".encode(), f"-{OLDER}.".encode())
            elif name.endswith("/METADATA"):
                content = content.replace(f"\nVersion: {version}\n".encode(), _OLD_LINE, 1)
            elif name == "indwell/__init__.py":
                content = content.replace(f'"{version}"'.encode(), f'"{OLDER}"'.encode())
            old.writestr(name, content)
    return made


_OLD_LINE = f"\nVersion: {OLDER}\n".encode()


class Newcomer:
    """A user with an empty home, and the seconds that each of the user's steps took.

    Args:
        home: the folder of the home.
        environment: the variables of the user, with `PATH` and `HOME`.
    """

    def __init__(self, home: Path, environment: Mapping[str, str]) -> None:
        self.home = home
        self.seconds: dict[str, float] = {}
        self._environment = {**environment, "TMPDIR": str(home / "tmp")}
        self._folder = home
        (home / "tmp").mkdir(parents=True)

    def run(self, step: str, *command: str, codes: Iterable[int] = (0,)) -> str:
        """Run a command and add its time to the step; return what it printed.

        Raises:
            SystemExit: The command ended with another code.
        """
        begun = time.monotonic()
        done = subprocess.run(
            command,
            env=self._environment,
            cwd=self._folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        self.seconds[step] = self.seconds.get(step, 0.0) + time.monotonic() - begun
        if done.returncode not in codes:
            raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
        return done.stdout

    def edit_first(self) -> None:
        """Let the scripted model fix the project of the tutorial, and accept the change."""
        page = (ROOT / "docs" / "tutorial.md").read_text("utf-8")
        (commands,) = TUTORIAL.findall(page)
        self.run("tutorial's project", "sh", "-c", commands, codes=(1,))  # Its test fails.
        self._folder = self.home / "indwell-tutorial"
        self.run("editor set up", "indwell", "setup", "nvim", "--write")
        self._environment["INDWELL_PROVIDER"] = "scripted"
        self.run("first edit", "indwell", "run", "--trust", "Fix this", "--file", "prices.py:1-6")
        self.run("first edit", "indwell", "review", "--accept", "--all")
        self.run("first edit", "python3", "-B", "-m", "unittest", "-q")

    def use_state_of(self, release: str) -> None:
        """Put the stored files of a release into the home, and read them with this version."""
        project = self.home / "project"
        project.mkdir()
        self._folder = project
        places = {"state": STATE, "config/indwell": CONFIG, "state-worktrees": f"{STATE}-worktrees"}
        n_sessions = 0
        for source, place in places.items():
            for path in (STORED / release / source).rglob("*"):
                if not path.is_file():
                    continue
                text = path.read_text("utf-8")
                for old, new in places.items():
                    text = text.replace(f"{KEPT_AT}/{old}/", f"{self.home}/{new}/")
                name = str(path.relative_to(STORED / release / source))
                target = self.home / place / name.replace("project-HASH", folder_name(project))
                target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                target.write_text(text.replace(KEPT_AT, str(self.home)), "utf-8")
                target.chmod(0o600)
                n_sessions += name.startswith("sessions/project-HASH/2")
        step = f"state of {release} read"
        found = json.loads(self.run(step, "indwell", "sessions", "--json"))
        if len(found) != n_sessions:
            raise SystemExit(f"{len(found)} of {n_sessions} sessions of {release} were found")
        for words, kept in SHOWN.items():
            if kept not in self.run(step, "indwell", *words.split(), "--json"):
                raise SystemExit(f"`indwell {words}` does not show what {release} stored: {kept}")
        self.run(step, "indwell", "sessions", "show", found[0]["id"])
        self.run("old session continued", "indwell", "run", "--continue", "--trust", "Why?")

    def remove(self, *uninstall: str) -> None:
        """Remove Indwell as docs/upgrading.md says."""
        self._folder = self.home
        self.run("purged", "indwell", "setup", "nvim", "--remove")
        self.run("purged", "find", ".config/nvim", "-name", "*.before-indwell", "-delete")
        self.run("purged", "indwell", "purge", "--settings", "--yes")
        self.run("uninstalled", *uninstall)

    def left(self) -> tuple[list[str], int]:
        """Return the paths that are left although nobody keeps them, and the installers' bytes."""
        found, n_bytes = [], 0
        for path in sorted(self.home.rglob("*")):
            name = f"{path.relative_to(self.home)}/"
            is_file = path.is_symlink() or path.is_file()
            if name.startswith(OF_INSTALLERS):
                n_bytes += path.lstat().st_size if is_file else 0
            elif not name.startswith(OF_USER) and (is_file or "indwell" in path.name):
                found.append(name.rstrip("/"))
        return found, n_bytes
