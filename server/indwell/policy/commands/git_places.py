"""In which folders ``git`` would run, and whether the user knows and trusts what lies there."""

from __future__ import annotations

from collections.abc import Sequence

from indwell.policy.commands.finding import Finding, ask
from indwell.policy.commands.folders import joined
from indwell.policy.commands.situation import Situation
from indwell.policy.commands.words import Word
from indwell.policy.commands.wrappers import base_name
from indwell.policy.paths import is_beneath

_MOST = 16


def elsewhere(
    words: Sequence[Word], folders: tuple[str, ...], situation: Situation
) -> Finding | None:
    """What ``git`` asks for where it would obey the settings of a repository that is not known.

    Args:
        words: A command's.
        folders: Where it runs.
        situation: What is trusted, and what nobody was asked about.
    """
    if not (situation.repositories or situation.restricted):
        return None
    if base_name(words[0]).lower() not in {"git", "git.exe"}:
        return None
    places = _folders(words, folders)
    paths = [joined(situation.cwd, place) for place in places]
    if any(is_beneath(path, situation.restricted) for path in paths):
        return Finding("deny", "restricted folder", "git would run in a folder that is not trusted")
    others = situation.repositories if not situation.writes_confined else ()
    others += situation.restricted
    if others and (not places or any(is_beneath(path, others) for path in paths)):
        reason = "git would obey the settings of a repository that nobody was asked about"
        return ask("repository", reason)
    return None


def _folders(words: Sequence[Word], folders: tuple[str, ...]) -> tuple[str, ...]:
    """Where it would look for its repository; empty if only a run can tell."""
    found = folders
    at = 1
    while at < len(words) and words[at].could_be_option:
        text = words[at].text
        name, equals, value = text.partition("=")
        is_folder = name in {"-C", "--git-dir", "--work-tree"}
        if not words[at].is_literal:
            return ()
        if is_folder and not equals:
            at += 1
            if at >= len(words) or not words[at].is_known or words[at].splits:
                return ()
            value = words[at].text
        elif text == "-c":
            at += 1
        if is_folder:
            here = tuple(joined(folder, value) for folder in found)
            found = here if name == "-C" else (*found, *here)
        at += 1
    return found[:_MOST]
