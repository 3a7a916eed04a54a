"""``git``: which of its commands only look, which change the workspace, which reach the network."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from indwell.policy.commands.flags import Options, UnknownOption, given, names
from indwell.policy.commands.git_looks import LISTING, LOG, LOOKS, SECOND
from indwell.policy.commands.git_losses import destroys
from indwell.policy.commands.git_taking_up import takes_up
from indwell.policy.commands.hosts import with_port
from indwell.policy.commands.shell_words import STAR
from indwell.policy.commands.use import Use, writing
from indwell.policy.commands.words import Word
from indwell.policy.widening import ANY_HOST

_CHANGES = names(
    "add commit mv merge rebase cherry-pick revert tag branch init apply am stash notes"
    " switch bisect gc maintenance pack-refs repack update-index write-tree commit-tree"
    " hash-object worktree format-patch bundle archive rerere mktree mktag update-ref"
    " symbolic-ref reset checkout stripspace interpret-trailers fmt-merge-msg sparse-checkout"
    " config read-tree merge-tree merge-file checkout-index replace prune mergetool difftool"
    " citool instaweb restore clean rm"
)
_NETWORK = names("push fetch pull clone ls-remote send-email svn p4 fetch-pack send-pack")
_OVER = re.compile(r"(https?)://(?:[^/@\s]*@)?([\w.-]+(?::\d+)?)(?:[/?#]|$)")
_BY_KEY = re.compile(r"(?:git\+)?ssh://|(?!\w+://)(?:[\w.-]+@[\w.-]+|[\w-]+\.[\w.-]+):(?!//)")
"""``ssh://host/x``, ``git@host:x``, ``host.name:x``."""
_PLACES = frozenset(["fetch", "pull", "clone", "ls-remote"])
_MAGIC = re.compile(r"\([\w,:=]*\)|^[/!^]+")
"""In front of a path: ``:(glob)``, ``:/``, ``:!``."""
_WILD = re.compile(r"\*+|\?|\[[^\]]*\]")
_GLOBAL_ALONE = frozenset(["--no-pager", "--no-optional-locks", "--literal-pathspecs", "-P"])


def git(words: Sequence[Word]) -> Use:
    """What a ``git`` command does."""
    reads: list[Word] = []
    at = 0
    while at < len(words) and words[at].could_be_option:
        word = words[at]
        if word.source == "-C" and at + 1 < len(words):
            reads.append(words[at + 1])
            at += 2
        elif word.is_literal and word.text in _GLOBAL_ALONE:
            at += 1
        elif word.source == "--version":
            return Use("reads")
        else:
            return _configured(words, at)
    if at >= len(words):
        return Use("reads")
    name = words[at].text
    if not words[at].is_literal:
        return Use("unknown", "'git' with a command that only a run can tell")
    used = _by_name(name, words[at + 1 :])
    if not reads:
        return used
    # Another folder may be another repository, whose settings run programs.
    is_work = used.is_work or used.kind == "network"
    return msgspec.structs.replace(used, reads=(*reads, *used.reads), is_work=is_work)


def _configured(words: Sequence[Word], at: int) -> Use:
    """With settings on the line, ``git`` runs what they say; what it is for counts all the same."""
    while at < len(words) and words[at].could_be_option:
        takes_word = words[at].text in {"-c", "--git-dir", "--work-tree", "--namespace", "-C"}
        at += 2 if takes_word else 1
    used = _by_name(words[at].text, words[at + 1 :]) if at < len(words) else Use("reads")
    if used.kind in {"reads", "writes"}:
        settings = writing("'git' with settings on the line can run other programs")
        return msgspec.structs.replace(settings, takes_up=used.takes_up)
    return msgspec.structs.replace(used, is_work=True)


def _by_name(name: str, words: Sequence[Word]) -> Use:
    looking = _looking(name, words)
    if looking is not None:
        return looking
    return msgspec.structs.replace(_acting(name, words), takes_up=takes_up(name, words))


