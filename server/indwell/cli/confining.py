"""From settings and a widening to the bounds of a command."""

from __future__ import annotations

import functools
import os
import weakref
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from indwell.cli.guarding import Guard
from indwell.files.removing import remove_own_tree
from indwell.files.scratch import NOWHERE, scratch_folder
from indwell.policy.widening import Widening
from indwell.sandbox.confinement import Confinement, Guarded
from indwell.sandbox.strength import strength
from indwell.settings.model import Settings

__all__ = ["confiner", "strength"]

HOME_SECRETS = (
    *(".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".password-store", ".pki"),
    *(".config/gh", ".config/glab-cli", ".config/hub", ".config/gcloud", ".config/op"),
    *(".config/rclone", ".config/git/credentials", ".config/google-chrome", ".config/chromium"),
    *(".config/Code/User/globalStorage", ".config/github-copilot", ".config/sops"),
    *(".mozilla", ".thunderbird", ".local/share/keyrings", ".claude", ".codex", ".gemini"),
    *(".netrc", ".git-credentials", ".npmrc", ".pypirc", ".pgpass", ".my.cnf", ".vault-token"),
    *(".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".terraform.d"),
    *(".bash_history", ".zsh_history", ".python_history", ".psql_history", ".claude.json"),
)
"""Of the home folder: keys, tokens, and what the user typed; only what is there costs anything."""

SYSTEM_SECRETS = ("/etc/shadow", "/etc/gshadow", "/etc/ssl/private")
"""That root can read."""

_NOT_WRITABLE = ("/etc", "/usr", "/bin", "/sbin", "/lib", "/lib64", "/boot", "/var", "/opt", "/srv")


def confiner(
    roots: tuple[Path, ...],
    settings: Callable[[], Settings],
    *,
    own: Sequence[str] = (),
    home: Path | None = None,
) -> Callable[[Widening], Confinement | None]:
    """What gives each command of a session its bounds; None is none at all.

    Args:
        roots: The workspace's folders, resolved.
        settings: Those of now.
        own: Folders of Indwell itself, which no widening shows.
        home: The user's folder, if it is not that of the system.
    """
    return _Bounds(roots, settings, tuple(own), home or Path.home()).of


class _Bounds:
    def __init__(
        self,
        roots: tuple[Path, ...],
        settings: Callable[[], Settings],
        own: tuple[str, ...],
        home: Path,
    ) -> None:
        self._roots = tuple(root.resolve() for root in roots)
        self._settings = settings
        self._own = own
        self._home = home.resolve()
        self._guards: dict[tuple[Path, tuple[str, ...]], Guard] = {}

    def of(self, widening: Widening) -> Confinement | None:
        """The bounds of one command; says nothing of the disk yet."""
        if widening.unconfined or strength().level in {"S1", "S0"}:
            return None
        settings = self._settings()
        deny = () if widening.shows_secrets else settings.deny
        only_reads = settings.mode == "plan" or widening.reads_only
        writable = () if only_reads else tuple(filter(self._may_be_written, self._roots))
        return Confinement(
            writable=tuple(map(str, writable)),
            readable=tuple(map(str, self._roots)),
            hidden=(*self._own, *(() if widening.shows_secrets else self._secrets)),
            hosts=widening.hosts,
            look=lambda: self._look(deny, writable),
        )

    def _may_be_written(self, root: Path) -> bool:
        """A home folder, or one above it, holds what runs by itself: too much for a command."""
        return not self._home.is_relative_to(root) and str(root) not in _NOT_WRITABLE

    @functools.cached_property
    def _secrets(self) -> tuple[str, ...]:
        system = SYSTEM_SECRETS if hasattr(os, "geteuid") and os.geteuid() == 0 else ()
        return (*(str(self._home / name) for name in HOME_SECRETS), *system)

    def _look(self, deny: tuple[str, ...], writable: Collection[Path]) -> Guarded:
        guards = [self._guard(root, deny) for root in self._roots]
        looks = [guard.look() for guard in guards]
        open_ones = [one for root, one in zip(self._roots, looks, strict=True) if root in writable]
        return Guarded(
            scratch=self._scratch,
            protected=tuple(path for one in open_ones for path in one.protected),
            missing=tuple(path for one in open_ones for path in one.missing),
            hidden=tuple(path for one in looks for path in one.hidden),
            settle=lambda: tuple(note for one in open_ones for note in one.settle()),
        )

    @functools.cached_property
    def _scratch(self) -> str:
        """What the session's commands find at /tmp; it goes when the session does."""
        folder = scratch_folder()
        if folder == NOWHERE:
            return ""
        weakref.finalize(self, remove_own_tree, folder)
        return str(folder.resolve())

    def _guard(self, root: Path, deny: tuple[str, ...]) -> Guard:
        return self._guards.setdefault((root, deny), Guard(root, deny))
