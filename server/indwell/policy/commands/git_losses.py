"""Which commands of ``git`` may throw work of the user's away."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from indwell.policy.commands.words import Word


def destroys(name: str, words: Sequence[Word]) -> str:
    """Work of the user's that a command may throw away, in words; empty if it does not."""
    texts = [word.text for word in words]
    flags = [text for text in texts if text.startswith("-")]
    second = texts[0] if texts else ""
    if not all(word.is_literal or not word.could_be_option for word in words):
        return "" if name in {"commit", "add"} else "may throw work away: its words are not known"
    judged = _JUDGED.get(name)
    return judged(texts, flags) if judged else _by_flag(name, second, flags)


def _by_flag(name: str, second: str, flags: Sequence[str]) -> str:
    """Commands that lose something with one word or option."""
    match name:
        case "stash" if second in {"drop", "clear"}:
            return f"throws stashed work away ('git stash {second}')"
        case "stash" if second not in {"pop", "apply", "branch", "create", "store"}:
            return "takes changes of yours out of sight ('git stash')"
        case "branch" if _has(flags, "d", "--de") and not _has(flags, "DfMC", "--fo"):
            return ""  # git keeps one whose work is nowhere else
        case "branch" | "tag" if _has(flags, "dDfMC", "--de", "--fo"):
            return f"removes or moves names ('git {name}')"
        case "worktree" if second in {"remove", "prune", "move"}:
            return f"removes a folder ('git worktree {second}')"
        case "gc" if not _has(flags, "", "--prune"):
            return ""
        case "reflog" | "gc" | "prune" | "filter-branch" | "filter-repo" | "replace":
            return f"may remove what could still be recovered ('git {name}')"
        case "update-ref" | "symbolic-ref" | "read-tree" | "checkout-index":
            return f"moves names or files behind your back ('git {name}')"
        case "rebase" | "merge" | "cherry-pick" | "am" | "revert" if "--abort" in flags:
            return f"throws work in progress away ('git {name} --abort')"
    return ""


def _resets(texts: Sequence[str], flags: Sequence[str]) -> str:
    soft = {"--soft", "--mixed", "-q", "--quiet", "--", "-N"}
    is_soft = bool(texts) and all(one in soft for one in flags)
    return "" if is_soft else "throws changes of yours away ('git reset')"


def _cleans(texts: Sequence[str], flags: Sequence[str]) -> str:
    del texts
    return "" if _has(flags, "n", "--dry-run") else "removes files ('git clean')"


def _removes(texts: Sequence[str], flags: Sequence[str]) -> str:
    del texts, flags
    return "removes files ('git rm')"


def _restores(texts: Sequence[str], flags: Sequence[str]) -> str:
    del texts
    only_staged = _has(flags, "S", "--staged") and not _has(flags, "W", "--worktree")
    return "" if only_staged else "throws changes of yours away ('git restore')"


def _switches(texts: Sequence[str], flags: Sequence[str]) -> str:
    del texts
    forced = _has(flags, "fC", "--fo", "--di")
    return "throws changes of yours away ('git switch')" if forced else ""


def _checks_out(texts: Sequence[str], flags: Sequence[str]) -> str:
    names = [text for text in texts if not text.startswith("-")]
    if _has(flags, "b") and not _has(flags, "fB"):
        return ""
    if "--" in texts or _has(flags, "fBp", "--fo") or len(names) != 1:
        return "may throw changes of yours away ('git checkout')"
    if names[0] in {".", "*"} or "/" in names[0][-1:] or re.search(r"[\0\1\2]|^\.|:", names[0]):
        return "may throw changes of yours away ('git checkout')"
    # One name may be a branch or a file; only a branch is kept safe by git itself.
    return "may throw changes of yours away ('git checkout'; 'git switch' does not)"


def _has(flags: Sequence[str], letters: str, *beginnings: str) -> bool:
    """Is one of these letters given, or a name with one of these beginnings?"""
    return any(
        flag.startswith(beginnings or ("\0",))
        if flag.startswith("--")
        else any(letter in flag[1:] for letter in letters)
        for flag in flags
    )


_JUDGED: Mapping[str, Callable[[Sequence[str], Sequence[str]], str]] = {
    "reset": _resets,
    "clean": _cleans,
    "rm": _removes,
    "restore": _restores,
    "checkout": _checks_out,
    "switch": _switches,
}
