"""Tries to escape from the sandbox: ``python sandbox_escapes.py [USER] [--free] [--json]``.

Makes a workspace with repositories and secrets, files and keys outside of it, listeners and a
process. The script then runs ``tests/sandbox/escape_attempts.py`` in the sandbox, and checks from
outside what changed. Root becomes the user with the number ``USER`` first. ``--free`` runs the
harmless attempts without a sandbox, which shows that the attempts work. The exit code is 1 if an
attempt succeeded.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "server"))

from indwell.bounds.command_bounds import confiner
from indwell.policy.rules import Widening
from indwell.sandbox import spawn
from indwell.settings.model import Settings

ATTEMPTS = Path(__file__).resolve().parents[1] / "sandbox" / "escape_attempts.py"
HARMLESS = (
    "write a file outside", "write through a new link", "write through a hard link",
    "end a process outside", "read a key in the home folder", "read a secret of the workspace",
    "git's configuration", "rename .git", "rename the folder of a nested repository",
    "instructions of agents", "settings of the editor that are missing",
    "a socket of the file system", "an abstract socket",
    "datagrams to a socket of the file system, by a pair", "TCP to this machine",
    "processes outside are seen", "io_uring_setup(2)", "keyctl(2)", "replace them",
    "writing a protected file by mapping it", "clone3(2): a user namespace",
    "a program of its owner's, as it is made", "read what others keep in /tmp",
    "the second table of system calls (x32)",
)  # fmt: skip
"""Attempts that a free run may do, and must succeed in (the last one: if the kernel has it)."""


class World(msgspec.Struct, frozen=True):
    """The files, and the files that must stay unchanged."""

    folder: Path
    given: Mapping[str, object]
    kept: Mapping[str, str]

    @property
    def changed(self) -> list[str]:
        """Return changes outside the workspace, and changes of the workspace's protected files."""
        out = self.folder / "out"
        changed = [path for path, text in self.kept.items() if _text(Path(path)) != text]
        changed += [str(one) for one in out.iterdir() if one.name != "file"]
        changed += [one for one in ("/etc/indwell-escape", "/indwell-escape") if _is_there(one)]
        workspace = self.folder / "workspace"
        changed += [one for one in (".vscode", ".git2") if (workspace / one).exists()]
        for one in workspace.rglob("*"):
            if not one.is_symlink() and one.stat().st_mode & 0o4000:
                changed.append(f"{one} runs as its owner")
        return changed


def _is_there(path: str) -> bool:
    return os.path.lexists(path)


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except OSError as error:
        return str(error)


def made(
    folder: Path, temporary: Path, *, only: tuple[str, ...] = ()
) -> tuple[World, list[socket.socket], subprocess.Popen[bytes]]:
    """Create the files in an empty folder, and start the listeners and the process."""
    texts = {
        "out/file": "canary-file",
        "home/.ssh/id_ed25519": "canary-key",
        "workspace/AGENTS.md": "be good",
        "workspace/.env": "KEY=canary-secret",
        "workspace/src/main.py": "print(1)",
        "workspace/attempts.py": ATTEMPTS.read_text("utf-8"),
    }
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    temporary.write_text("canary-temporary", "utf-8")
    workspace = folder / "workspace"
    for one in (workspace, workspace / "pkg" / "a"):
        one.mkdir(parents=True, exist_ok=True)
        subprocess.run(["git", "init", "-q", str(one)], check=True)
    (workspace / "stood").symlink_to(folder / "out")
    listening = [socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX), socket.socket()]
    datagrams = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    abstract = f"indwell-{os.getpid()}"
    listening[0].bind(str(folder / "out.socket"))
    listening[1].bind(f"\0{abstract}")
    listening[2].bind(("127.0.0.1", 0))
    datagrams.bind(str(folder / "out.datagrams"))
    for one in listening:
        one.listen()
    outside = subprocess.Popen(["sleep", "600"], env={"SECRET": "canary-outside"})
    given = {
        "out": str(folder / "out"),
        "workspace": str(workspace),
        "home": str(folder / "home"),
        "temporary": str(temporary),
        "socket": str(folder / "out.socket"),
        "datagrams": str(folder / "out.datagrams"),
        "abstract": abstract,
        "port": listening[2].getsockname()[1],
        "pid": outside.pid,
        "only": list(only),
    }
    shut = ("AGENTS.md", ".git/config", "pkg/a/.git/config", ".env")
    kept = [temporary, folder / "out" / "file", folder / "home" / ".ssh" / "id_ed25519"]
    kept += [workspace / one for one in shut]
    return (
        World(folder, given, {str(path): _text(path) for path in kept}),
        [*listening, datagrams],
        outside,
    )


