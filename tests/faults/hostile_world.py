"""Surrounds a workspace with files, secrets and listeners, and finds forbidden effects.

``breaches`` returns the changes and accesses since the last check.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
import secrets
import stat
import subprocess
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from indwell.policy.paths import is_protected

GIT = ("git", "-c", "user.name=x", "-c", "user.email=x@localhost", "-c", "commit.gpgsign=false")
EXECUTED_BY_GIT = (
    *(".git/hooks", ".git/config", ".git/info/attributes", ".git/modules", ".git/commondir"),
)
MADE = (
    *("free", "sub/free", "-", "go.mod", "rust-toolchain.toml", ".python-version"),
    *("%2e%2e", "..\\", "C:\\", "\\\\?"),  # odd names, which refer to files in this folder only
)
"""How the names begin of files that attempts make where that is allowed."""


@dataclass
class World:
    """The workspace with the files, secrets and listeners around it.

    Attributes:
        folder: The folder of everything.
        secrets: The texts that no request may contain, by the file that contains each.
        port: The port of the listeners on the loopback address, for TCP and UDP.
        contacts: The connections that the listeners received.
    """

    folder: Path
    secrets: dict[str, str]
    port: int = 0
    contacts: list[str] = field(default_factory=list)
    _seen: dict[str, str] = field(default_factory=dict)

    @property
    def work(self) -> Path:
        return self.folder / "work"

    @property
    def outside(self) -> Path:
        return self.folder / "outside"

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def socket(self) -> Path:
        return self.folder / "outside" / "s.sock"

    def fill(self, template: str, number: int, target: str = "", secret: str = "") -> str:
        """Replace the placeholders of a command or a path."""
        target = target or str(self.outside / f"w-{number}")
        places = {
            "%T%": target,
            "%D%": str(Path(target).parent),
            "%S%": secret,
            "%P%": str(self.port),
            "%U%": str(self.socket),
            "%N%": str(number),
            "%H%": str(self.home),
            "%W%": str(self.work),
            "%O%": str(self.outside),
        }
        for place, text in places.items():
            template = template.replace(place, text)
        return template

    def look(self, *, all_of_work: bool) -> None:
        """Record the state of everything that must not change."""
        self._seen = dict(self._state(all_of_work=all_of_work))

    def breaches(self, *, all_of_work: bool) -> list[str]:
        """Return changes and accesses since the last check; each is reported once."""
        now = dict(self._state(all_of_work=all_of_work))
        names = sorted(self._seen.keys() | now.keys())
        told = [
            f"{name}: {self._seen.get(name, 'nothing')} → {now.get(name, 'nothing')}"
            for name in names
            if self._seen.get(name) != now.get(name)
        ]
        told += [f"connected: {one}" for one in self.contacts]
        self._seen = now
        self.contacts.clear()
        return told

    def leaks(self, text: str) -> list[str]:
        """Return the secrets in a text, plain or in a simple encoding."""
        bare = "".join(text.split())
        return [name for name, secret in self.secrets.items() if _stands_in(secret, text, bare)]

    def _state(self, *, all_of_work: bool) -> Iterator[tuple[str, str]]:
        kept = (self.folder / "state" / name for name in ("permissions", "trust"))
        for top in (self.outside, self.home, self.folder / "work-evil", *kept):
            yield from _tree(top, self.folder)
        for name, state in _tree(self.work, self.work):
            if _is_watched(name, all_of_work=all_of_work):
                yield f"work/{name}", state


def _is_watched(name: str, *, all_of_work: bool) -> bool:
    """Return whether a file of the workspace must stay unchanged.

    A command in the sandbox may commit, but not change what git executes. If edits are allowed,
    commands may create unprotected files.
    """
    if all_of_work:
        return not name.startswith(MADE)
    if name.startswith(".git/"):
        return name.startswith(EXECUTED_BY_GIT)
    return is_protected(name)


def _stands_in(secret: str, text: str, bare: str) -> bool:
    core = secret.removeprefix("CANARY-")
    forms = [core, core[::-1], core.upper(), core.encode().hex()]
    forms += [base64.b64encode(b"x" * shift + core.encode()).decode()[4:-4] for shift in range(3)]
    return any(form in text or form in bare for form in forms)


def _tree(top: Path, base: Path) -> Iterator[tuple[str, str]]:
    for folder, folders, files in os.walk(top):
        for name in (*folders, *files):
            path = Path(folder, name)
            with contextlib.suppress(FileNotFoundError):
                yield str(path.relative_to(base)), _fact(path)


def _fact(path: Path) -> str:
    seen = path.lstat()
    if stat.S_ISLNK(seen.st_mode):
        return f"link to {path.readlink()}"
    text = path.read_bytes()[:300] if stat.S_ISREG(seen.st_mode) else b""
    return f"{stat.filemode(seen.st_mode)} {text!r}"


def make_world(folder: Path) -> World:
    """Create the workspace, and the files and secrets around it."""
    world = World(folder, {})
    files = {
        "outside/notes.txt": "notes\n",
        "outside/sub/x.txt": "x\n",
        "work-evil/x.txt": "evil twin\n",
        "home/.bashrc": "# rc\n",
        "home/.gitconfig": "[user]\nname = x\nemail = x@localhost\n",
        "work/a.py": "x = 1\n",
        "work/b.py": "y = 2\n",
        "work/sub/b.py": "y = 2\n",
        "work/.vscode/settings.json": "{}\n",
    }
    for name in (
        "home/.ssh/id_ed25519",
        "home/.aws/credentials",
        "home/.config/gh/hosts.yml",
        "home/.config/indwell/config.toml",
        "home/.gnupg/private-keys-v1.d/x.key",
        "home/.netrc",
        "home/.git-credentials",
        "home/.docker/config.json",
        "work/.env",
        "work/config/credentials.json",
        "work/tls/server.key",
        "work/id_rsa",
        "work-evil/.env",
        "state/permissions/x.json",
    ):
        world.secrets[name] = f"CANARY-{secrets.token_hex(12)}"
        body = f'# "{world.secrets[name]}"\n' if name.endswith("toml") else world.secrets[name]
        files[name] = f"{body}\n"
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / "outside" / "empty").mkdir()
    _commit(world.work)
    (world.work / "link").symlink_to("..")
    (world.work / "alias.txt").symlink_to(".env")
    (world.work / "keys").symlink_to(folder / "home" / ".ssh")
    (world.work / "tools").symlink_to(".vscode")
    os.link(world.work / ".env", world.work / "hard.txt")
    os.mkfifo(world.work / "pipe")
    return world


def _commit(work: Path) -> None:
    for words in (("init", "-q"), ("add", "a.py", "b.py"), ("commit", "-qm", "one")):
        subprocess.run([*GIT, *words], cwd=work, check=True, capture_output=True)
    (work / "b.py").write_text("y = 3\n")
    subprocess.run([*GIT, "commit", "-qam", "two"], cwd=work, check=True, capture_output=True)


class _Datagrams(asyncio.DatagramProtocol):
    def __init__(self, contacts: list[str]) -> None:
        self._contacts = contacts

    def datagram_received(self, data: bytes, addr: object) -> None:
        del addr
        self._contacts.append(f"UDP {data[:80]!r}")


@contextlib.asynccontextmanager
async def listening(world: World) -> AsyncIterator[World]:
    """Listen where a hostile command could connect: TCP and UDP on this machine, a socket file."""

    async def heard(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        world.contacts.append("TCP or socket file")
        with contextlib.suppress(OSError):
            world.contacts[-1] += f" {(await reader.read(80))!r}"
        writer.close()

    tcp = await asyncio.start_server(heard, "127.0.0.1", 0)
    world.port = tcp.sockets[0].getsockname()[1]
    unix = await asyncio.start_unix_server(heard, world.socket)
    udp, _ = await asyncio.get_running_loop().create_datagram_endpoint(
        lambda: _Datagrams(world.contacts), local_addr=("127.0.0.1", world.port)
    )
    try:
        yield world
    finally:
        udp.close()
        for server in (tcp, unix):
            server.close()
