"""Builds the profile for macOS's ``sandbox-exec`` (Seatbelt) from a confinement. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from indwell.errors import ToolError
from indwell.sandbox.confinement import Confinement

PROGRAM = "/usr/bin/sandbox-exec"  # The path is fixed and never searched through PATH.

_SERVICES = (
    "com.apple.system.opendirectoryd.libinfo",  # The service provides user names.
    "com.apple.system.opendirectoryd.membership",
    "com.apple.system.notification_center",
    "com.apple.bsd.dirhelper",  # The service provides the locations of temporary folders.
    "com.apple.logd",
)
"""The allowed system services; other services could act for a command beyond its bounds."""

_START = """\
(version 1)
(deny default)
(allow process-fork process-exec)
(allow process-info* (target same-sandbox))
(allow signal (target same-sandbox))
(allow sysctl-read)
(allow ipc-posix-sem)
(allow ipc-posix-shm-read-data (ipc-posix-name "apple.shm.notification_center"))
(allow file-read*)
(deny file-read-data (regex #"^/dev/(cu|tty|r?disk)"))
(allow file-write* (literal "/dev/null") (literal "/dev/zero") (regex #"^/dev/fd/[0-9]+$"))
(allow file-ioctl (literal "/dev/null"))
(allow pseudo-tty)
(allow file-read* file-write* file-ioctl (literal "/dev/ptmx"))
(allow file-read* file-write* file-ioctl
  (require-all (regex #"^/dev/ttys[0-9]+$") (extension "com.apple.sandbox.pty")))"""
"""The rules of the profile. A command reads no terminal and no disk directly.

A command may open new terminals, for which the system gives an extension. ``/dev/fd`` leads only to
files that the command already has open.
"""

_ELSEWHERE = ("/etc", "/tmp", "/var")  # noqa: S108 - links into /private on every Mac
_DATA = "/System/Volumes/Data"  # The volume has the user's files; its folders also appear at /.


def argv(confinement: Confinement, scratch: str, *, proxy_port: int = 0) -> tuple[str, ...]:
    """Build the arguments that precede the program; see ``profile``."""
    return (PROGRAM, "-p", profile(confinement, scratch, proxy_port=proxy_port))


def profile(confinement: Confinement, scratch: str, *, proxy_port: int = 0) -> str:
    """Build the profile for a command.

    Args:
        confinement: The command's bounds.
        scratch: The command's folder for temporary files; absolute.
        proxy_port: The local port of the proxy to the allowed hosts, or 0 for none.

    Raises:
        ToolError: The name of a writable folder contains a control character.
    """
    scratch = canonical(scratch)
    writable = tuple(map(canonical, confinement.writable))
    hidden = tuple(map(canonical, confinement.hidden))
    kept = tuple(map(canonical, (*confinement.protected, *confinement.missing)))
    shut = (*hidden, *kept)
    others = map(canonical, (*confinement.readable, *confinement.shown))
    seen = tuple(dict.fromkeys((*writable, *others)))
    outer = [one for one in hidden if any(_is_in(root, one) for root in seen)]
    inner = [one for one in hidden if one not in outer]
    ways = [one for one in _ways_to((*shut, *writable, scratch)) if one not in shut]
    lines = [
        _START,
        *(f"(allow mach-lookup (global-name {_quoted(one)}))" for one in _SERVICES),
        *_layers(outer, seen),
        *(f"(allow file-write* (subpath {_quoted(root)}))" for root in writable),
        f"(allow file-write* (subpath {_quoted(scratch)}))",
        *(f"(deny file-write-unlink (regex {_pattern(one, 'alone')}))" for one in ways),
        *(f"(deny file-write* (regex {_pattern(one)}))" for one in kept),
        *(f"(deny file-read* file-write* (regex {_pattern(one)}))" for one in inner),
        *(f"(deny file-link file-clone (regex {_pattern(one)}))" for one in shut),
    ]
    if proxy_port:
        lines.append(f'(allow network-outbound (remote ip "localhost:{proxy_port}"))')
    return "\n".join(lines) + "\n"


def canonical(path: str) -> str:
    """Return the kernel's path of a file; rules match no other form."""
    if _is_in(path, _DATA):
        path = path.removeprefix(_DATA) or "/"
    return f"/private{path}" if any(_is_in(path, one) for one in _ELSEWHERE) else path


def _layers(outer: Sequence[str], seen: Sequence[str]) -> Iterator[str]:
    """Yield rules for hidden folders and the visible folders in them; the last rule applies."""
    within = [one for one in seen if any(_is_in(one, folder) for folder in outer)]
    rules = [
        *((one, f"(deny file-read* file-write* (regex {_pattern(one)}))") for one in outer),
        *((one, f"(allow file-read* (regex {_pattern(one)}))") for one in within),
    ]
    yield from (rule for _, rule in sorted(rules, key=lambda one: one[0].split("/")))
    # A program reaches a folder through the metadata of parent folders.
    for way in _ways_to(within):
        yield f"(allow file-read-metadata (regex {_pattern(way, 'alone')}))"


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")


def _ways_to(paths: Iterable[str]) -> Sequence[str]:
    """Return the paths and all folders above them, except the root, which cannot be renamed."""
    return sorted({way for path in paths for way in _upwards(path.rstrip("/"))})


def _upwards(path: str) -> Iterator[str]:
    while path:
        yield path
        path = path.rpartition("/")[0]


def _quoted(text: str) -> str:
    """Quote a string, so that no character in it can end the quotation.

    Raises:
        ToolError: The string contains a control character.
    """
    if re.search(r"[\x00-\x1f\x7f]", text):
        raise ToolError(
            f"{text!r} contains a control character, so no command can be confined to it"
        )
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _pattern(path: str, what: str = "all in it") -> str:
    """Build a regular expression for a path, and for its content unless ``what`` is ``alone``.

    Mac disks ignore case and have several spellings of an accented letter. The pattern of any other
    unusual character also matches more characters. A pattern may match too much, but never too
    little, and no name can inject profile text. The path of the same file on the data volume
    matches, too.
    """
    text = re.sub(r"(\[\^/\]\*)+", "[^/]*", "".join(map(_any_case, path.rstrip("/"))))
    return f'#"^({_DATA})?{text}{"$" if what == "alone" else "(/|$)"}"'


def _any_case(character: str) -> str:
    if not character.isascii():
        return "[^/]*"
    if character.isalpha():
        both = f"[{character.upper()}{character.lower()}]"
        # The Kelvin sign and the long s equal k and s on a disk that ignores case.
        return f"({both}|[^/ -~]+)" if character in "kKsS" else both
    if character.isdigit() or character in "/_-":
        return character
    return "[.]" if character == "." else "[^/]"
