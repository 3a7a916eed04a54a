"""The verdict on a command and its parts, what a program does, and where it would run. Data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec

from indwell.lazy_pattern import lazy_pattern
from indwell.policy.rules import PatternRules
from indwell.policy.shell.words import HOME, STAR, UNKNOWN, Word
from indwell.policy.widening import ANY_HOST, NOTHING_MORE, Widening

Effect: TypeAlias = Literal["allow", "ask", "deny"]


class CommandPart(msgspec.Struct, frozen=True):
    """One simple command, redirect, assignment or construct of a shell text.

    Attributes:
        text: As it stands in the source.
        start: Where it begins in the source, in characters; 0-based.
        end: Where it ends, exclusive.
        words: Its words as bash would see them; ``shell_words.UNKNOWN`` for what only a run can
            tell.
        decision: What is thought of it by itself.
        rule: Which rule won: ``read-only``, ``workspace-write``, ``allow: git *``, …
        reason: Half a sentence for people; empty if it is allowed.
        folders: Where it may run, seen from where the whole text runs; empty if that is unknown.
    """

    text: str
    start: int
    end: int
    words: tuple[str, ...]
    decision: Effect
    rule: str
    reason: str = ""
    folders: tuple[str, ...] = ("",)


class CommandVerdict(msgspec.Struct, frozen=True):
    """What is thought of a whole command.

    Attributes:
        decision: The strictest of its parts'.
        rule: The rule that won.
        reason: Why it is asked or denied, in half a sentence for people.
        parts: All of its parts, in the order of the source.
        reads_only: It changes nothing, as far as it is understood.
        is_held: It is allowed in ``plan`` only as the sandbox lets it write nowhere but ``/tmp``.
        widening: What it needs beyond the sandbox to do its work, such as network for ``git push``.
        by_user: A pattern of the user's allows each part that does more than read.
    """

    decision: Effect
    rule: str
    reason: str = ""
    parts: tuple[CommandPart, ...] = ()
    reads_only: bool = False
    is_held: bool = False
    widening: Widening = NOTHING_MORE
    by_user: bool = False


READ_ONLY = "read-only"
WORKSPACE_WRITE = "workspace-write"
HELD = "held read-only"


class PartFinding(msgspec.Struct, frozen=True):
    """What is thought of a piece.

    Attributes:
        effect: Allow, ask or deny.
        rule: Which rule won.
        reason: Why it is not allowed.
        widening: What it needs beyond the sandbox.
        reads_only: It changes nothing.
        is_held: It may do anything, and the sandbox keeps it from changing what lies outside
            ``/tmp``.
        by_user: A pattern of the user's allows it.
        texts: Shell texts that it runs, to be judged as well.
        hints: Texts that it may run, in which what the user denies is looked for.
    """

    effect: Effect
    rule: str
    reason: str = ""
    widening: Widening = NOTHING_MORE
    reads_only: bool = False
    is_held: bool = False
    by_user: bool = False
    texts: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()


HELD_FINDING = PartFinding("allow", HELD, is_held=True)


def ask(rule: str, reason: str, widening: Widening = NOTHING_MORE) -> PartFinding:
    """A finding that asks."""
    return PartFinding("ask", rule, reason, widening)


def secret(text: str) -> PartFinding:
    """A finding that asks for a secret file."""
    return ask("secret", f"{shown(text)!r} is or holds a secret file", Widening(shows_secrets=True))


def forbidden(is_denied: bool, text: str) -> PartFinding:  # noqa: FBT001 - two kinds of one answer
    """A pattern of the user's denies it, or asks."""
    if is_denied:
        return PartFinding("deny", f"deny: {text}", f"your rule {text!r} denies it")
    return PartFinding("ask", f"ask: {text}", f"your rule {text!r} asks")


def joined(all_of_them: Sequence[Widening]) -> Widening:
    """All that several findings need."""
    if all(one == NOTHING_MORE for one in all_of_them):
        return NOTHING_MORE
    return Widening(
        hosts=tuple(dict.fromkeys(host for one in all_of_them for host in one.hosts)),
        shows_secrets=any(one.shows_secrets for one in all_of_them),
        writes_protected=any(one.writes_protected for one in all_of_them),
        unconfined=any(one.unconfined for one in all_of_them),
        installs=any(one.installs for one in all_of_them),
    )


def worst(found: Sequence[PartFinding]) -> PartFinding | None:
    """The strictest."""
    order = {"deny": 0, "ask": 1, "allow": 2}
    return min(found, key=lambda one: order[one.effect], default=None)


def shown(text: str) -> str:
    """A text of a word for people."""
    return text.replace(HOME, "~").replace(STAR, "*").replace(UNKNOWN, "…")


Kind: TypeAlias = Literal["reads", "writes", "network", "destroys", "privileged", "unknown"]
"""From harmless to not known. ``writes`` is what a sandbox keeps in the workspace."""


