"""Attempts of a command under Landlock: ``python landlock_attempts.py USER [free]``.

The program prints one JSON object: for each attempt, whether it succeeded. Traces on the disk and
at the listeners are checked from outside. ``USER`` is the id of the user who runs the attempts, or
0 for the current user. With ``free``, harmless attempts run without a sandbox, to check that the
attempts work.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "server"))

from indwell.sandbox.confine.landlock import start_held
from indwell.sandbox.confinement import Confinement
from indwell.sandbox.starting import Launch

SECRET = "canary-4711"  # noqa: S105 - one to look for


def python(*lines: str) -> str:
    """Return shell text that runs some lines of Python."""
    return f'python3 -c "import socket; {"; ".join(lines)}"'


OUTSIDE = {
    "write a new file": "echo x >{out}/new",
    "write a file": "echo x >{out}/file",
    "append": "echo x >>{out}/file",
    "truncate": "truncate -s 0 {out}/file",
    "truncate by opening": ": >{out}/file",
    "remove": "rm -f {out}/file",
    "rename there": "mv {out}/file {out}/other",
    "move out": "mv mine {out}/mine",
    "move in": "mv {out}/file .",
    "make a folder": "mkdir {out}/folder",
    "make a link": "ln -s / {out}/link",
    "make a hard link there": "ln mine {out}/mine",
    "hard link, then write": "ln {out}/file here && echo x >here",
    "make a pipe": "mkfifo {out}/pipe",
    "through a link": "ln -s {out} way && echo x >way/file; echo x >way/new",
    "through a link that stood there": "echo x >stood/file; echo x >stood/new",
    "by way of /proc/self/root": "echo x >/proc/self/root{out}/file",
    "by way of /proc/self/cwd": "cd {out} && echo x >/proc/self/cwd/file",
    "by the loader": '"$(ls /lib64/ld-linux* /lib/ld-linux* 2>/dev/null | head -1)" /bin/rm -f '
    "{out}/file",
    "from a child that left": "setsid nohup sh -c 'echo x >{out}/file' ; sleep 0.1",
    "from python": "python3 -c \"open('{out}/file','w').write('x')\"",
    "by a sparse copy": "cp mine {out}/file; dd if=/dev/zero of={out}/file bs=1 count=1",
    "a mount": "mount --bind . {out}; echo x >{out}/new",
    "a namespace": "unshare -Urm sh -c 'mount --bind . {out}; echo x >{out}/new'",
    "chroot": "chroot {out} /bin/true; echo x >{out}/new",
}
READ = {
    "a hidden file": "cat .env",
    "a hidden file by a link": "ln -s .env seen; cat seen",
    "a hidden file by a hard link": "ln .env seen; cat seen",
    "a hidden file by another name": "mv .env seen; cat seen; mv seen .env",
    "a hidden file in a folder that is not": "mkdir -p deep; mv .env deep/; cat deep/.env",
    "a hidden file in a folder that moves": "mv sub2 sub3; cat sub3/.env; cat sub3/beside",
    "a hidden folder": "cat {home}/.ssh/key",
    "a hidden folder by find": "find {home} -type f -exec cat {{}} +",
    "the temporary files of others": "cat {out}/file",
    "our environment": "tr '\\0' '\\n' </proc/$PPID/environ; tr '\\0' '\\n' </proc/{pid}/environ",
    "our memory": "head -c 1 /proc/{pid}/mem; cat /proc/{pid}/maps",
    "by way of our descriptors": "cat /proc/{pid}/fd/* /proc/{pid}/root{home}/.ssh/key",
}
DEVICES = {
    "a device": "mknod block b 7 0 && cat block; mknod char c 1 3 && echo x >char && echo {secret}",
    "the kernel's settings": "echo x >/proc/sys/kernel/core_pattern && echo {secret}",
    "a terminal": "echo x >/dev/tty && echo {secret}; echo x >/dev/ptmx && echo {secret}",
}
NETWORK = {
    "TCP": "exec 3<>/dev/tcp/127.0.0.1/{port}",
    "TCP from python": python("socket.create_connection(('127.0.0.1',{port}))"),
    "an abstract socket": python("s=socket.socket(socket.AF_UNIX)", "s.connect(b'\\0{abstract}')"),
    "UDP": "exec 3<>/dev/udp/127.0.0.1/{udp} && echo {secret} >&3",
    "UDP from python": python("socket.socket(2, 2).sendto(b'x', ('127.0.0.1',{udp}))"),
    "a socket in the file system": python(
        "s=socket.socket(socket.AF_UNIX)", "s.connect('{home}/socket')"
    ),
    "a pair of sockets that is connected again": python(
        "a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)",
        "a.connect('{home}/datagrams')",
        "a.send(b'x')",
    ),
    "netlink": python("socket.socket(16, 3, 15)", "print('{secret}')"),
    "listening": python("s=socket.socket()", "s.bind(('127.0.0.1',0))", "print('{secret}')"),
}
SIGNALS = {
    "a signal to a stranger": "kill -9 {stranger}",
    "a signal to us": "kill -USR1 {pid}; kill -USR1 $PPID",
    "a signal to all": "kill -USR1 -1",
    "a debugger": python("import ctypes", "print(ctypes.CDLL(None).ptrace(16,{stranger},0,0))")
    + " | grep -x 0 && echo {secret}",
}
HARMFUL = {
    "a mount", "a namespace", "the kernel's settings", "a terminal", "a signal to us",
    "a signal to all", "our memory", "by way of our descriptors",
}  # fmt: skip
"""What would hurt this machine, or this script, if nothing stopped it."""

WORKS = {
    "write and read in a folder": "echo x >sub/new && grep -qx x sub/new",
    "make": "mkdir -p a/b && echo x >a/b/c && mv a/b/c a/b/d && rm -r a",
    "temporary files": 'f=$(mktemp) && echo x >"$f" && test "$(cat "$f")" = x',
    "here-documents": "cat <<<x | grep -qx x",
    "nowhere": "echo x >/dev/null 2>&1 && head -c 3 /dev/urandom >/dev/null",
    "own descriptors": "echo x | cat /dev/stdin >/dev/null && echo x >/dev/stderr",
    "children and their end": "sleep 9 & kill $! && ! wait $!",
    "programs": "python3 -c 'import json, subprocess; subprocess.run([\"true\"], check=True)'",
    "git": "git init -q sub/g && cd sub/g && touch f && git add f && "
    "git -c user.name=a -c user.email=a@b commit -qm x && git log --oneline | grep -q x",
    "looking around": "ls -a . | grep -qx .env && test -r /etc/passwd && ps >/dev/null",
}


class World:
    """Folders for the attempts, another user's process, and listeners."""

    def __init__(self, base: Path, *, is_free: bool) -> None:
        self.is_free = is_free
        self.work, self.out, self.home = base / "work", base / "out", base / "home"
        self.scratch = base / "scratch"
        (self.home / ".ssh").mkdir(parents=True)
        (self.home / ".ssh" / "key").write_text(SECRET)
        self.scratch.mkdir()
        self.stranger = subprocess.Popen(["sleep", "600"], start_new_session=True)
        self.tcp = socket.create_server(("127.0.0.1", 0))
        self.abstract = socket.socket(socket.AF_UNIX)
        self.abstract.bind(f"\0indwell-{os.getpid()}")
        self.abstract.listen()
        self.named = socket.socket(socket.AF_UNIX)
        self.named.bind(f"{self.home}/socket")
        self.named.listen()
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(("127.0.0.1", 0))
        self.datagrams = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.datagrams.bind(f"{self.home}/datagrams")
        for one in (self.tcp, self.abstract, self.named, self.udp, self.datagrams):
            one.settimeout(0)

    def lay(self) -> None:
        """Restore the original state of all files."""
        for folder in (self.work, self.out):
            subprocess.run(["rm", "-rf", str(folder)], check=True)
            folder.mkdir()
        (self.out / "file").write_text(SECRET)
        (self.work / "sub").mkdir()
        (self.work / "mine").write_text("mine")
        (self.work / "sub2").mkdir()
        for hidden in self.hidden():
            hidden.write_text(SECRET)
        (self.work / "stood").symlink_to(self.out)

    def hidden(self) -> tuple[Path, Path]:
        return self.work / ".env", self.work / "sub2" / ".env"

    def words(self, text: str) -> str:
        return text.format(
            out=self.out, home=self.home, pid=os.getpid(), stranger=self.stranger.pid,
            port=self.tcp.getsockname()[1], udp=self.udp.getsockname()[1],
            abstract=f"indwell-{os.getpid()}", secret=SECRET,
        )  # fmt: skip

    def changed(self) -> bool:
        stands = {one.name: one for one in self.out.iterdir()}
        return set(stands) != {"file"} or stands["file"].read_text() != SECRET

    def has_lost(self) -> bool:
        """Whether the other user's process has ended; a killed process exists a moment longer."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.stranger.wait(0.2)
        return self.stranger.poll() is not None

    def connected(self) -> bool:
        for one in (self.tcp, self.abstract, self.named):
            try:
                one.accept()[0].close()
            except BlockingIOError:
                continue
            return True
        for one in (self.udp, self.datagrams):
            try:
                one.recv(100)
            except BlockingIOError:
                continue
            return True
        return False

    async def run(self, text: str) -> tuple[int, str]:
        """Run a command in the sandbox; return its exit code and its output."""
        self.lay()
        confinement = Confinement(
            writable=(str(self.work),),
            hidden=(*map(str, self.hidden()), str(self.home / ".ssh")),
        )
        if self.is_free:
            freely = ["bash", "-c", self.words(text)]
            done = subprocess.run(  # noqa: ASYNC221 - nothing else goes on here
                freely, cwd=self.work, capture_output=True, check=False, timeout=20
            )
            return done.returncode, done.stdout.decode("utf-8", "replace")
        reading, writing = os.pipe()
        launch = Launch(
            ["bash", "-c", self.words(text)],
            self.work,
            {"PATH": os.defpath, "HOME": str(self.home)},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=writing,
            stderr=writing,
        )
        held = await start_held(launch, confinement=confinement, scratch=self.scratch)
        os.close(writing)
        with os.fdopen(reading, "rb") as output:
            said = await asyncio.to_thread(output.read)
        return await held.wait(), said.decode("utf-8", "replace")


async def main(world: World) -> dict[str, bool]:
    """Run all attempts."""
    signalled: list[int] = []
    asyncio.get_running_loop().add_signal_handler(10, signalled.append, 10)
    succeeded: dict[str, bool] = {}

    async def tried(attempts: dict[str, str], has_succeeded: Callable[[str], bool]) -> None:
        for title, text in attempts.items():
            if world.is_free and title in HARMFUL:
                continue
            _, said = await world.run(text)
            await asyncio.sleep(0)
            succeeded[title] = has_succeeded(said)

    await tried(OUTSIDE, lambda _said: world.changed())
    await tried(READ, lambda said: SECRET in said)
    await tried(DEVICES, lambda said: SECRET in said)
    await tried(NETWORK, lambda said: world.connected() or SECRET in said)
    is_hurt = lambda said: world.has_lost() or bool(signalled) or SECRET in said  # noqa: E731
    await tried(SIGNALS, is_hurt)
    for title, text in WORKS.items():
        code, said = await world.run(text)
        succeeded[f"allowed: {title}"] = code == 0
        if code:
            sys.stderr.write(f"{title}: {code} {said}\n")
    (world.out / "after").write_text("we ourselves are free")
    succeeded["allowed: we ourselves are free"] = (world.out / "after").exists()
    return succeeded


if __name__ == "__main__":
    user = int(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder).resolve()
        if user:
            os.chown(base, user, user)
            os.setgroups([])
            os.setgid(user)
            os.setuid(user)
        os.environ["CANARY"] = SECRET
        a_world = World(base, is_free=sys.argv[2:] == ["free"])
        try:
            sys.stdout.write(json.dumps(asyncio.run(main(a_world))))
        finally:
            a_world.stranger.kill()
            a_world.stranger.wait()
