"""Attempts of a hostile command inside the sandbox: ``python3 -I -S escape_attempts.py WORLD``.

The program prints one JSON object with the result of each attempt; a breach begins with ``BREACH``.
``WORLD`` is JSON with the paths and listeners outside. Each attempt has its own process. The
program needs only Python's library, and runs as any user, with any Python.
"""

# ruff: noqa: PTH208, PTH110, PTH123, PTH115, PTH116 - written as an attacker would, by names and numbers
from __future__ import annotations

import ctypes
import json
import mmap
import os
import platform
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

WORLD = json.loads(sys.argv[1])
OUT, WS, HOME = WORLD["out"], WORLD["workspace"], WORLD["home"]
LEFT_OPEN = {one for one in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{one}")}
IS_X86 = platform.machine() == "x86_64"
LIBC = ctypes.CDLL(None, use_errno=True)
ATTEMPTS: dict[str, Callable[[], object]] = {}

_NUMBERS = {
    "x86_64": {
        "mount": 165, "umount2": 166, "pivot_root": 155, "chroot": 161, "unshare": 272,
        "setns": 308, "clone": 56, "ptrace": 101, "process_vm_readv": 310, "keyctl": 250,
        "add_key": 248, "bpf": 321, "perf_event_open": 298, "userfaultfd": 323,
        "open_by_handle_at": 304, "fanotify_init": 300, "syslog": 103, "sethostname": 170,
        "clock_settime": 227, "acct": 163, "swapon": 167, "init_module": 175, "kexec_load": 246,
        "iopl": 172, "quotactl": 179, "reboot": 169, "kcmp": 312, "capset": 126,
    },
    "aarch64": {
        "mount": 40, "umount2": 39, "pivot_root": 41, "chroot": 51, "unshare": 97,
        "setns": 268, "clone": 220, "ptrace": 117, "process_vm_readv": 270, "keyctl": 219,
        "add_key": 217, "bpf": 280, "perf_event_open": 241, "userfaultfd": 282,
        "open_by_handle_at": 265, "fanotify_init": 262, "syslog": 116, "sethostname": 161,
        "clock_settime": 112, "acct": 89, "swapon": 224, "init_module": 105, "kexec_load": 104,
        "quotactl": 60, "reboot": 142, "kcmp": 272, "capset": 91,
    },
}  # fmt: skip
NUMBERS = _NUMBERS[platform.machine()] | {
    "clone3": 435, "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsmount": 432,
    "mount_setattr": 442, "io_uring_setup": 425, "pidfd_getfd": 438, "openat2": 437,
}  # fmt: skip


def attempt(title: str) -> Callable[[Callable[[], object]], None]:
    """Register an attempt: it breaches if its result is true, and is refused by an OSError."""

    def add(function: Callable[[], object]) -> None:
        assert title not in ATTEMPTS
        ATTEMPTS[title] = function

    return add


def call(name: str, *arguments: object) -> int:
    """Make a system call without the C library."""
    result = int(LIBC.syscall(ctypes.c_long(NUMBERS[name]), *arguments))
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def shell(text: str) -> bool:
    """Whether the command succeeded."""
    done = subprocess.run(
        ["/bin/sh", "-c", text], check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    return done.returncode == 0


def write(path: str, text: str = "evil") -> bool:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return True


# Paths outside.
for _title, _text in {
    "write a file outside": f"echo evil >{OUT}/file",
    "append to a file outside": f"echo evil >>{OUT}/file",
    "make a file outside": f"echo evil >{OUT}/new",
    "remove a file outside": f"rm -f {OUT}/file",
    "rename a file outside": f"mv {OUT}/file {OUT}/other",
    "truncate a file outside": f"truncate -s 0 {OUT}/file",
    "change a mode outside": f"chmod 777 {OUT}/file",
    "change a time outside": f"touch -d 2001-01-01 {OUT}/file",
    "move a file in from outside": f"mv {OUT}/file here",
    "move a file out": f"echo x >mine && mv mine {OUT}/mine",
    "write through a new link": f"ln -sfn {OUT} way && echo evil >way/file",
    "write through a link that stood there": "echo evil >stood/file",
    "write through a hard link": f"ln {OUT}/file hard && echo evil >hard",
    "write by /proc/self/root": f"echo evil >/proc/self/root{OUT}/file",
    "write by /proc/1/root": f"echo evil >/proc/1/root{OUT}/file",
    "write by /proc/self/cwd": f"cd {OUT} && echo evil >/proc/self/cwd/file",
    "write by the loader": f'L=$(ls /lib64/ld-linux* /lib/ld-linux* 2>/dev/null | head -1); '
    f'test -n "$L" && "$L" /bin/cp /etc/hostname {OUT}/file',
    "write to /etc": "echo evil >/etc/indwell-escape",
    "write to the root folder": "echo evil >/indwell-escape",
    "write to the home folder": f"echo evil >{HOME}/evil",
    "write to /usr/local/bin": "echo evil >/usr/local/bin/indwell-escape",
    "remount and write": f"mount -o remount,rw,bind / ; echo evil >{OUT}/file",
    "mount a tmpfs": "mkdir -p m && mount -t tmpfs none m",
    "become another user by su": "su -c 'echo evil' nobody 2>&1 | grep -q evil",
    "a user namespace by unshare": "unshare -Ur true",
    "all namespaces by unshare": "unshare -Urmpf --mount-proc true",
    "bubblewrap in bubblewrap": f"bwrap --bind / / sh -c 'echo evil >{OUT}/file'",
    "a device by mknod": "mknod disk b 8 0",
    "a character device by mknod": "mknod mem c 1 1",
    "a loop device": "losetup -f",
    "core_pattern": "echo '|/evil' >/proc/sys/kernel/core_pattern",
    "core_pattern by /proc/self/root": "echo '|/evil' "
    ">/proc/self/root/proc/sys/kernel/core_pattern",
    "vm.drop_caches": "echo 1 >/proc/sys/vm/drop_caches",
    "kernel.modprobe": "echo /evil >/proc/sys/kernel/modprobe",
    "user.max_user_namespaces": "echo 9999 >/proc/sys/user/max_user_namespaces",
    "sysrq": "echo h >/proc/sysrq-trigger",
    "interrupts": "for f in /proc/irq/*/smp_affinity; do cat $f >$f && exit 0; done; exit 1",
    "a kernel setting in /sys": "echo 0 >/sys/kernel/mm/transparent_hugepage/khugepaged/defrag",
    "uevent_helper": "echo /evil >/sys/kernel/uevent_helper",
    "a control group": "mkdir /sys/fs/cgroup/indwell-escape",
    "a control group of version 1": "for d in /sys/fs/cgroup/*/; do mkdir $d/indwell-escape && "
    "exit 0; done; exit 1",
    "release_agent": "for f in /sys/fs/cgroup/*/release_agent; do echo /evil >$f && exit 0; done; "
    "exit 1",
    "end a process outside": f"kill -9 {WORLD['pid']}",
    "read the secrets of another process": "grep -lasq canary-outside /proc/[0-9]*/environ",
    "read a key in the home folder": f"grep -rq canary-key {HOME}/.ssh",
    "read a key by /proc/self/root": f"grep -rq canary-key /proc/self/root{HOME}/.ssh",
    "read a secret of the workspace": "grep -q canary-secret .env",
    "read a secret of the workspace by another way": f"grep -q canary-secret "
    f"/proc/self/root{WS}/.env",
    "read it by a hard link": "ln .env .env2 && grep -q canary-secret .env2",
    "uncover it": "umount .env && grep -q canary-secret .env",
    "move it": "mv .env .env3 && grep -q canary-secret .env3",
    "read what others keep in /tmp": f"grep -q canary-temporary {WORLD['temporary']}",
    "read a disk": "for d in /dev/sd* /dev/vd* /dev/nvme* /dev/mem /dev/kmem /dev/kmsg; do "
    "head -c 1 $d >/dev/null && exit 0; done; exit 1",
    "read the kernel's memory": "head -c 16 /proc/kcore | grep -q .",
    "read the kernel's log": "timeout 2 head -c 1 /proc/kmsg | grep -q . || dmesg | grep -q .",
    "a job for later": "echo '* * * * * true' | crontab - || echo x >/etc/cron.d/indwell-escape || "
    "echo x >/var/spool/cron/indwell-escape",
    "a library for every program": "echo /evil.so >/etc/ld.so.preload",
    "sudo": "sudo -n true",
    "a variable of the firmware": "echo x >/sys/firmware/efi/efivars/indwell-escape",
    "shared memory of others": "test -e /dev/shm/indwell-escape && echo x >/dev/shm/indwell-escape",
    "a FUSE mount": "fusermount -u / || head -c 0 /dev/fuse",
    "a log of the system": "logger -s evil 2>/dev/null && test -S /dev/log",
    "a rename over the workspace's folder": f"mkdir new && mv -T new {WS}",
    "a bind over a name of the workspace": f"mount --bind {OUT} {WS}/src",
    "git's configuration": "git config core.fsmonitor evil || echo evil >>.git/config",
    "a hook of git": "echo evil >.git/hooks/pre-commit",
    "rename .git": "mv .git .git2",
    "remove .git/config": "rm -f .git/config",
    "replace .git/config": "echo evil >c && mv -f c .git/config",
    "rename the folder of a nested repository": "mv pkg pkg2",
    "rename the nested repository's folder": "mv pkg/a pkg/b",
    "the nested repository's hook": "echo evil >pkg/a/.git/hooks/pre-commit",
    "instructions of agents": "echo evil >>AGENTS.md",
    "replace them": "echo evil >x && mv -f x AGENTS.md",
    "settings of the editor that are missing": "mkdir -p .vscode; "
    "echo evil >.vscode/settings.json",
    "rename the workspace": f"mv {WS} {WS}2",
    "make a program that runs as its owner": "cp /bin/true owned && chmod u+s owned && "
    "test -u owned",
    "make a program that runs as its group": "cp /bin/true grouped && chmod g+s grouped && "
    "test -g grouped",
    "put a file among the devices": "touch /dev/indwell-escape && rm /dev/indwell-escape",
    "fill the machine's memory by shared memory": "test $(df -k --output=size /dev/shm | "
    "tail -1) -gt 1000000",
}.items():  # fmt: skip
    ATTEMPTS[_title] = lambda text=_text: shell(text)


# Mounts and namespaces by bare system calls.
@attempt("mount(2): a remount of / by flags")
def _() -> object:
    return call("mount", b"none", b"/", 0, ctypes.c_ulong(32 | 4096), 0) == 0


@attempt("mount(2): a bind")
def _() -> object:
    return call("mount", OUT.encode(), WS.encode(), 0, ctypes.c_ulong(4096), 0) == 0


@attempt("the new calls for mounts: open_tree")
def _() -> object:
    return call("open_tree", ctypes.c_int(-100), b"/", ctypes.c_uint(1)) >= 0


@attempt("the new calls for mounts: fsopen")
def _() -> object:
    return call("fsopen", b"tmpfs", ctypes.c_uint(0)) >= 0


@attempt("the new calls for mounts: mount_setattr")
def _() -> object:
    attributes = (ctypes.c_uint64 * 4)(0, 1, 0, 0)  # clears MOUNT_ATTR_RDONLY
    return call("mount_setattr", -100, b"/", 0, ctypes.byref(attributes), 32) == 0


@attempt("the new calls for mounts: move_mount")
def _() -> object:
    return call("move_mount", -100, WS.encode(), -100, b"/tmp", 0) == 0


@attempt("umount(2) of what covers a protected file")
def _() -> object:
    return call("umount2", f"{WS}/.git/config".encode(), 2) == 0


@attempt("pivot_root")
def _() -> object:
    return call("pivot_root", b".", b".") == 0


@attempt("chroot")
def _() -> object:
    return call("chroot", b"/") == 0


for _name, _flag in {
    "user": 0x10000000, "mount": 0x20000, "pid": 0x20000000, "net": 0x40000000,
    "cgroup": 0x02000000, "ipc": 0x08000000, "uts": 0x04000000, "time": 0x80,
}.items():  # fmt: skip
    ATTEMPTS[f"unshare(2): {_name}"] = lambda flag=_flag: call("unshare", flag) == 0


@attempt("clone(2): a user namespace")
def _() -> object:
    pid = call("clone", ctypes.c_ulong(0x10000000 | signal.SIGCHLD), 0, 0, 0, 0)
    if pid == 0:
        os._exit(0)
    return True


@attempt("clone(2): with other bits above")
def _() -> object:
    pid = call("clone", ctypes.c_ulong((1 << 40) | 0x10000000 | signal.SIGCHLD), 0, 0, 0, 0)
    if pid == 0:
        os._exit(0)
    return True


@attempt("clone3(2): a user namespace")
def _() -> object:
    arguments = (ctypes.c_uint64 * 8)(0x10000000, 0, 0, 0, signal.SIGCHLD, 0, 0, 0)
    pid = call("clone3", ctypes.byref(arguments), ctypes.c_size_t(64))
    if pid == 0:
        os._exit(0)
    return True


@attempt("setns to the first process's namespaces")
def _() -> object:
    for name in ("mnt", "net", "user", "pid"):
        with open(f"/proc/1/ns/{name}", "rb") as file:
            if call("setns", file.fileno(), 0) == 0:
                return True
    return False


@attempt("capabilities again, by capset")
def _() -> object:
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    data = (ctypes.c_uint32 * 6)(*[0xFFFFFFFF, 0xFFFFFFFF, 0] * 2)
    return call("capset", ctypes.byref(header), ctypes.byref(data)) == 0


@attempt("capabilities are there")
def _() -> object:
    text = Path("/proc/self/status").read_text(encoding="utf-8")
    return "CapEff:\t0000000000000000" not in text or "NoNewPrivs:\t1" not in text


# Other processes.
@attempt("processes outside are seen")
def _() -> object:
    return len([one for one in os.listdir("/proc") if one.isdecimal()]) > 20


@attempt("ptrace of the first process")
def _() -> object:
    return call("ptrace", 16, 1, 0, 0) == 0


@attempt("the first process, whose memory can be written, may do more")
def _() -> object:
    text = Path("/proc/1/status").read_text(encoding="utf-8")
    held = (
        "Seccomp:\t2",
        "NoNewPrivs:\t1",
        "CapEff:\t0000000000000000",
        "CapPrm:\t0000000000000000",
    )
    opened = {os.readlink(one) for one in Path("/proc/1/fd").iterdir()}
    return [one for one in held if one not in text] or [
        one for one in opened if one.startswith("/") and not one.startswith("/dev/null")
    ]


@attempt("process_vm_readv")
def _() -> object:
    buffer = ctypes.create_string_buffer(8)
    local = (ctypes.c_void_p * 2)(ctypes.addressof(buffer), 8)
    return call("process_vm_readv", os.getpid(), local, 1, local, 1, 0) > 0


@attempt("a descriptor of another process")
def _() -> object:
    return call("pidfd_getfd", os.pidfd_open(os.getppid()), 0, 0) >= 0


@attempt("descriptors that were left open")
def _() -> object:
    return LEFT_OPEN - {"0", "1", "2"}


# Sockets.
@attempt("a socket of the file system")
def _() -> object:
    return not socket.socket(socket.AF_UNIX).connect(WORLD["socket"])


@attempt("a socket of the file system, by shell")
def _() -> object:
    return shell(f"python3 -c \"import socket; socket.socket(1).connect('{WORLD['socket']}')\"")


@attempt("an abstract socket")
def _() -> object:
    return not socket.socket(socket.AF_UNIX).connect(f"\0{WORLD['abstract']}")


@attempt("datagrams to a socket of the file system, by a pair")
def _() -> object:
    one, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    return one.sendto(b"evil", WORLD["datagrams"]) > 0


@attempt("a pair of streams, connected elsewhere")
def _() -> object:
    one, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    return not one.connect(WORLD["socket"])


@attempt("TCP to this machine")
def _() -> object:
    return bool(socket.create_connection(("127.0.0.1", WORLD["port"]), 2))


@attempt("TCP to this machine by IPv6")
def _() -> object:
    return bool(socket.create_connection(("::ffff:127.0.0.1", WORLD["port"]), 2))


@attempt("UDP to this machine")
def _() -> object:
    one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    return one.sendto(b"evil", ("192.0.2.1", 53)) > 0


@attempt("a name is looked up")
def _() -> object:
    return bool(socket.getaddrinfo("example.com", 80))


for _name, _arguments in {
    "vsock": (40, 1, 0), "packet": (17, 3, 0), "crypto": (38, 5, 0), "bluetooth": (31, 3, 1),
    "netlink audit": (16, 3, 9), "netlink kobject": (16, 3, 15), "raw": (2, 3, 1),
    "xdp": (44, 3, 0),
    "can": (29, 3, 1), "tipc": (30, 1, 0), "key": (15, 3, 2), "netlink netfilter": (16, 3, 12),
}.items():  # fmt: skip
    ATTEMPTS[f"a socket of the kind {_name}"] = lambda a=_arguments: bool(socket.socket(*a))


# Internals of the kernel.
for _name, _given in {
    "io_uring_setup": (8, ctypes.create_string_buffer(256)),
    "bpf": (0, ctypes.create_string_buffer(128), 128),
    "perf_event_open": (ctypes.create_string_buffer(128), 0, -1, -1, 0),
    "userfaultfd": (1,),
    "keyctl": (0, -4, 1),
    "add_key": (b"user", b"evil", b"evil", 4, -4),
    "fanotify_init": (0, 0),
    "syslog": (3, ctypes.create_string_buffer(64), 64),
    "sethostname": (b"evil", 4),
    "acct": (b"here",),
    "swapon": (b"here", 0),
    "init_module": (b"", 0, b""),
    "kexec_load": (0, 0, 0, 0),
    "kcmp": (os.getpid(), os.getpid(), 0, 0, 0),
}.items():
    ATTEMPTS[f"{_name}(2)"] = lambda name=_name, given=_given: call(name, *given) >= 0


@attempt("open_by_handle_at")
def _() -> object:
    handle = ctypes.create_string_buffer(b"\x08\0\0\0\1\0\0\0\2\0\0\0\0\0\0\0", 136)
    folder = os.open("/", os.O_RDONLY)
    try:
        return call("open_by_handle_at", folder, handle, os.O_RDONLY) >= 0
    except OSError as error:
        # ESTALE: the call was allowed, and only the guessed handle was wrong
        if error.errno == 116:
            return "allowed"
        raise


@attempt("typing into a terminal")
def _() -> object:
    _, other = os.openpty()
    result = LIBC.ioctl(other, ctypes.c_ulong(0x5412), b"x")
    return result == 0


@attempt("typing into a terminal, with other bits above")
def _() -> object:
    _, other = os.openpty()
    return LIBC.ioctl(other, ctypes.c_ulong(0x5412 | 1 << 32), b"x") == 0


@attempt("a program of its owner's, as it is made")
def _() -> object:
    descriptor = os.open("owned2", os.O_CREAT | os.O_WRONLY, 0o4755)
    return os.fstat(descriptor).st_mode & 0o4000


@attempt("a program of its group's, as it is made")
def _() -> object:
    descriptor = os.open("grouped2", os.O_CREAT | os.O_WRONLY, 0o2755)
    return os.fstat(descriptor).st_mode & 0o2000


@attempt("a program of its owner's, by mknod")
def _() -> object:
    os.mknod("owned3", 0o104755)
    return os.stat("owned3").st_mode & 0o4000


@attempt("a file without a name, then a program of its owner's")
def _() -> object:
    descriptor = os.open(".", os.O_TMPFILE | os.O_WRONLY, 0o4755)
    return os.fstat(descriptor).st_mode & 0o4000


@attempt("the second table of system calls (x32)")
def _() -> object:
    if not IS_X86:
        return False
    result = LIBC.syscall(ctypes.c_long(0x40000000 | 41), 1, 1, 0)  # socket(AF_UNIX)
    return result >= 0


@attempt("system calls of 32 bits")
def _() -> object:
    if not IS_X86:
        return False
    code = bytes([0xB8, 20, 0, 0, 0, 0xCD, 0x80, 0xC3])  # getpid by int 0x80
    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(code)
    at = ctypes.addressof(ctypes.c_char.from_buffer(page))
    return ctypes.CFUNCTYPE(ctypes.c_int)(at)() > 0


@attempt("another personality")
def _() -> object:
    return LIBC.personality(ctypes.c_ulong(0x0400000)) >= 0  # READ_IMPLIES_EXEC


@attempt("writing a protected file by mapping it")
def _() -> object:
    with open("AGENTS.md", "r+b") as file:
        mapped = mmap.mmap(file.fileno(), 4)
        mapped[:4] = b"evil"
    return True


@attempt("exchanging a protected file")
def _() -> object:
    write("theirs")
    number = 316 if IS_X86 else 276  # renameat2, RENAME_EXCHANGE
    return LIBC.syscall(number, -100, b"theirs", -100, b"AGENTS.md", 2) == 0


@attempt("opening a protected file for reading, then writing by /proc")
def _() -> object:
    with open("AGENTS.md", "rb") as file:
        return write(f"/proc/self/fd/{file.fileno()}")


def tried(function: Callable[[], object]) -> str:
    """Run one attempt in its own process; return the result."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        try:
            outcome = f"BREACH {found}" if (found := function()) else "refused"
        except OSError as error:
            outcome = f"refused: {error.strerror or error}"
        except BaseException:  # noqa: BLE001 - it is told
            outcome = f"BROKEN {traceback.format_exc()}"
        os.write(writing, outcome.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        outcome = file.read().decode()
    _, status = os.waitpid(pid, 0)
    if not outcome:
        return f"refused: {signal.Signals(os.WTERMSIG(status)).name}"
    return outcome


if __name__ == "__main__":
    os.chdir(WS)
    only = set(WORLD.get("only") or ATTEMPTS)
    result = {title: tried(one) for title, one in ATTEMPTS.items() if title in only}
    sys.stdout.write(json.dumps(result))
