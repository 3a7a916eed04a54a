"""Judges the paths that a command names: in the workspace, protected, secret.

The judgement uses only the text, and never the disk.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache, partial

import msgspec

from indwell.files.spelling import (
    HERE,
    System,
    components,
    folded,
    is_absolute,
    quoted,
    relative,
    slashed,
)
from indwell.lazy_pattern import lazy_pattern
from indwell.policy.commands.verdict import PartFinding, Use, ask, secret, shown
from indwell.policy.paths import (
    could_be_beneath,
    is_at_root_unknown,
    is_beneath,
    is_inside,
    is_protected,
    is_short_at_root,
    matches_any,
)
from indwell.policy.rules import PatternRules, ShellLanguage, Widening
from indwell.policy.shell.items import joined, powershell_path
from indwell.policy.shell.words import HOME, STAR, UNKNOWN, Word

_SHALLOW = Use("reads")


class PathRules:
    """Rules for paths.

    Args:
        grounds: The folders that paths are relative to.
        are_hidden: Whether a sandbox hides secret files and keeps writes in the workspace.
    """

    def __init__(self, grounds: Grounds, *, are_hidden: bool) -> None:
        self._grounds = grounds
        self._are_hidden = are_hidden

    def secret(
        self, words: Sequence[Word], folders: tuple[str, ...], use: Use = _SHALLOW
    ) -> PartFinding | None:
        """Return a finding about secret files among or beneath the paths that are read."""
        are_hidden = self._are_hidden and not use.is_past
        for word in words:
            for text in _path_texts(word):
                for path in self._grounds.paths(text, folders or ("",)):
                    if self._grounds.is_secret(path, are_hidden=are_hidden):
                        return secret(text)
        if self._are_hidden:
            return self._far(words, folders, is_deep=use.is_deep)
        if not use.is_deep:
            return None
        for text in [text for word in words for text in word.options] or ["."]:
            for path in self._grounds.paths(text, folders or ("",)):
                if self._grounds.holds_secrets(path, use.skips_hidden, use.only):
                    return secret(text)
        return None

    def _far(
        self, words: Sequence[Word], folders: tuple[str, ...], *, is_deep: bool
    ) -> PartFinding | None:
        """Return a finding about folders outside the workspace, whose secret files are unknown."""
        if not (self._grounds.roots or self._grounds.cwd):
            return None
        for word in words:
            if word.source.startswith("<("):
                continue  # A process substitution is a pipe.
            for text in word.options if is_deep else [one for one in word.options if STAR in one]:
                for path in self._grounds.paths(text, folders or ("",)):
                    if not (
                        self._grounds.is_inside(path)
                        or self._grounds.is_open(path)
                        or is_beneath(path, TEMPORARY)
                    ):
                        return ask(
                            "outside", f"searches {quoted(shown(text))}, outside the workspace"
                        )
        return None

    def protected(self, words: Sequence[Word], folders: tuple[str, ...]) -> PartFinding | None:
        """Return a finding about protected files among the paths that are written."""
        for word in words:
            for text in _path_texts(word):
                for path in self._grounds.paths(text, folders or ("",)):
                    if self._grounds.is_protected(path):
                        return ask(
                            "protected",
                            f"{quoted(shown(text))} configures tools that run on this machine",
                            Widening(unconfined=True),
                        )
        return None

    def outside(self, word: Word, folders: tuple[str, ...]) -> str:
        """Return a path outside the workspace that a word names, unless anybody may read it."""
        for text in _path_texts(word):
            for path in self._grounds.paths(text, folders):
                if not (self._grounds.is_inside(path) or self._grounds.is_open(path)):
                    return shown(text)
        return ""

    def unwritable(self, word: Word, folders: tuple[str, ...]) -> str:
        """Return the path in a word if the sandbox makes that path read-only, or an empty text."""
        if not word.is_known:
            return ""  # The sandbox decides about these paths.
        for text in _path_texts(word):
            for path in self._grounds.paths(text, folders or ("",)):
                inside = self._grounds.is_inside(path) or is_beneath(path, TEMPORARY)
                if not (inside or path in SINKS):
                    return shown(text)
        return ""

    def is_scratch(self, word: Word, folders: tuple[str, ...]) -> bool:
        """Return whether a word surely names no file, or only a file in the sandbox's ``/tmp``."""
        paths = [
            path
            for text in _path_texts(word)
            for path in self._grounds.paths(text, folders or ("",))
        ]
        return word.is_known and bool(folders) and bool(paths) and all(map(self._is_own, paths))

    def _is_own(self, path: str) -> bool:
        if path in SINKS:
            return True
        is_sure = is_absolute(path, self._grounds.system) and not any(
            one in path for one in (STAR, HOME, UNKNOWN)
        )
        is_beside = is_sure and is_beneath(path, TEMPORARY) and not self._grounds.is_inside(path)
        return is_beside and not any(is_beneath(root, (path,)) for root in self._grounds.roots)


