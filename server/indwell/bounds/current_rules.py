"""Takes snapshots of the permission rules, computed from all their sources.

The sources are settings, the user's answers, folder trust, unreviewed changes of git's data, and
this machine's sandbox.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgspec

from indwell.bounds.command_bounds import BoundsNow, policy_under
from indwell.bounds.folder_trust import FolderTrust
from indwell.bounds.git.entries import GitEntries
from indwell.bounds.git.known_state import GitEntry
from indwell.bounds.home_view import homes, is_private
from indwell.bounds.rules import ReadableFolders, Rules, TrustNow, lies_in_no_home
from indwell.bounds.secrets import SecretPlaces
from indwell.files.spelling import slashed
from indwell.policy.call_facts import Policy
from indwell.policy.paths import is_beneath, matches_any
from indwell.policy.rules import PatternRules
from indwell.sandbox.confine.strength import strength
from indwell.sandbox.confinement import Strength
from indwell.settings.model import Settings
from indwell.settings.permission_rules import RuleBook
from indwell.workspace.base import Workspace


class _Sources(msgspec.Struct, frozen=True):
    """The values of all sources of the rules; equal values give the same rules."""

    settings: Settings
    roots: tuple[Path, ...]
    granted: frozenset[str]
    trust: TrustNow
    waiting: tuple[GitEntry, ...]
    readable: tuple[Path, ...]
    strength: Strength


class CurrentRules:
    """Takes snapshots of a session's rules, and computes only what has changed.

    Args:
        workspace: The workspace, with its folders.
        settings: Returns the current settings.
        granted: The permissions that the user has stored permanently.
        trust: The trust in the folders.
        git: Knows the changes of git's data that the user has not reviewed.
        bounds: The bounds of commands.
        secret: The secret files.
        own: The absolute paths of Indwell's data folders.
        readable: The folders outside the workspace that may be read.
    """

    def __init__(
        self,
        workspace: Workspace,
        settings: Callable[[], Settings],
        *,
        granted: RuleBook,
        trust: FolderTrust,
        git: GitEntries,
        bounds: BoundsNow,
        secret: SecretPlaces,
        own: tuple[str, ...],
        readable: ReadableFolders,
    ) -> None:
        self._workspace = workspace
        self._settings = settings
        self._granted = granted
        self._trust = trust
        self._git = git
        self._bounds = bounds
        self._secret = secret
        self._own = own
        self._readable = readable
        self._homes = [one for one in homes() if any(map(one.is_relative_to, workspace.roots))]
        self._last: tuple[_Sources, Rules] | None = None

    def __call__(self) -> Rules:
        """Return the rules as they are now."""
        roots = self._workspace.roots
        now = _Sources(
            self._settings(),
            roots,
            self._granted.granted,
            self._trust.now(roots),
            self._git.waiting,
            (*self._readable.own, *self._readable.opened),
            strength(),
        )
        if self._last is None or self._last[0] != now:
            self._last = now, self._rules(now)
        return self._last[1]

    def _rules(self, now: _Sources) -> Rules:
        settings, roots, root = now.settings, now.roots, now.roots[0]
        is_of_home: Callable[[Path], bool] = lies_in_no_home
        if self._homes:
            is_of_home = partial(is_private, roots=roots, homes=self._homes)
        return Rules(
            self._policy(now),
            hidden=lambda path: (
                matches_any(path, settings.deny)
                or is_of_home(root / path)
                or (
                    is_beneath(str(root / path), self._own)
                    and not self._readable.is_opened(root / path)
                )
                or self._secret.is_other_name(root / path)
            ),
            confine=self._bounds.snapshot(settings, roots),
            is_private=is_of_home,
            secret_files=self._secret.look,
            repositories=self._secret.repositories,
            confirm=settings.confirm_edits,
        )

    def _policy(self, now: _Sources) -> Policy:
        settings, trust = now.settings, now.trust
        policy = Policy(
            mode=settings.mode,
            deny=settings.deny,
            granted=now.granted,
            rules=rules_of(settings),
            own=self._own,
            readable=tuple(map(str, now.readable)),
            roots=tuple(one.as_posix() for one in trust.trusted),
            restricted=tuple(map(slashed, trust.restricted)),
            obeyed=tuple(map(slashed, trust.obeyed)),
            harmless=settings.harmless_names,
            repository_roots=tuple(map(slashed, trust.repository_roots)),
            unknown_git=tuple(map(slashed, trust.unknown_git)),
            in_git=self._git.in_git,
            git_unchecked=self._git.unchecked,
            web_hosts=settings.web_hosts,
        )
        return policy_under(policy, now.strength)


def rules_of(settings: Settings) -> PatternRules:
    """Return the permission rules in the settings."""
    return PatternRules(settings.rules_allow, settings.rules_ask, settings.rules_deny)
