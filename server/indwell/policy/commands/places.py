"""What a word would be as a path: inside the workspace or not, protected, secret. By text alone."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import lru_cache

import msgspec

from indwell.policy.commands.folders import joined
from indwell.policy.commands.shell_words import HOME, STAR, UNKNOWN
from indwell.policy.commands.wildcards import matches
from indwell.policy.paths import (
    is_at_root_unknown,
    is_beneath,
    is_inside,
    is_protected,
    matches_any,
)

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/opt", "/nix/store", "/snap")
"""Folders of programs: nobody's own files lie there."""

_HARMLESS = re.compile(
    r"/dev/(?:null|zero|u?random|stdin|stdout|stderr|fd/\d+|tty)"
    r"|/proc/(?:cpuinfo|meminfo|loadavg|uptime|version|stat|mounts|filesystems)"
    r"|/etc/(?:os-release|lsb-release|debian_version|alpine-release|redhat-release|timezone"
    r"|shells|services|protocols|mime\.types)"
    r"|/var/log/(?:syslog|messages|kern\.log|dpkg\.log|apt/(?:history|term)\.log)"
)
SINKS = frozenset(["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"])
"""What may be written to anywhere."""

_LONGEST = 200  # characters of a name with wildcards

TEMPORARY = ("/tmp", "/var/tmp")  # noqa: S108 - in a sandbox they are its own


class Grounds(msgspec.Struct, frozen=True):
    """What a path is seen from.

    Attributes:
        cwd: Where the text runs, absolute; empty if that is not known.
        roots: The workspace's folders, absolute; if none is known, it is ``cwd``.
        secrets: Globs of secret files.
        secret_files: Secret files that are known to exist, absolute.
        obeyed: Files and folders that git runs or obeys, absolute.
        harmless: Unknown dot names that the user declares harmless.
        repository_roots: Folders of the workspace's repositories, absolute.
    """

    cwd: str = ""
    roots: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    secret_files: tuple[str, ...] = ()
    obeyed: tuple[str, ...] = ()
    harmless: tuple[str, ...] = ()
    repository_roots: tuple[str, ...] = ()

    def paths(self, text: str, folders: tuple[str, ...]) -> Iterator[str]:
        """Where a word may lead: absolute, or relative to the place that nobody knows."""
        for folder in folders:
            yield joined(self.cwd, joined(folder, text)) or "."

    def is_inside(self, path: str) -> bool:
        """Does a path (as ``paths`` gives it) lie in the workspace?"""
        if HOME in path or UNKNOWN in path:
            return False
        if not path.startswith("/"):
            return not self.cwd and not (path == ".." or path.startswith("../"))
        return is_inside(path, self.roots or ((self.cwd,) if self.cwd else ()))

    def is_open(self, path: str) -> bool:
        """May anybody read it without a question, outside the workspace?"""
        return bool(_HARMLESS.fullmatch(path)) or (
            STAR not in path.partition("/")[0] and is_beneath(path, SYSTEM)
        )

    def inner(self, path: str) -> str:
        """A path relative to the workspace's folder in which it lies, or as it is."""
        for root in self.roots or (self.cwd,):
            if root and path != root and is_beneath(path, (root,)):
                return path[len(root.rstrip("/")) + 1 :]
        return "" if path in self.roots or path == self.cwd else path

    def is_secret(self, path: str, *, are_hidden: bool = False) -> bool:
        """Does a path name a secret file, or could it with its wildcards?

        Args:
            path: As ``paths`` gives it.
            are_hidden: The sandbox hides them, so that wildcards find nothing.
        """
        if are_hidden and STAR in path:
            return False
        return secret_by_name(self.inner(path), self.secrets) or any(
            _leads_to(path, one) for one in self.secret_files
        )

    def holds_secrets(
        self,
        path: str,
        skips_hidden: bool,  # noqa: FBT001 - as the use of a program has it
        only: tuple[str, ...],
    ) -> bool:
        """Is a secret file known to lie at or beneath a path, where a program looks?

        Args:
            path: As ``paths`` gives it.
            skips_hidden: It passes over files and folders whose names begin with a dot.
            only: Globs of the names that it looks at; empty for all.
        """
        return any(
            (is_beneath(one, (path,)) or (STAR in path and wildly(path, one)))
            and not (skips_hidden and "/." in one[len(path) :])
            and not (only and not any(fnmatchcase(posixpath.basename(one), each) for each in only))
            for one in self.secret_files
        )

    def _is_unknown(self, path: str, plain: str) -> bool:
        """Does it lie beneath a dot name that nobody knows, at the root of a repository?"""
        beneath = (
            path[len(root) + 1 :]
            for root in self.repository_roots
            if is_inside(path, (root,)) and path.startswith(f"{root}/")
        )
        return any(is_at_root_unknown(one, self.harmless) for one in (plain, *beneath))

    def is_protected(self, path: str) -> bool:
        """Does changing it change what runs or is trusted?"""
        inner = self.inner(path)
        if is_beneath(path, self.obeyed) or any(_leads_to(path, one) for one in self.obeyed):
            return True
        if STAR not in inner:
            plain = inner.replace(HOME, "~")
            return is_protected(plain) or self._is_unknown(path, plain)
        return is_protected(inner) or any(
            wildly(part, name) and not part.startswith(STAR)
            for part in inner.split("/")
            for name in (".git", ".vscode", ".github", ".indwell", ".env", "package.json")
        )


