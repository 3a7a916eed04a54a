"""What decisions go by right now: settings, answers, trust, and how well commands are held."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from indwell.policy.call_facts import Policy
from indwell.policy.rules import Rules
from indwell.sandbox.finding import own_installation
from indwell.service.folder_trust import FolderTrust
from indwell.settings.model import Settings
from indwell.wiring.bounds.confining import strength


def policy_now(
    settings: Settings,
    granted: frozenset[str],
    trust: FolderTrust,
    roots: Sequence[Path],
    *,
    own: tuple[str, ...],
    readable: tuple[str, ...],
    in_git: tuple[str, ...] = (),
    git_unchecked: tuple[str, ...] = (),
) -> Policy:
    """The policy of this moment.

    Args:
        settings: As they are now.
        granted: Exact rules that the user gave.
        trust: How the folders stand.
        roots: The workspace's folders.
        own: Absolute folders of Indwell itself.
        readable: Those beneath ``own`` that may be read all the same.
        in_git: Protected files in git that the user has not agreed to, in words.
        git_unchecked: What of git's data could not be checked, in words.
    """
    return Policy(
        mode=settings.mode,
        deny=settings.deny,
        granted=granted,
        rules=rules_of(settings),
        own=own,
        readable=readable,
        roots=tuple(map(str, trust.trusted(roots))),
        restricted=trust.restricted(roots),
        obeyed=(*trust.obeyed(roots), *map(str, own_installation(roots))),
        writes_confined=strength().level in {"S3", "S3m"},
        sandbox=strength().words,
        asks_for_all=strength().level == "S0",
        harmless=settings.harmless_names,
        repository_roots=trust.repository_roots(roots),
        in_git=in_git,
        git_unchecked=git_unchecked,
    )


def rules_of(settings: Settings) -> Rules:
    """The rules that the settings hold."""
    return Rules(settings.rules_allow, settings.rules_ask, settings.rules_deny)