class Use(msgspec.Struct, frozen=True):
    """A use of a program.

    Attributes:
        kind: The worst that it does.
        reason: Why it is not harmless, half a sentence for people.
        reads: Words that are paths to read.
        writes: Words that are paths to write.
        is_here: It reads the folder it runs in.
        is_deep: It reads the contents of all files beneath what it reads.
        skips_hidden: Then without names that begin with a dot.
        only: Then only files whose names match one of these globs; empty for all.
        takes_any: Words that only a run can tell make no difference.
        hosts: Where it connects to.
        inner: Words of commands that it runs.
        texts: Shell texts that it runs.
        is_work: It builds, tests or runs other programs; that it changes files is by the way.
        moves_to: Where it moves files that it takes away elsewhere.
        takes_up: It may replace files of the workspace that no word names, also protected ones.
        is_past: It reads what was committed, which no sandbox hides.
        installs: It puts programs where editors and shells start them from (`.venv/bin`).
        is_unbound: No sandbox gives it what it needs to reach other machines, such as keys.
    """

    kind: Kind
    reason: str = ""
    reads: tuple[Word, ...] = ()
    writes: tuple[Word, ...] = ()
    is_here: bool = False
    is_deep: bool = False
    skips_hidden: bool = False
    only: tuple[str, ...] = ()
    takes_any: bool = False
    hosts: tuple[str, ...] = ()
    inner: tuple[tuple[Word, ...], ...] = ()
    texts: tuple[str, ...] = ()
    is_work: bool = False
    moves_to: tuple[Word, ...] = ()
    takes_up: bool = False
    is_past: bool = False
    is_unbound: bool = False
    installs: bool = False


def writing(reason: str, *writes: Word) -> Use:
    """A use that changes files."""
    return Use("writes", reason, writes=writes)


def working(reason: str, *texts: str) -> Use:
    """A use that runs what nobody here knows, such as a build or a script."""
    return Use("writes", reason, texts=texts, is_work=True)


class Situation(msgspec.Struct, frozen=True):
    """Where and under which rules a command would run.

    Attributes:
        rules: The user's.
        writes_confined: A sandbox keeps it in the workspace, so that builds and tests may run.
        reads_only: Nothing may be changed: the mode is ``plan``. With ``writes_confined`` the
            sandbox sees to it, so that builds and tests may run all the same.
        cwd: Where it runs, absolute; empty if that is not known.
        roots: The workspace's folders, absolute.
        secrets: Globs of files whose contents the user keeps to themselves.
        secret_files: Such files that are known to exist, absolute: without a sandbox, searching a
            folder that holds one is asked for.
        obeyed: Files and folders that git is told to run or obey, absolute: protected as well.
        repositories: Folders with settings of git that nobody was asked about, absolute: without a
            sandbox, git may not even look there unasked.
        restricted: Folders that the user does not trust, absolute: git does not run there.
        harmless: Unknown dot names that the user declares harmless.
        repository_roots: Folders of the workspace's repositories, absolute.
    """

    rules: PatternRules = PatternRules()
    writes_confined: bool = False
    reads_only: bool = False
    cwd: str = ""
    roots: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    secret_files: tuple[str, ...] = ()
    obeyed: tuple[str, ...] = ()
    repositories: tuple[str, ...] = ()
    restricted: tuple[str, ...] = ()
    harmless: tuple[str, ...] = ()
    repository_roots: tuple[str, ...] = ()


_HOSTS = {"gh": ("api.github.com", "github.com"), "glab": ("gitlab.com",)}
_PORTS = {"http": ":80", "https": ":443"}
_URL = lazy_pattern(r"(https?)://(?:[^/@\s]*@)?([A-Za-z0-9.-]+(?::\d+)?)(?:[/?#].*)?")
_LOCAL = lazy_pattern(r"(localhost:\d+)(?:[/?#].*)?")


def with_port(scheme: str, host: str) -> str:
    """``name``, or ``name:port`` if it is not the usual one of the scheme."""
    return host.lower().removesuffix(_PORTS[scheme])


def hosts_of(name: str, words: Sequence[Word]) -> tuple[str, ...]:
    """Where a program connects to, if that stands there; else anywhere."""
    if name in _HOSTS and not any(word.text.startswith("--hostname") for word in words):
        return _HOSTS[name]
    found = []
    for word in words:
        if not word.is_literal:
            return (ANY_HOST,)
        if at := _URL.fullmatch(word.text):
            found.append(with_port(at[1], at[2]))
        elif at := _LOCAL.fullmatch(word.text):
            found.append(at[1])
    risky = any(
        word.text.startswith(("-x", "--proxy", "-K", "--config", "--connect-to", "--resolve", "-i"))
        for word in words
    )
    is_loader = name in {"curl", "wget", "http", "https", "xh"}
    return tuple(dict.fromkeys(found)) if found and is_loader and not risky else (ANY_HOST,)
