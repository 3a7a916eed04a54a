"""What the doctor looks at on the machine: Python, packages, text encoding, limits."""

from __future__ import annotations

import locale
import platform
import sys
from importlib import metadata
from pathlib import Path

from indwell import __version__
from indwell.cli.doctor.check import Finding, Findings
from indwell.errors import ToolError
from indwell.files import read_own

PACKAGES = ("openai", "httpx2", "pygls", "lsprotocol", "msgspec", "genai-prices", "keyring")
FEW_FILES = 256  # open files; a server with its documents, sockets and pipes needs some fifty
FEW_WATCHES = 8_192  # inotify's default of old kernels; one project with its packages has more
_WATCHES = Path("/proc/sys/fs/inotify/max_user_watches")


def versions() -> Findings:
    """Indwell, Python, and the packages that matter for a report."""
    found, missing = [], []
    for name in PACKAGES:
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            missing.append(name)
    system = f"{platform.system()} {platform.release()} {platform.machine()}"
    python = f"Indwell {__version__} on Python {platform.python_version()}, {system}"
    findings = [Finding("Indwell", "ok", python)]
    if missing:
        mend = "install Indwell again, into an environment of its own"
        findings.append(Finding("packages", "fail", f"missing: {', '.join(missing)}", mend))
    else:
        findings.append(Finding("packages", "ok", ", ".join(found)))
    return tuple(findings)


def text() -> Findings:
    """Is text UTF-8 here, on the terminal and in file names?"""
    used = {
        "the locale": locale.getpreferredencoding(do_setlocale=False),
        "file names": sys.getfilesystemencoding(),
        "this terminal": sys.stdout.encoding or "",
    }
    odd = [f"{what} is {name or 'unknown'}" for what, name in used.items() if not _is_utf8(name)]
    if odd:
        mend = "set LANG=C.UTF-8, or another UTF-8 locale"
        return (Finding("text", "warn", "not UTF-8: " + ", ".join(odd), mend),)
    return (Finding("text", "ok", "everything is UTF-8"),)


def limits() -> Findings:
    """How many files may be open and watched."""
    return (*_open_files(), *_watches())


def _open_files() -> Findings:
    if sys.platform == "win32":
        return ()
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return (Finding("open files", "ok", "without limit"),)
    if soft >= FEW_FILES:
        return (Finding("open files", "ok", f"up to {soft:,}"),)
    most = "more" if hard == resource.RLIM_INFINITY else f"up to {hard:,}"
    mend = f"run `ulimit -n 1024` before the editor starts ({most} may be asked for)"
    return (Finding("open files", "warn", f"only {soft:,} may be open at once", mend),)


def _watches() -> Findings:
    try:
        number = int(read_own(_WATCHES, 64))
    except (OSError, ToolError, ValueError):
        return ()  # no Linux, or a container that hides it
    if number >= FEW_WATCHES:
        return (Finding("file watches", "ok", f"inotify watches up to {number:,} folders"),)
    return (
        Finding(
            "file watches",
            "warn",
            f"inotify watches only {number:,} folders, and editors share them",
            "sudo sysctl fs.inotify.max_user_watches=524288",
        ),
    )


def _is_utf8(name: str) -> bool:
    return name.lower().replace("-", "").replace("_", "") == "utf8"
