"""The effects of ``git`` commands: reading, changing the workspace, losing work, the network.

Commands that check out another state of files need a question. The sandbox keeps protected files
unchanged without a message from git, so the next commit would undo others' work.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import msgspec

from indwell.lazy_pattern import lazy_pattern
from indwell.policy.commands.programs import LISTS, TABLES
from indwell.policy.commands.verdict import Use, with_port, writing
from indwell.policy.rules import ANY_HOST
from indwell.policy.shell.items import Options, UnknownOption, given
from indwell.policy.shell.words import STAR, Word

_CHANGES = LISTS["git changes"]
_NETWORK = LISTS["git network"]
_OVER = lazy_pattern(r"(https?)://(?:[^/@\s]*@)?([\w.-]+(?::\d+)?)(?:[/?#]|$)")
_BY_KEY = lazy_pattern(r"(?:git\+)?ssh://|(?!\w+://)(?:[\w.-]+@[\w.-]+|[\w-]+\.[\w.-]+):(?!//)")
"""Matches addresses that need a key: ``ssh://host/x``, ``git@host:x``, ``host.name:x``."""
_LOOKS: Mapping[str, Options] = {
    **dict.fromkeys(
        [
            *("log", "show", "diff", "whatchanged", "diff-tree", "diff-index", "diff-files"),
            *("rev-list", "shortlog"),
        ],
        TABLES.git_log,
    ),
    **TABLES.git_looks,
}
_PLACES = frozenset(["fetch", "pull", "clone", "ls-remote"])
_MAGIC = lazy_pattern(r"\([\w,:=]*\)|^[/!^]+")
"""Matches git's prefixes of a path: ``:(glob)``, ``:/``, ``:!``."""
_WILD = lazy_pattern(r"\*+|\?|\[[^\]]*\]")
_GLOBAL_ALONE = frozenset(["--no-pager", "--no-optional-locks", "--literal-pathspecs", "-P"])


def git(words: Sequence[Word]) -> Use:
    """Return the effect of a ``git`` command."""
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
        return Use("unknown", "'git' with a command that is known only at run time")
    used = _by_name(name, words[at + 1 :])
    if not reads:
        return used
    # Another folder may belong to another repository, whose settings can run programs.
    is_work = used.is_work or used.kind == "network"
    return msgspec.structs.replace(used, reads=(*reads, *used.reads), is_work=is_work)


def _configured(words: Sequence[Word], at: int) -> Use:
    """Return the effect of a git command with ``-c`` settings, which may name programs."""
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
    """Return the effect of a command that only reads, or None if the command may do more."""
    second = words[0].text if words and words[0].is_literal else ""
    if len(words) == 1 and words[0].source in {"--help", "-h"} and name in _CHANGES | _NETWORK:
        return Use("reads")
    if name == "help" and all(re.fullmatch(r"\w[\w-]*", word.source) for word in words):
        return Use("reads")
    if name in _LOOKS:
        return _looks(name, words, _LOOKS[name])
    if name == "reflog" and (not words or second not in {"expire", "delete", "drop", "write"}):
        return _looks(name, words[second in TABLES.git_second["reflog"] :], TABLES.git_log)
    if second in TABLES.git_second.get(name, ()):
        return _looks(
            name,
            words[1:],
            TABLES.git_log if name in {"stash", "notes"} else TABLES.git_listing["config"],
        )
    if name in TABLES.git_listing and _lists(name, words):
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
        return writing(f"'git {name}' with words that are known only at run time")
    reads = found.operands
    if name == "grep":
        reads = reads if found.has("-e", "-f") else reads[1:]
        reads += tuple(Word(one, (one,)) for one in found.values("-f"))
    # With `git show HEAD:.env`, git prints an old version of a file.
    past = [_MAGIC.sub("", one.text.partition(":")[2]) for one in reads if ":" in one.text]
    reads += tuple(Word(one, (one,)) for one in past if one)
    # `git` expands wildcards itself, even in quotes.
    reads = tuple(
        Word(one.source, tuple(_WILD.sub(STAR, text) for text in one.options), one.splits)
        for one in reads
    )
    # A word that looks like a value may be a file: `git diff --no-index --abbrev /etc/shadow x`.
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
    known = TABLES.git_listing[name]
    try:
        found = given(words, known)
    except UnknownOption:
        return False
    if not found.operands or found.has(*known.with_names):
        return True
    # With one name, git reads the setting; with two, it sets the value.
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
        forced_words = ", and removes or replaces commits there" if forced else ""
        reason = f"'git push' sends your work to another machine{forced_words}"
    by_key = any(_BY_KEY.match(word.text) for word in words) and name in _PLACES
    if name == "push" or by_key:  # No sandbox offers keys and password programs.
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


_ALWAYS = LISTS["git takes up"]
# These are the options `--hard`, `--merge` and `--keep` of `git reset`, also abbreviated.
_HARD = ("--h", "--me", "--k")


