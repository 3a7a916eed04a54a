"""Which commands of ``git`` take another state of the files up, and so replace any of them.

Protected files cannot be written in the sandbox: git would leave them as they were and say nothing,
and the next commit would take back what others have done.
"""

from __future__ import annotations

from collections.abc import Sequence

from indwell.policy.commands.flags import names
from indwell.policy.commands.words import Word

_ALWAYS = names(
    "rebase merge cherry-pick revert am pull read-tree checkout-index sparse-checkout"
    " filter-branch filter-repo mergetool"
)
_UNLESS_SECOND = {
    "stash": names("list show drop clear create store"),
    "bisect": names("log view visualize terms"),
    "worktree": names("list prune lock unlock repair"),
    "submodule": names("status summary foreach sync init"),
}
_HARD = ("--h", "--me", "--k")  # of `git reset`: `--hard`, `--merge`, `--keep`, also cut short


def takes_up(name: str, words: Sequence[Word]) -> bool:
    """Does a command take another state of the files up?

    Args:
        name: The command, such as ``switch``.
        words: Those behind it.
    """
    texts = [word.text for word in words]
    flags = [text for text in texts if text.startswith("-")]
    if name in _ALWAYS:
        return True
    if name in _UNLESS_SECOND:
        return not texts or texts[0] not in _UNLESS_SECOND[name]
    match name:
        case "switch" | "checkout":
            return not _only_names(texts, flags, "cC" if name == "switch" else "bB")
        case "restore":
            return not _has(flags, "S", "--st") or _has(flags, "W", "--w")
        case "reset":
            return any(flag.startswith(_HARD) for flag in flags)
        case "apply":
            looks = ("--check", "--stat", "--numstat", "--summary", "--cached")
            return not any(flag in looks for flag in flags) or "--apply" in flags
        case "clean":
            return not _has(flags, "n", "--dry")
        case "rm":
            return not _has(flags, "n", "--cached", "--dry")
    return False


def _only_names(texts: Sequence[str], flags: Sequence[str], letters: str) -> bool:
    """Does it make a branch where it stands, without going elsewhere?"""
    return len(texts) == 2 and any(flags[:1] == [f"-{letter}"] for letter in letters)  # noqa: PLR2004 - `-b NAME`


def _has(flags: Sequence[str], letter: str, *beginnings: str) -> bool:
    return any(
        flag.startswith(beginnings) if flag.startswith("--") else letter in flag for flag in flags
    )