def _path_texts(word: Word) -> list[str]:
    """Return possible paths in a word: the word, and the text after an option's name."""
    texts = []
    for text in word.options:
        if not text.startswith("-"):
            texts.append(text)
        elif "=" in text:
            texts.append(text.partition("=")[2])
        elif len(text) > 2 and not text.startswith("--") and text[2:] != "/":  # noqa: PLR2004
            # The text after the letter is the path in `-fFILE`, but no path in `cut -d/`.
            texts.append(text[2:])
    return [text for text in texts if text]


SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/opt", "/nix/store", "/snap")
"""Folders of programs, which contain no user's own files."""

_HARMLESS = lazy_pattern(
    r"/dev/(?:null|zero|u?random|stdin|stdout|stderr|fd/\d+|tty)"
    r"|/proc/(?:cpuinfo|meminfo|loadavg|uptime|version|stat|mounts|filesystems)"
    r"|/etc/(?:os-release|lsb-release|debian_version|alpine-release|redhat-release|timezone"
    r"|shells|services|protocols|mime\.types)"
    r"|/var/log/(?:syslog|messages|kern\.log|dpkg\.log|apt/(?:history|term)\.log)"
)
SINKS = frozenset(["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"])
"""Device files that every command may write to."""

_LONGEST = 200  # A name with wildcards has at most 200 characters.

TEMPORARY = ("/tmp", "/var/tmp")  # noqa: S108 - in a sandbox they are its own


