"""Rules for files, secrets and untrusted folders, applied to the files that a command names."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

import msgspec

from indwell.policy.call_facts import CallFacts, Policy
from indwell.policy.commands.verdict import CommandPart, CommandVerdict
from indwell.policy.paths import is_beneath, is_inside, matching_glob
from indwell.policy.rules import FileEffect, file_rule, globs_of, is_for_files
from indwell.policy.shell.items import joined
from indwell.policy.shell.words import STAR, UNKNOWN
from indwell.settings.model import SECRETS

MOST_SCRIPTS = 8  # of one command; more make no line that anybody reads
MOST_CANDIDATES = 2_000  # names that are looked at for them; 5 ms

_UNKNOWN = frozenset((STAR, UNKNOWN))  # in a word that only a run can tell
_IS_WORD = re.compile(r"[^\s;&|<>()\"'$=`]*")


def named_files(parts: Iterable[CommandPart], cwd: str, roots: Sequence[str]) -> tuple[str, ...]:
    """Every word that may be a file, relative to the workspace where it lies in it."""
    return tuple(_relative(path, roots) for path in named_paths(parts, cwd, roots))


def named_paths(parts: Iterable[CommandPart], cwd: str, roots: Sequence[str]) -> tuple[str, ...]:
    """Every word that may be a file, as an absolute path, seen from where its command runs."""
    found = (
        joined(folder, word)
        for part in parts
        for folder in part.folders or ("",)
        for one in _operands(part)
        for word in _paths_in(one)
    )
    return tuple(dict.fromkeys(_absolute(path, cwd, roots) for path in found))


def _operands(part: CommandPart) -> tuple[str, ...]:
    """Its words, but for the name of a program: that is looked for on PATH, not in the folder."""
    first = part.words[0] if part.words else ""
    after = part.text[len(first) : len(first) + 1]
    is_program = "/" not in first and part.text.startswith(first) and after in {"", " ", "\t"}
    return part.words[1:] if is_program else part.words


class Bound(msgspec.Struct, frozen=True):
    """Files of the workspace that may decide what a command does, be they there or not.

    Attributes:
        names: Absolute.
        is_all: There are no more.
    """

    names: tuple[str, ...] = ()
    is_all: bool = True


def bound_files(parts: Iterable[CommandPart], cwd: str, roots: Sequence[str]) -> Bound:
    """What of the workspace a command may run or obey as it is at that moment.

    Such as ``./build.sh``, ``make.py`` of ``timeout 9 python -W ignore make.py``, ``x`` of
    ``bash < x``, and the ``Makefile`` of ``make test``. One that is made later counts by then.
    """
    acting = [part for part in parts if part.rule != "removes"]  # what it removes it does not run
    names = dict.fromkeys(name for part in acting for name in _inside(part, cwd, roots))
    is_known = all(map(_is_known, acting))
    return Bound(tuple(names)[:MOST_CANDIDATES], is_known and len(names) <= MOST_CANDIDATES)


def _is_known(part: CommandPart) -> bool:
    return bool(part.folders) and not any(map(_UNKNOWN.intersection, part.words))


def _candidates(words: Sequence[str]) -> tuple[str, ...]:
    """What of a command's words may be such a file, or the text of a command that names one."""
    texts = [text for word in words for text in (*_paths_in(word), *_attached(word))]
    inner = (word for word in words if not _IS_WORD.fullmatch(word))
    texts += [token for word in inner for token in _TOKEN.findall(word)]
    texts = [text for text in texts if text and text != "."]
    own = project_files(texts)
    folders = [text for text in texts if "/" in text or not text.startswith("-")] if own else []
    return (*texts, *own, *(f"{folder}/{name}" for folder in folders for name in own))


def _attached(word: str) -> tuple[str, ...]:
    """What stands right behind an option of one letter, as in ``-Csub``."""
    is_option = len(word) > 2 and word[0] == "-" and word[1] != "-"  # noqa: PLR2004
    return (word[2:],) if is_option else ()


def _inside(part: CommandPart, cwd: str, roots: Sequence[str]) -> Iterator[str]:
    for text in _candidates(part.words):
        for folder in part.folders or ("",):
            path = _absolute(joined(folder, text), cwd, roots)
            if path.isprintable() and path not in roots and is_inside(path, tuple(roots)):
                yield path


def _paths_in(word: str) -> tuple[str, ...]:
    """A word, and what stands behind an option's equals sign, or a revision of ``git``."""
    behind = (word.partition(mark)[2] for mark in ("=", ":") if "://" not in word or mark == "=")
    return (word, *filter(None, behind))


def _absolute(word: str, cwd: str, roots: Sequence[str]) -> str:
    return posixpath.normpath(posixpath.join(cwd or (roots[0] if roots else "/"), word))


def _relative(path: str, roots: Sequence[str]) -> str:
    for root in roots:
        if path == root:
            return "."
        if path.startswith(f"{root.rstrip('/')}/"):
            return path[len(root.rstrip("/")) + 1 :]
    return path


_TOKEN = re.compile(r"[^\s;&|<>()\"'$=`]+")


