"""Types for the judgement on a command and its parts, and for the effect of a program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec

from indwell.files.spelling import quoted
from indwell.lazy_pattern import lazy_pattern
from indwell.policy.rules import ANY_HOST, NOTHING_MORE, Widening
from indwell.policy.shell.words import HOME, STAR, UNKNOWN, Word

Effect: TypeAlias = Literal["allow", "ask", "deny"]


class CommandPart(msgspec.Struct, frozen=True):
    """One simple command, redirect, assignment or construct of a shell text.

    Attributes:
        text: The part's text in the source.
        start: The part's beginning in the source, in characters from 0.
        end: The part's end, exclusive.
        words: The words as bash would expand them; ``words.UNKNOWN`` replaces unknown text.
        decision: The decision on this part alone.
        rule: The deciding rule: ``read-only``, ``workspace-write``, ``allow: git *``, …
        reason: A clause for people, or empty if the part is allowed.
        folders: Folders in which the part may run, relative to the text's folder, or empty if
            unknown.
    """

    text: str
    start: int
    end: int
    words: tuple[str, ...]
    decision: Effect
    rule: str
    reason: str = ""
    folders: tuple[str, ...] = ("",)


READ_ONLY = "read-only"
WORKSPACE_WRITE = "workspace-write"
HELD = "held read-only"


class PartFinding(msgspec.Struct, frozen=True):
    """The finding on one part.

    Attributes:
        decision: Allow, ask or deny.
        rule: The deciding rule.
        reason: The reason why the part is not allowed.
        widening: The access that the part needs beyond the sandbox.
        reads_only: Whether the part changes nothing.
        is_held: Whether every effect is allowed, because the sandbox prevents changes outside
            ``/tmp``.
        by_user: Whether a pattern of the user allows the part.
        texts: Shell texts that the part runs, which are judged as well.
        hints: Texts that the part may run, which are searched for denied commands.
    """

    decision: Effect
    rule: str
    reason: str = ""
    widening: Widening = NOTHING_MORE
    reads_only: bool = False
    is_held: bool = False
    by_user: bool = False
    texts: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()


class CommandVerdict(PartFinding, frozen=True):
    """The judgement on a whole command: the strictest finding, and the parts in order.

    The user's patterns allow a command if they allow each part that does more than read.
    """

    parts: tuple[CommandPart, ...] = ()


HELD_FINDING = PartFinding("allow", HELD, is_held=True)


def ask(rule: str, reason: str, widening: Widening = NOTHING_MORE) -> PartFinding:
    """Return a finding that asks the user."""
    return PartFinding("ask", rule, reason, widening)


def secret(text: str) -> PartFinding:
    """Return a finding that asks the user about a secret file."""
    return ask(
        "secret",
        f"{quoted(shown(text))} is or contains a secret file",
        Widening(shows_secrets=True),
    )


def forbidden(is_denied: bool, text: str) -> PartFinding:  # noqa: FBT001 - two kinds of one answer
    """Return the finding of a pattern of the user that denies or asks."""
    if is_denied:
        return PartFinding("deny", f"deny: {text}", f"your rule {text!r} denies it")
    return PartFinding("ask", f"ask: {text}", f"your rule {text!r} asks")


def joined(all_of_them: Sequence[Widening]) -> Widening:
    """Return the access that several findings need together."""
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
    """Return the strictest finding."""
    order = {"deny": 0, "ask": 1, "allow": 2}
    return min(found, key=lambda one: order[one.decision], default=None)


def shown(text: str) -> str:
    """Return a text for people, with ordinary characters in place of internal placeholders."""
    return text.replace(HOME, "~").replace(STAR, "*").replace(UNKNOWN, "…")


Kind: TypeAlias = Literal["reads", "writes", "network", "destroys", "privileged", "unknown"]
"""The kinds of effects, from harmless to unknown. A sandbox keeps ``writes`` in the workspace."""


class Use(msgspec.Struct, frozen=True):
    """The effect of a program.

    Attributes:
        kind: The worst effect.
        reason: The harm that the program could do, as a clause for people.
        reads: Words that are paths to read.
        writes: Words that are paths to write.
        is_here: Whether the program reads its working directory.
        is_deep: Whether the program reads all files beneath the paths.
        skips_hidden: Whether a deep read skips names that begin with a dot.
        only: Globs of the file names in a deep read, or empty for all.
        takes_any: Whether words that are known only at run time are harmless.
        hosts: Hosts that the program connects to.
        inner: The words of commands that the program runs.
        texts: Shell texts that the program runs.
        is_work: Whether the program builds, tests or runs code, and changes files only as a side
            effect.
        moves_to: The targets to which the program moves files.
        takes_up: Whether the program may replace workspace files that no word names, even protected
            files.
        is_past: Whether the program reads contents of old commits, which no sandbox hides.
        installs: Whether the program installs programs that editors and shells start (`.venv/bin`).
        is_unbound: Whether the program needs something to reach other machines that no sandbox
            offers, such as keys.
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
    """Return the effect of a program that changes files."""
    return Use("writes", reason, writes=writes)


def working(reason: str, *texts: str) -> Use:
    """Return the effect of a program that runs unknown code, such as a build or a script."""
    return Use("writes", reason, texts=texts, is_work=True)


_HOSTS = {"gh": ("api.github.com", "github.com"), "glab": ("gitlab.com",)}
_PORTS = {"http": ":80", "https": ":443"}
_URL = lazy_pattern(r"(https?)://(?:[^/@\s]*@)?([A-Za-z0-9.-]+(?::\d+)?)(?:[/?#].*)?")
_LOCAL = lazy_pattern(r"(localhost:\d+)(?:[/?#].*)?")


def with_port(scheme: str, host: str) -> str:
    """Return ``name``, or ``name:port`` if the port is not the scheme's usual one."""
    return host.lower().removesuffix(_PORTS[scheme])


def hosts_of(name: str, words: Sequence[Word]) -> tuple[str, ...]:
    """Return the hosts that a program's words name; any host if the words name none."""
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
