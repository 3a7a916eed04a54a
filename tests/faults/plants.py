"""Plants random files and links; no protected name may exist after a command.

    python tests/faults/plants.py [PLANTS [SEED]]

The script changes a workspace as commands could between the check before and the check after them.
The script then searches the workspace independently. Started by root, the script continues as
``nobody``, whom the modes of folders restrict. The tests run a short form.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import wcmatch.glob  # noqa: F401 - nobody may be unable to load it later

from indwell.bounds.guarded_scan import FolderGuard
from indwell.files.quarantine import Quarantine
from indwell.policy import protected_names
from indwell.policy.guarded_paths import SHUT, is_guarded, is_repository_sign, is_set_aside
from indwell.policy.paths import is_protected
from indwell.sandbox.confine.strength import strength
from indwell.sandbox.gate import remaining_plants
from indwell.settings.credentials import SECRETS

PLANTS = 10_000
NOBODY = 65_534
IN_A_WORLD = 8  # number of commands in one session, which reuse the results of earlier checks
EVIL = "[core]\n\tfsmonitor = touch ran\n\tworktree = .\n"
SHUT_FOLDERS = ("node_modules/p", "lib/site-packages/q/r", ".terraform/modules/m", ".tox/py")
MODES = (0o000, 0o111, 0o300, 0o444, 0o500, 0o555, 0o700, 0o755, 0o1777)


def become_nobody() -> None:
    """Change to the user nobody permanently."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)


def protected() -> tuple[str, ...]:
    """Return a path for each protected name."""
    tables = (protected_names.PROTECTED, protected_names.INSTALLED, protected_names.STARTERS)
    words = (one for table in tables for names in table.values() for one in names)
    paths = dict.fromkeys(one.removesuffix("/").replace("*", "x") for one in words)
    return tuple(one for one in paths if is_protected(one) and "node_modules" not in one)


NAMES = protected()