def by_file_rules(verdict: CommandVerdict, asked: CallFacts, policy: Policy) -> CommandVerdict:
    """The verdict, or a stricter one; by text alone, for the sandbox keeps a program from files."""
    if _acts_in_restricted(verdict, asked, policy):
        return CommandVerdict("deny", "restricted folder", "it names a folder that is not trusted")
    own = own_globs(policy.deny)
    if not own and not any(map(is_for_files, (*policy.rules.deny, *policy.rules.ask))):
        return verdict
    effects: tuple[FileEffect, ...] = ("read", "edit")
    named = named_files(verdict.parts, asked.cwd, policy.roots)
    names = tuple(name for name in named if name.isprintable())  # no mark of what a run makes of it
    secret = next((one for one in names if matching_glob(one, own)), "")
    if secret:
        by = f"deny: {matching_glob(secret, own)}"
        return CommandVerdict("deny", by, f"the user keeps {secret!r} from you", verdict.parts)
    for effect in effects[: 1 if verdict.reads_only else 2]:
        by_rule = file_rule(effect, names, policy.rules.deny)
        if by_rule:
            return CommandVerdict(
                "deny",
                f"deny: {by_rule}",
                f"the user's rule {by_rule!r} denies a file that it names",
            )
        by_rule = file_rule(effect, names, policy.rules.ask)
        if by_rule and verdict.decision != "deny":
            reason = verdict.reason or "your rules ask about a file that it names"
            verdict = CommandVerdict(
                "ask", f"ask: {by_rule}", reason, verdict.parts, widening=verdict.widening
            )
    is_known = len(names) == len(named) and all(part.folders for part in verdict.parts)
    is_sure = is_known or verdict.reads_only or verdict.decision != "allow"
    if is_sure or not globs_of("edit", (*policy.rules.deny, *policy.rules.ask)):
        return verdict
    reason = "only a run can tell which files it names, and you have rules for files"
    return CommandVerdict("ask", "ask: edit", reason, verdict.parts, widening=verdict.widening)


def _acts_in_restricted(verdict: CommandVerdict, asked: CallFacts, policy: Policy) -> bool:
    """Does it name a folder that is not trusted, and do more there than read?

    To git it is one: what only looks runs what the settings of a repository say.
    """
    if not policy.restricted:
        return False
    words = (word for part in verdict.parts for word in part.words)
    if verdict.reads_only and not any(posixpath.basename(word) == "git" for word in words):
        return False
    tokens = CommandPart(asked.command, 0, 0, tuple(_TOKEN.findall(asked.command)), "ask", "")
    places = named_paths((*verdict.parts, tokens), asked.cwd, policy.roots)
    return any(is_beneath(place, policy.restricted) for place in places)


@lru_cache(maxsize=64)
def own_globs(deny: tuple[str, ...]) -> tuple[str, ...]:
    """Those of ``deny`` that are no defaults: what they name is denied, and not asked for."""
    if deny[: len(SECRETS)] != SECRETS:
        return deny
    spared = tuple(one for one in deny if one.startswith("!"))
    return (*(one for one in deny[len(SECRETS) :] if not one.startswith("!")), *spared)


_NODE = ("package.json",)
_PYTHON = ("pyproject.toml", "setup.cfg", "tox.ini")
_GRADLE = ("build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts")
_COMPOSE = ("compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml")

_FILES: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(["make", "gmake"], ("GNUmakefile", "makefile", "Makefile")),
    **dict.fromkeys(["npm", "yarn", "pnpm", "npx", "bun", "lerna", "turbo", "nx"], _NODE),
    **dict.fromkeys(["poetry", "pdm", "hatch", "uv", "black", "ruff", "mypy"], _PYTHON),
    **dict.fromkeys(["gradle", "gradlew"], _GRADLE),
    **dict.fromkeys(["mvn", "mvnw"], ("pom.xml",)),
    **dict.fromkeys(["docker", "podman", "docker-compose"], ("Dockerfile", *_COMPOSE)),
    **dict.fromkeys(["invoke", "inv"], ("tasks.py",)),
    **dict.fromkeys(["rake", "rails"], ("Rakefile", "Gemfile")),
    "ant": ("build.xml",),
    "bazel": ("BUILD", "BUILD.bazel", "WORKSPACE", "MODULE.bazel"),
    "bundle": ("Gemfile",),
    "cargo": ("Cargo.toml", "build.rs"),
    "cmake": ("CMakeLists.txt",),
    "composer": ("composer.json",),
    "deno": ("deno.json", "deno.jsonc", *_NODE),
    "go": ("go.mod",),
    "grunt": ("Gruntfile.js",),
    "gulp": ("gulpfile.js",),
    "just": ("justfile", "Justfile", ".justfile"),
    "meson": ("meson.build",),
    "mise": ("mise.toml", ".mise.toml"),
    "mix": ("mix.exs",),
    "ninja": ("build.ninja",),
    "nox": ("noxfile.py",),
    "pre-commit": (".pre-commit-config.yaml",),
    "pytest": ("conftest.py", "pytest.ini", *_PYTHON),
    "scons": ("SConstruct",),
    "task": ("Taskfile.yml", "Taskfile.yaml"),
    "terraform": ("main.tf",),
    "tox": _PYTHON,
}


def project_files(words: Sequence[str]) -> tuple[str, ...]:
    """The names of such files for the programs among the words of a command; wrappers are many."""
    names = (name for word in words for name in _FILES.get(posixpath.basename(word), ()))
    return tuple(dict.fromkeys(names))