class Grounds(msgspec.Struct, frozen=True):
    """The folders that paths are relative to, and the known files in them.

    Attributes:
        cwd: The absolute folder in which the text runs, or empty if unknown.
        roots: The workspace's absolute folders; if none is known, ``cwd`` is used.
        secrets: Globs of secret files.
        secret_files: Absolute paths of existing secret files; without a sandbox, a search of a
            folder with one needs a question.
        obeyed: Absolute files and folders that git runs or obeys; these are protected as well.
        harmless: Unknown dot names that the user declares harmless.
        repository_roots: Absolute folders of the workspace's repositories.
        system: The system whose paths these are, in the form of ``files.spelling.slashed``.
        language: The language of the text; in PowerShell, paths are those of Windows.
    """

    cwd: str = ""
    roots: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    secret_files: tuple[str, ...] = ()
    obeyed: tuple[str, ...] = ()
    harmless: tuple[str, ...] = ()
    repository_roots: tuple[str, ...] = ()
    system: System = HERE
    language: ShellLanguage = "bash"

    def paths(self, text: str, folders: tuple[str, ...]) -> Iterator[str]:
        """Return the paths to which a word may lead: absolute, or relative to an unknown folder."""
        text = powershell_path(text) if self.language == "powershell" else text
        for folder in folders:
            inner = joined(folder, text, self.system)
            yield joined(self.cwd, inner, self.system) or "."

    def is_inside(self, path: str) -> bool:
        """Return whether a path (in the form of ``paths``) is in the workspace."""
        if HOME in path or UNKNOWN in path:
            return False
        if not is_absolute(path, self.system):
            return not self.cwd and not (path == ".." or path.startswith("../"))
        roots = self.roots or ((self.cwd,) if self.cwd else ())
        return is_inside(path, roots, self.system)

    def is_open(self, path: str) -> bool:
        """Return whether commands may read this outside path without a question."""
        return bool(_HARMLESS.fullmatch(path)) or (
            STAR not in path.partition("/")[0] and is_beneath(path, SYSTEM)
        )

    def inner(self, path: str) -> str:
        """Return a path relative to its workspace folder; other paths stay unchanged."""
        for root in self.roots or (self.cwd,):
            if root and path != root and is_beneath(path, (root,)):
                if path.startswith(front := f"{root.rstrip('/')}/"):
                    return path[len(front) :]
                names = [one for one in path.split("/") if one not in {"", "."}]
                return "/".join(names[len(components(root)) :])
        return "" if path in self.roots or path == self.cwd else path

    def is_secret(self, path: str, *, are_hidden: bool = False) -> bool:
        """Return whether a path names a secret file, or could name one by its wildcards.

        Args:
            path: A path in the form of ``paths``.
            are_hidden: Whether the sandbox hides secret files, so that wildcards find nothing.
        """
        if are_hidden and STAR in path:
            return False
        return secret_by_name(self.inner(path), self.secrets) or self._is_one(
            path, self.secret_files
        )

    def _is_one(self, path: str, files: tuple[str, ...]) -> bool:
        if self.system == "linux":
            return any(_leads_to(path, one) for one in files)
        return any(_leads_to(folded(path), folded(one)) for one in files)

    def holds_secrets(
        self,
        path: str,
        skips_hidden: bool,  # noqa: FBT001 - as the use of a program has it
        only: tuple[str, ...],
    ) -> bool:
        """Return whether a known secret file is at or beneath a path that a program reads.

        Args:
            path: A path in the form of ``paths``.
            skips_hidden: Whether the program skips names that begin with a dot.
            only: Globs of the names that the program looks at, or empty for all.
        """
        return any(
            (is_beneath(one, (path,)) or (STAR in path and wildly(path, one)))
            and not (skips_hidden and "/." in one[len(path) :])
            and not (only and not any(fnmatchcase(posixpath.basename(one), each) for each in only))
            for one in self.secret_files
        )

    def _is_unknown(self, path: str, plain: str) -> bool:
        """Return whether the path is beneath an unknown dot name at the root of a repository."""
        found = (relative(path, root, self.system) for root in self.repository_roots)
        beneath = (one for one in found if one not in {None, "."})
        ways = [one for one in (plain, *beneath) if one]
        if self.system == "win32" and any(is_short_at_root(one, self.harmless) for one in ways):
            return True
        return any(is_at_root_unknown(one, self.harmless) for one in ways)

    def is_protected(self, path: str) -> bool:
        """Return whether changing the file at a path affects trust, or programs that run."""
        inner = self.inner(path)
        if could_be_beneath(path, self.obeyed) or self._is_one(path, self.obeyed):
            return True
        if STAR not in inner:
            plain = inner.replace(HOME, "~")
            return is_protected(plain) or self._is_unknown(path, plain)
        return is_protected(inner) or any(
            wildly(part, name) and not part.startswith(STAR)
            for part in inner.split("/")
            for name in (".git", ".vscode", ".github", ".indwell", ".env", "package.json")
        )