@lru_cache(maxsize=4096)
def secret_by_name(path: str, globs: tuple[str, ...]) -> bool:
    """Does a path match the globs of secret files, or could it with its wildcards?"""
    plain = path.replace(HOME, "~")
    if not globs or not plain:
        return False
    if STAR not in path and UNKNOWN not in path:
        return matches_any(plain, globs)
    name = posixpath.basename(plain)
    if not name.strip(STAR + UNKNOWN):
        return False  # all files: what is known of the folder counts
    wanted = [one for one in globs if not one.startswith("!") and "/" not in one]
    return len(name) > _LONGEST or any(_overlap(name.casefold(), one.casefold()) for one in wanted)


def _leads_to(path: str, file: str) -> bool:
    """Is a path a file that is known, or does it lie beneath it (a link to a folder)?"""
    n_parts = file.count("/") + 1
    beginning = "/".join(path.split("/", n_parts)[:n_parts])
    return wildly(beginning, file) if STAR in beginning else beginning == file


def wildly(pattern: str, path: str) -> bool:
    """Does a path match a word with wildcards?"""
    wanted, found = pattern.split("/"), path.split("/")
    return len(wanted) == len(found) and all(
        matches(one, other, many=STAR + UNKNOWN, one="")
        for one, other in zip(wanted, found, strict=True)
    )


def _overlap(word: str, glob: str) -> bool:
    """Is there a name that both match, and not only because both begin or end with anything?"""
    mine = re.sub(f"[{STAR}{UNKNOWN}]+", "*", word)
    if mine.startswith("*") and glob.startswith("."):
        return False  # a wildcard in front finds no hidden file
    if mine.startswith("*") and "*" in glob.lstrip("*"):
        known = glob.strip("*")
        return any(len(piece) > 1 and piece in known for piece in mine.split("*"))
    return _meet(mine, glob)


@lru_cache(maxsize=4096)
def _meet(one: str, other: str) -> bool:
    if not one or not other:
        return not (one or other).strip("*")
    if one[0] == "*":
        return _meet(one[1:], other) or _meet(one, other[1:])
    if other[0] == "*":
        return _meet(one, other[1:]) or _meet(one[1:], other)
    return (one[0] == other[0] or "?" in {one[0], other[0]}) and _meet(one[1:], other[1:])