def takes_up(name: str, words: Sequence[Word]) -> bool:
    """Return whether a command checks out another state of the files.

    Args:
        name: The command, such as ``switch``.
        words: The words after the command.
    """
    texts = [word.text for word in words]
    flags = [text for text in texts if text.startswith("-")]
    if name in _ALWAYS:
        return True
    if name in TABLES.git_takes_up_unless:
        return not texts or texts[0] not in TABLES.git_takes_up_unless[name]
    match name:
        case "switch" | "checkout":
            return not _only_names(texts, flags, "cC" if name == "switch" else "bB")
        case "restore":
            return not _has_option(flags, "S", "--st") or _has_option(flags, "W", "--w")
        case "reset":
            return any(flag.startswith(_HARD) for flag in flags)
        case "apply":
            looks = ("--check", "--stat", "--numstat", "--summary", "--cached")
            return not any(flag in looks for flag in flags) or "--apply" in flags
        case "clean":
            return not _has_option(flags, "n", "--dry")
        case "rm":
            return not _has_option(flags, "n", "--cached", "--dry")
    return False


def _only_names(texts: Sequence[str], flags: Sequence[str], letters: str) -> bool:
    """Return whether the command creates a branch without switching to another commit."""
    return len(texts) == 2 and any(flags[:1] == [f"-{letter}"] for letter in letters)  # noqa: PLR2004 - `-b NAME`


def _has_option(flags: Sequence[str], letter: str, *beginnings: str) -> bool:
    return any(
        flag.startswith(beginnings) if flag.startswith("--") else letter in flag for flag in flags
    )


def destroys(name: str, words: Sequence[Word]) -> str:
    """Describe the user's work that a command may discard, or return an empty text."""
    texts = [word.text for word in words]
    flags = [text for text in texts if text.startswith("-")]
    second = texts[0] if texts else ""
    if not all(word.is_literal or not word.could_be_option for word in words):
        return "" if name in {"commit", "add"} else "may discard work: its words are not known"
    match name:
        case "reset":
            soft = {"--soft", "--mixed", "-q", "--quiet", "--", "-N"}
            is_soft = bool(texts) and all(one in soft for one in flags)
            return "" if is_soft else "discards your changes ('git reset')"
        case "clean":
            return "" if _has(flags, "n", "--dry-run") else "removes files ('git clean')"
        case "rm":
            return "removes files ('git rm')"
        case "restore":
            only_staged = _has(flags, "S", "--staged") and not _has(flags, "W", "--worktree")
            return "" if only_staged else "discards your changes ('git restore')"
        case "switch":
            forced = _has(flags, "fC", "--fo", "--di")
            return "discards your changes ('git switch')" if forced else ""
        case "checkout":
            return _checks_out(texts, flags)
    return _by_flag(name, second, flags)


def _by_flag(name: str, second: str, flags: Sequence[str]) -> str:
    """Describe the work that a command discards because of one word or option."""
    match name:
        case "stash" if second in {"drop", "clear"}:
            return f"throws stashed work away ('git stash {second}')"
        case "stash" if second not in {"pop", "apply", "branch", "create", "store"}:
            return "moves your changes out of the files ('git stash')"
        case "branch" if _has(flags, "d", "--de") and not _has(flags, "DfMC", "--fo"):
            return ""  # Git itself refuses to delete work that exists nowhere else.
        case "branch" | "tag" if _has(flags, "dDfMC", "--de", "--fo"):
            return f"removes or moves names ('git {name}')"
        case "worktree" if second in {"remove", "prune", "move"}:
            return f"removes a folder ('git worktree {second}')"
        case "gc" if not _has(flags, "", "--prune"):
            return ""
        case "reflog" | "gc" | "prune" | "filter-branch" | "filter-repo" | "replace":
            return f"may remove data that could still be recovered ('git {name}')"
        case "update-ref" | "symbolic-ref" | "read-tree" | "checkout-index":
            return f"moves names or files without notice ('git {name}')"
        case "rebase" | "merge" | "cherry-pick" | "am" | "revert" if "--abort" in flags:
            return f"throws work in progress away ('git {name} --abort')"
    return ""


def _checks_out(texts: Sequence[str], flags: Sequence[str]) -> str:
    names = [text for text in texts if not text.startswith("-")]
    if _has(flags, "b") and not _has(flags, "fB"):
        return ""
    if "--" in texts or _has(flags, "fBp", "--fo") or len(names) != 1:
        return "may discard your changes ('git checkout')"
    if names[0] in {".", "*"} or "/" in names[0][-1:] or re.search(r"[\0\1\2]|^\.|:", names[0]):
        return "may discard your changes ('git checkout')"
    # One name may be a branch or a file; git itself protects only branches.
    return "may discard your changes ('git checkout'; 'git switch' does not)"


def _has(flags: Sequence[str], letters: str, *beginnings: str) -> bool:
    """Return whether git gets an option by letter, or by a name that begins as one of these."""
    return any(
        flag.startswith(beginnings or ("\0",))
        if flag.startswith("--")
        else any(letter in flag[1:] for letter in letters)
        for flag in flags
    )