class World:
    """A workspace, its guard, and one random source."""

    def __init__(self, above: Path, dice: random.Random, *, is_blocked: bool) -> None:
        self.root = above / "w"
        self.dice = dice
        self.is_blocked = is_blocked
        self.outside = above / "outside"
        self.n_plants = 0
        self.tokens: list[str] = []
        for folder in ("src/deep/er", "docs", "lib", *SHUT_FOLDERS):
            (self.root / folder).mkdir(parents=True)
        self.outside.mkdir()
        for file in ("src/a.py", "docs/b.md", "AGENTS.md"):
            (self.root / file).write_text("the user's own")
        for repository in (self.root, self.root / "lib"):
            subprocess.run(["git", "init", "-q", str(repository)], check=True)
        state = above / "state"
        if is_blocked:
            state.touch()
        self.quarantine = Quarantine(
            state / "quarantine", (self.root,), spare_in=above / "none" if is_blocked else above
        )
        self.guard = FolderGuard(self.root, SECRETS, quarantine=self.quarantine)

    def paths(self) -> set[str]:
        """Return every path of the workspace, without following links; open closed folders."""
        found: set[str] = set()
        waiting = [""]
        for at in waiting:
            folder = self.root / at
            if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
                folder.chmod(0o700)
            with os.scandir(folder) as entries:
                for one in entries:
                    path = f"{at}/{one.name}" if at else one.name
                    found.add(path)
                    if one.is_dir(follow_symlinks=False):
                        waiting.append(path)
        return found

    def closed(self) -> list[str]:
        """Return unreadable folders, without folders inside them."""
        found: list[str] = []
        for _ in os.walk(self.root, onerror=lambda error: found.append(error.filename)):
            pass
        return found

    def command(self) -> list[str]:
        """Plant files as one command could; return the faults afterwards."""
        before = self.paths()
        kept = {path: (self.root / path).read_bytes() for path in ("AGENTS.md", "src/a.py")}
        self.tokens = []
        looked = self.guard.look()
        assert not looked.refused, looked.refused
        is_flood = self.dice.random() < 0.01
        for _ in range(self.dice.randint(80, 300) if is_flood else self.dice.randint(1, 6)):
            # the plant's target may be in a folder that the command has closed
            with contextlib.suppress(OSError):
                self.plant()
            if self.dice.random() < 0.15:
                looked.settle_so_far()
        looked.settle()
        wrong = [] if self.is_blocked else [f"closed: {path}" for path in self.closed()]
        wrong += self.wrong(before)
        for path, data in kept.items():
            if (self.root / path).read_bytes() != data:
                wrong.append(f"changed: {path}")
        self.clean(before)
        return wrong

    def wrong(self, before: set[str]) -> Iterator[str]:
        """Yield protected names that exist without a report, and lost files."""
        named = {one.at for one in asyncio.run(remaining_plants((self.root,)))}
        if named and not self.is_blocked:
            yield f"in the way: {sorted(named)}"
        after = self.paths()
        for path in sorted(after - before):
            above = {"/".join(path.split("/")[:at]) for at in range(1, path.count("/") + 2)}
            if is_forbidden(self.root, path) and not above & (named | before_repositories(before)):
                yield f"there: {path!r}"
        if not self.is_blocked:
            kept = "".join(texts(self.quarantine.home())) + "".join(texts(self.root))
            yield from (f"lost: {token}" for token in self.tokens if token not in kept)

    def clean(self, before: set[str]) -> None:
        for path in sorted(self.paths() - before, key=len):
            one = self.root / path
            if one.is_dir() and not one.is_symlink():
                list(texts(one))  # reading the texts also opens the folders
                shutil.rmtree(one)
            else:
                one.unlink(missing_ok=True)
        if not self.is_blocked:
            shutil.rmtree(self.quarantine.home())

    def plant(self) -> None:
        """Make one random plant."""
        dice = self.dice
        self.n_plants += 1
        if dice.random() < 0.2:
            self.repository(self.root / self.new_folder(dice.choice((*SHUT_FOLDERS, "src", ""))))
            return
        name = dice.choice(NAMES)
        if dice.random() < 0.2:
            name = "".join(one.upper() if dice.random() < 0.5 else one for one in name)
        if dice.random() < 0.05:
            name += dice.choice((".", " ", "..", "\u200d"))
        folder = self.new_folder(dice.choice(("", "", "src", "src/deep/er", "docs", "lib")))
        is_renamed = folder not in {"", "src", "docs", "lib"} and dice.random() < 0.3
        place = self.root / folder
        if dice.random() < 0.3:
            self.decoys(place, name.rpartition("/")[2])
        plant = place / name
        plant.parent.mkdir(parents=True, exist_ok=True)
        dice.choice(self.kinds)(self, plant)
        for one in (plant, plant.parent, place):
            if dice.random() < 0.2 and one != self.root and not one.is_symlink():
                one.chmod(dice.choice(MODES))
        if is_renamed:
            place.rename(self.root / self.new_folder("docs") / "renamed")
        if dice.random() < 0.1:
            self.root.chmod(dice.choice((0o555, 0o500)))

    def new_folder(self, beneath: str) -> str:
        """Return an existing folder, or make a folder inside it."""
        if self.dice.random() < 0.5:
            return beneath
        folder = f"{beneath}/new{self.dice.randrange(10**9)}".removeprefix("/")
        for _ in range(self.dice.randint(0, 4)):
            folder += "/in"
        (self.root / folder).mkdir(parents=True)
        return folder

    def decoys(self, place: Path, name: str) -> None:
        for number in range(self.dice.choice((1, 5, 40))):
            front = f"{number}-" if number else ""
            decoy = place / f"{front}quarantined-{name}.txt"
            self.dice.choice((decoy.touch, decoy.mkdir, lambda at=decoy: at.symlink_to("x")))()

    def token(self) -> str:
        token = f"token-{self.dice.randrange(10**12)}."
        self.tokens.append(token)
        return token

    def file(self, plant: Path) -> None:
        """Write a file whose text must survive; the text counts only after the plant succeeds."""
        descriptor = os.open(plant, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        os.write(descriptor, self.token().encode())
        os.close(descriptor)

    def folder(self, plant: Path) -> None:
        plant.mkdir()
        self.file(plant / "settings.json")
        (plant / "deep" / "er").mkdir(parents=True)
        self.file(plant / "deep" / "er" / "x")
        if self.dice.random() < 0.3:
            (plant / "deep").chmod(self.dice.choice(MODES))

    def link(self, plant: Path) -> None:
        aims = (self.outside, self.root / "src", self.root / "src" / "a.py", "nowhere", "/etc")
        plant.symlink_to(self.dice.choice(aims))

    def hard_link(self, plant: Path) -> None:
        plant.hardlink_to(self.root / "docs" / "b.md")

    def pipe(self, plant: Path) -> None:
        os.mkfifo(plant)

    def socket(self, plant: Path) -> None:
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(str(plant)[:100])

    kinds: tuple[Callable[[World, Path], None], ...] = (
        *(file, file, folder, folder),
        *(link, hard_link, pipe, socket),
    )

    def repository(self, place: Path) -> None:
        """Write a file that makes git run a program in the folder or beneath."""
        place.mkdir(parents=True, exist_ok=True)
        kind = self.dice.choice(("git", "bare", "file", "hg", "hook", "commondir"))
        git = place / ".git"
        if kind == "file":
            git.write_text(f"gitdir: {self.outside}\n")
        elif kind == "hg":
            (place / ".hg").mkdir()
            (place / ".hg" / "hgrc").write_text(self.token())
        else:
            where = place if kind == "bare" else git
            for name in ("objects", "refs", "hooks"):
                (where / name).mkdir(parents=True)
            (where / "config").write_text(EVIL if kind in {"git", "bare"} else "")
            if kind == "hook":
                (where / "hooks" / "post-checkout").write_text(self.token())
            if kind == "commondir":
                (where / "commondir").write_text(str(self.outside))
            (where / "HEAD").write_text("ref: refs/heads/x\n")


def before_repositories(before: set[str]) -> set[str]:
    """Return earlier repositories, in which commits make files that nothing runs."""
    return {path for path in before if path.rpartition("/")[2] == ".git"}


def is_forbidden(root: Path, path: str) -> bool:
    """Return whether a name is forbidden."""
    *folders, name = path.split("/")
    if name == "HEAD":
        beside = {one.name for one in (root / path).parent.iterdir()}
        return {"objects", "refs", "config"} <= beside
    if any(one in SHUT for one in folders):
        return is_repository_sign(name)
    return is_guarded(path) and is_set_aside(path)


def texts(folder: Path) -> Iterator[str]:
    """Yield the contents of the files beneath a folder."""
    for at, names, files in os.walk(folder):
        Path(at).chmod(0o700)
        for name in names:
            if not Path(at, name).is_symlink():
                Path(at, name).chmod(0o700)
        for name in files:
            path = Path(at, name)
            if path.is_file() and not path.is_symlink():
                path.chmod(0o600)
                yield path.read_text("utf-8", "replace")


def run(n_plants: int, seed: int) -> list[str]:
    """Make ``n_plants``; return the faults, with a way to reproduce each."""
    logging.disable(logging.WARNING)
    wrong: list[str] = []
    done = n_worlds = 0
    while done < n_plants:
        dice = random.Random(f"{seed}/{n_worlds}")
        is_blocked = n_worlds % 4 == 3
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
            world = World(Path(name).resolve(), dice, is_blocked=is_blocked)
            for number in range(IN_A_WORLD):
                found = world.command()
                wrong += [f"world {seed}/{n_worlds}, command {number}: {one}" for one in found]
                if world.n_plants + done >= n_plants or found:
                    break
        done += world.n_plants
        n_worlds += 1
    return wrong


def main() -> int:
    n_plants = int(sys.argv[1]) if len(sys.argv) > 1 else PLANTS
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    become_nobody()
    strength()
    begun = time.monotonic()
    wrong = run(n_plants, seed)
    for one in wrong[:50]:
        print(one)
    took = time.monotonic() - begun
    print(f"{n_plants:,} plants in {took:.0f} s, {len(wrong)} wrong", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