async def tried(folder: Path, *, is_free: bool = False) -> Mapping[str, str]:
    """Create the files, run all attempts, and return the result of each attempt."""
    with tempfile.TemporaryDirectory(prefix="escapes-") as name:
        temporary = Path(name) / "file"
        world, listening, outside = made(folder, temporary, only=HARMLESS if is_free else ())
        python = shutil.which("python3", path="/usr/bin:/bin") or sys.executable
        bounds = confiner(
            (folder / "workspace",),
            lambda: Settings(mode="auto"),
            home=folder / "home",
        )
        try:
            finished = await spawn(
                f"exec {python} -I -S attempts.py {shlex.quote(json.dumps(world.given))}",
                cwd=folder / "workspace",
                timeout_s=120,
                confinement=None if is_free else bounds(Widening()),
            )
            if not finished.output.startswith("{"):
                raise SystemExit(finished.output)
            found: dict[str, str] = json.loads(finished.output)
            if not is_free:
                found |= {f"afterwards: {one}": "BREACH" for one in world.changed}
                if outside.poll() is not None:
                    found["afterwards: the process outside"] = "BREACH"
                found |= {f"heard: {one}": "BREACH" for one in _heard(listening)}
            return found
        finally:
            for one in listening:
                one.close()
            outside.kill()
            outside.wait()


def _heard(listening: list[socket.socket]) -> list[str]:
    """Return the listeners that received a connection."""
    heard = []
    for one in listening:
        one.settimeout(0)
        try:
            heard.append(str(one.accept() if one.type == socket.SOCK_STREAM else one.recv(16)))
        except BlockingIOError:
            continue
    return heard


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("user", nargs="?", type=int, default=0)
    parser.add_argument("--free", action="store_true")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    # Not in a temporary folder, because the sandbox hides temporary folders.
    base = Path("/var/lib") if os.geteuid() == 0 else Path.home()
    folder = Path(tempfile.mkdtemp(prefix="indwell-escapes-", dir=base)).resolve()
    try:
        pid = os.fork()  # a fork, since another user could not remove the folder
        if pid == 0:
            code = 2
            try:
                code = checked(folder, given)
                sys.stdout.flush()
            finally:
                os._exit(code)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def checked(folder: Path, given: argparse.Namespace) -> int:
    """Run all attempts as the wanted user, and print the results."""
    if given.user:
        os.chown(folder, given.user, given.user)
        # imports the module before Python's folder becomes unreadable
        ThreadPoolExecutor().submit(int).result()
        os.setgroups([])
        os.setgid(given.user)
        os.setuid(given.user)
        os.environ["HOME"] = "/nonexistent"
    found = asyncio.run(tried(folder, is_free=given.free))
    through = {title: one for title, one in found.items() if not one.startswith("refused")}
    if given.json:
        sys.stdout.write(json.dumps(found))
    else:
        for title, one in (found if given.free else through).items():
            sys.stdout.write(f"{title}: {one}\n")
        sys.stdout.write(f"{len(found)} attempts, {len(through)} came through\n")
    return int(bool(through) and not given.free)


if __name__ == "__main__":
    sys.exit(main())