class Situation(Grounds, frozen=True):
    """The folders and the rules for a command.

    Attributes:
        rules: The user's rules.
        writes_confined: Whether a sandbox keeps the command's writes in the workspace, so that
            builds and tests may run.
        reads_only: Whether nothing may be changed, as in ``plan`` mode. With ``writes_confined``, a
            sandbox ensures this, so builds and tests may still run.
        repositories: Absolute folders with git settings that the user was not asked about; without
            a sandbox, git may not even read there without a question.
        restricted: Absolute folders that the user does not trust; git does not run there.
        unknown_git: Absolute folders where git always needs a question, because the user has not
            looked at the files that git would run or obey there.
        batch_files: Names of programs, in lower case, that are batch files on PATH.
    """

    rules: PatternRules = PatternRules()
    writes_confined: bool = False
    reads_only: bool = False
    repositories: tuple[str, ...] = ()
    restricted: tuple[str, ...] = ()
    unknown_git: tuple[str, ...] = ()
    batch_files: tuple[str, ...] = ()

    def in_powershell(self) -> Situation:
        """Return the situation of a PowerShell text, which has the paths of Windows."""
        plain = partial(slashed, system="win32")
        return msgspec.structs.replace(
            self,
            language="powershell",
            system="win32",
            cwd=plain(self.cwd),
            roots=tuple(map(plain, self.roots)),
            secret_files=tuple(map(plain, self.secret_files)),
            obeyed=tuple(map(plain, self.obeyed)),
            repositories=tuple(map(plain, self.repositories)),
            restricted=tuple(map(plain, self.restricted)),
            unknown_git=tuple(map(plain, self.unknown_git)),
            repository_roots=tuple(map(plain, self.repository_roots)),
        )


@lru_cache(maxsize=4096)
def secret_by_name(path: str, globs: tuple[str, ...]) -> bool:
    """Return whether a path matches the globs of secret files, or could match by its wildcards."""
    plain = path.replace(HOME, "~")
    if not globs or not plain:
        return False
    if STAR not in path and UNKNOWN not in path:
        return matches_any(plain, globs)
    name = posixpath.basename(plain)
    if not name.strip(STAR + UNKNOWN):
        return False  # The pattern means all files, so the rules for the folder apply.
    wanted = [one for one in globs if not one.startswith("!") and "/" not in one]
    return len(name) > _LONGEST or any(_overlap(name.casefold(), one.casefold()) for one in wanted)


def _leads_to(path: str, file: str) -> bool:
    """Return whether a path is a known file, or lies beneath a known link to a folder."""
    n_parts = file.count("/") + 1
    beginning = "/".join(path.split("/", n_parts)[:n_parts])
    return wildly(beginning, file) if STAR in beginning else beginning == file


def wildly(pattern: str, path: str) -> bool:
    """Return whether a path matches a word with wildcards."""
    wanted, found = pattern.split("/"), path.split("/")
    return len(wanted) == len(found) and all(
        matches(one, other, many=STAR + UNKNOWN, one="")
        for one, other in zip(wanted, found, strict=True)
    )


def _overlap(word: str, glob: str) -> bool:
    """Return whether one name can match both patterns, whose ends may be wildcards."""
    mine = re.sub(f"[{STAR}{UNKNOWN}]+", "*", word)
    if mine.startswith("*") and glob.startswith("."):
        return False  # A leading wildcard matches no hidden file.
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


def matches(pattern: str, text: str, *, many: str = "*", one: str = "?") -> bool:
    """Return whether a whole text matches a pattern.

    Args:
        pattern: The pattern.
        text: The text.
        many: Characters of the pattern that match any text.
        one: Characters of the pattern that match one character.
    """
    at = begin = 0
    star = -1
    while begin < len(text):
        if at < len(pattern) and pattern[at] in many:
            star, held = at, begin
            at += 1
        elif at < len(pattern) and (pattern[at] == text[begin] or pattern[at] in one):
            at += 1
            begin += 1
        elif star >= 0:  # Extend the match of the last `*` by one character.
            held += 1
            at, begin = star + 1, held
        else:
            return False
    return all(rest in many for rest in pattern[at:])


def covers(patterns: Sequence[str], words: Sequence[str]) -> bool:
    """Return whether patterns for words match all words; a ``*`` alone matches one word or more.

    A wildcard within a word does not extend into the next word.
    """
    at = begin = 0
    star = -1
    while begin < len(words):
        if at < len(patterns) and patterns[at] and not patterns[at].strip("*"):
            star, held = at, begin
            at += 1
            begin += 1
        elif at < len(patterns) and matches(patterns[at], words[begin]):
            at += 1
            begin += 1
        elif star >= 0:
            held += 1
            at, begin = star + 1, held + 1
        else:
            return False
    return at == len(patterns)