def _looking(name: str, words: Sequence[Word]) -> Use | None:
    """What a command does that only looks; none if it may do more."""
    second = words[0].text if words and words[0].is_literal else ""
    if len(words) == 1 and words[0].source in {"--help", "-h"} and name in _CHANGES | _NETWORK:
        return Use("reads")
    if name == "help" and all(re.fullmatch(r"\w[\w-]*", word.source) for word in words):
        return Use("reads")
    if name in LOOKS:
        return _looks(name, words, LOOKS[name])
    if name == "reflog" and (not words or second not in {"expire", "delete", "drop", "write"}):
        return _looks(name, words[second in SECOND["reflog"] :], LOG)
    if second in SECOND.get(name, ()):
        return _looks(name, words[1:], LOG if name in {"stash", "notes"} else LISTING["config"][0])
    if name in LISTING and _lists(name, words):
        return Use("reads", is_here=True)
    return None


def _acting(name: str, words: Sequence[Word]) -> Use:
    second = words[0].text if words and words[0].is_literal else ""
    if destroyed := destroys(name, words):
        return Use("destroys", destroyed)
    connects = name == "remote" and second in {"show", "update", "prune"}
    if name in _NETWORK or name == "submodule" or connects:
        return _connects(name, words)
    if name in _CHANGES or name == "remote":
        return _changes(name, words)
    return Use("unknown", f"'git {name}' is not known")


def _looks(name: str, words: Sequence[Word], known: Options) -> Use:
    try:
        found = given(words, known)
    except UnknownOption as option:
        return writing(f"'git {name}' with {str(option)!r} may do more than look")
    if not all(word.is_literal or word.is_known for word in found.operands):
        return writing(f"'git {name}' with words that only a run can tell")
    reads = found.operands
    if name == "grep":
        reads = reads if found.has("-e", "-f") else reads[1:]
        reads += tuple(Word(one, (one,)) for one in found.values("-f"))
    # `HEAD:.env` shows a file of the past.
    past = [_MAGIC.sub("", one.text.partition(":")[2]) for one in reads if ":" in one.text]
    reads += tuple(Word(one, (one,)) for one in past if one)
    # `git` knows wildcards itself, in quotes too.
    reads = tuple(
        Word(one.source, tuple(_WILD.sub(STAR, text) for text in one.options), one.splits)
        for one in reads
    )
    # A value may be none, and a file instead: `git diff --no-index --abbrev /etc/shadow x`.
    reads += tuple(Word(one, (one,)) for _, one in found.options if "/" in one)
    paths = tuple(
        one
        for one in reads
        if not re.fullmatch(r"[\w./@{}^~-]*\.\.[\w./@{}^~-]*", one.text)
        or one.text.startswith((".", "/"))
    )
    is_deep = found.has("--no-index", "--untracked")
    return Use("reads", reads=paths, is_here=True, is_deep=is_deep, is_past=True)


def _lists(name: str, words: Sequence[Word]) -> bool:
    known, with_names = LISTING[name]
    try:
        found = given(words, known)
    except UnknownOption:
        return False
    if not found.operands or found.has(*with_names.split()):
        return True
    # One name alone is looked up; two would set it.
    return name == "config" and len(found.operands) == 1 and found.operands[0].is_literal


def _connects(name: str, words: Sequence[Word]) -> Use:
    hosts = [with_port(*found.groups()) for word in words if (found := _OVER.match(word.text))]
    forced = any(
        word.text.startswith(("--force", "--delete", "--mirror", "+", ":"))
        or re.fullmatch(r"-[a-z]*[fd][a-z]*", word.text)
        for word in words
    )
    reason = f"'git {name}' needs the network"
    if name == "push":
        forced_words = ", and removes or replaces what is there" if forced else ""
        reason = f"'git push' sends your work to another machine{forced_words}"
    by_key = any(_BY_KEY.match(word.text) for word in words) and name in _PLACES
    if name == "push" or by_key:  # keys and programs that know passwords are out of reach
        return Use("network", reason, is_unbound=True)
    return Use("network", reason, hosts=tuple(hosts) or (ANY_HOST,))


def _changes(name: str, words: Sequence[Word]) -> Use:
    if name == "config" or (name == "remote" and words):
        return Use("privileged", f"'git {name}' changes settings that can run programs")
    if any(
        word.text in {"-x", "--exec", "--run"} or word.text.startswith("--exec=") for word in words
    ):
        return writing(f"'git {name}' runs a program")
    changes = writing(f"'git {name}' changes the repository")
    if name == "archive":
        return msgspec.structs.replace(changes, reads=tuple(words), is_past=True)
    return changes
