"""Reads a profile of macOS's Seatbelt and evaluates it, as strictly as ``sandbox-exec`` does.

The profile language is a small Scheme. The reader knows the few forms that Indwell's profiles use,
and fails on everything else: on a Mac, an unknown operation or filter makes the whole profile
invalid. The last rule that matches decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

TOKEN = re.compile(
    r'\s*(?:(?P<regex>#"(?:[^"\\]|\\.)*")|(?P<text>"(?:[^"\\]|\\.)*")|(?P<mark>[()])'
    r'|(?P<word>[^\s()"#;]+))'
)

Node: TypeAlias = "str | Text | Regex | list[Node]"


@dataclass(frozen=True)
class Text:
    """A string of the profile, without quotes and escapes."""

    value: str


@dataclass(frozen=True)
class Regex:
    """A regular expression; backslashes belong to the expression."""

    value: str


@dataclass(frozen=True)
class Rule:
    """An ``allow`` or ``deny`` with operations and filters; one filter has to match."""

    effect: Literal["allow", "deny"]
    operations: tuple[str, ...]
    filters: tuple[tuple[Node, ...], ...]


OPERATIONS = frozenset(
    [
        *("default", "appleevent-send", "device-microphone", "dynamic-code-generation"),
        *("file-chroot", "file-clone", "file-ioctl", "file-issue-extension", "file-link"),
        *(
            "file-map-executable",
            "file-mknod",
            "file-mount",
            "file-read-data",
            "file-read-metadata",
        ),
        *("file-read-xattr", "file-revoke", "file-search", "file-test-existence"),
        *("file-write-create", "file-write-data", "file-write-flags", "file-write-mode"),
        *("file-write-owner", "file-write-setugid", "file-write-times", "file-write-unlink"),
        *("file-write-xattr", "generic-issue-extension", "hid-control", "iokit-get-properties"),
        *("iokit-open", "iokit-set-properties", "ipc-posix-sem", "ipc-posix-shm-read-data"),
        *("ipc-posix-shm-write-create", "ipc-posix-shm-write-data", "ipc-posix-shm-write-unlink"),
        *("ipc-sysv-msg", "ipc-sysv-sem", "ipc-sysv-shm", "job-creation", "lsopen"),
        *("mach-lookup", "mach-priv-host-port", "mach-priv-task-port", "mach-register"),
        *("mach-task-name", "network-bind", "network-inbound", "network-outbound", "nvram-set"),
        *("process-exec", "process-exec-interpreter", "process-fork", "process-info-pidinfo"),
        *("process-info-setcontrol", "pseudo-tty", "signal", "socket-ioctl", "sysctl-read"),
        *("sysctl-write", "system-audit", "system-fsctl", "system-privilege", "system-reboot"),
        *("system-sched", "system-socket", "user-preference-read", "user-preference-write"),
    ]
)
"""The operations of macOS 13 and later that matter to a command, from Apple's own profiles."""

PARENTS = {"process-exec-interpreter": "process-exec"}


def read_profile(text: str) -> tuple[Rule, ...]:
    """Return the rules of a profile.

    Raises:
        ValueError: The text is not a profile that Seatbelt would load.
    """
    forms = read_forms(text)
    match forms[:2]:
        case [["version", "1"], ["deny", "default"]]:
            return tuple(_rule(form) for form in forms[1:])
    raise ValueError("a profile begins with (version 1) (deny default)")


def read_forms(text: str) -> list[list[Node]]:
    """Return the forms of the top level as nested lists."""
    stack: list[list[Node]] = [[]]
    at = 0
    while text[at:].strip():
        token = TOKEN.match(text, at)
        if token is None:
            raise ValueError(f"no token at {text[at : at + 40]!r}")
        at = token.end()
        if token["mark"] == "(":
            stack.append([])
        elif token["mark"] == ")":
            done = stack.pop()
            if not stack:
                raise ValueError("a bracket closes nothing")
            stack[-1].append(done)
        elif token["regex"] is not None:
            stack[-1].append(Regex(token["regex"][2:-1]))
        elif token["text"] is not None:
            stack[-1].append(Text(re.sub(r"\\(.)", r"\1", token["text"][1:-1])))
        else:
            stack[-1].append(token["word"])
    if len(stack) != 1:
        raise ValueError("a bracket is not closed")
    forms = [form for form in stack[0] if isinstance(form, list)]
    if len(forms) != len(stack[0]):
        raise ValueError("a word outside all brackets")
    return forms


def _rule(form: list[Node]) -> Rule:
    effect, *rest = form
    if effect not in {"allow", "deny"}:
        raise ValueError(f"unknown form {effect!r}")
    operations = tuple(one for one in rest if isinstance(one, str))
    filters = tuple(tuple(one) for one in rest if isinstance(one, list))
    if len(operations) + len(filters) != len(rest) or not operations:
        raise ValueError(f"a rule without an operation, or with a stray string: {form!r}")
    for one in operations:
        if not set(_meant(one)):
            raise ValueError(f"unknown operation {one!r}")
    for condition in filters:
        is_match(condition, "", frozenset())  # The call raises an error for an unknown filter.
    return Rule("allow" if effect == "allow" else "deny", operations, filters)


def _meant(operation: str) -> Iterator[str]:
    """Yield the operations that a name in a rule means."""
    if operation == "default":
        yield from OPERATIONS
    elif operation.endswith("*"):
        yield from (one for one in OPERATIONS if one.startswith(operation[:-1]))
    else:
        yield from (
            one for one in OPERATIONS if operation in {one, PARENTS.get(one)} and one != "default"
        )


def is_match(condition: tuple[Node, ...], subject: str, extensions: frozenset[str]) -> bool:
    """Return whether a filter matches a path, a service, an address or a process.

    Args:
        condition: The filter.
        subject: The subject of the operation.
        extensions: The extensions that the system has granted to the process for this subject.

    Raises:
        ValueError: The filter is unknown.
    """
    match condition:
        case ("subpath", Text(value)):
            return f"{subject}/".startswith(f"{value.rstrip('/')}/")
        case ("literal" | "global-name" | "ipc-posix-name", Text(value)):
            return subject == value
        case ("regex", Regex(value)):
            return re.search(value, subject) is not None
        case ("remote", "ip", Text(value)):
            return subject == value
        case ("target", "same-sandbox"):
            return subject == "inside"
        case ("extension", Text(value)):
            return value in extensions
        case ("require-all", *parts):
            every = [
                isinstance(one, list) and is_match(tuple(one), subject, extensions) for one in parts
            ]
            return all(every)
    raise ValueError(f"unknown filter {condition!r}")


def allows(
    profile: str, operation: str, subject: str = "", extensions: frozenset[str] = frozenset()
) -> bool:
    """Return whether a profile allows an operation on a subject; the last matching rule decides."""
    if operation not in OPERATIONS:
        raise ValueError(f"unknown operation {operation!r}")
    answer = False
    for rule in read_profile(profile):
        is_meant = any(operation in _meant(one) for one in rule.operations)
        fits = (is_match(one, subject, extensions) for one in rule.filters)
        if is_meant and (not rule.filters or any(fits)):
            answer = rule.effect == "allow"
    return answer


def shapes(profile: str) -> set[str]:
    """Return each rule without the contents of its strings."""
    return {repr(_shape(form)) for form in read_forms(profile)}


def _shape(node: Node) -> object:
    if isinstance(node, list):
        return [_shape(one) for one in node]
    return node if isinstance(node, str) else type(node).__name__
