"""The access one call has beyond the sandbox's default; the model can only request it."""

from __future__ import annotations

import msgspec

ANY_HOST = "*"


class Widening(msgspec.Struct, frozen=True):
    """Access beyond the sandbox's default (or less than it), for one call.

    Attributes:
        hosts: Hosts the command may reach through the proxy, such as ``github.com``; ``ANY_HOST``
            for all. Empty means no network (SBX-20).
        shows_secrets: The command may read files that the sandbox otherwise hides.
        writes_protected: The command may change protected workspace files (``package.json`` …),
            as a git checkout does; never git's own configuration and hooks.
        installs: The command may change programs that package managers install into the workspace
            (`.venv/bin`, `node_modules/.bin`), as `pip install` does.
        unconfined: The command runs outside the sandbox, with all of the user's rights.
        reads_only: A restriction: the command was allowed unasked, so it may write nowhere.
        keeps_git: A restriction: the command was allowed unasked and runs no git, so it may not
            change `.git`.
    """

    hosts: tuple[str, ...] = ()
    shows_secrets: bool = False
    writes_protected: bool = False
    unconfined: bool = False
    reads_only: bool = False
    keeps_git: bool = False
    installs: bool = False

    @property
    def words(self) -> str:
        """The extra access in words, such as ``with network to github.com``; empty for none."""
        if self.unconfined:
            return "outside the sandbox"
        hosts = "any host" if ANY_HOST in self.hosts else ", ".join(self.hosts)
        parts = [f"with network to {hosts}"] if hosts else []
        if self.shows_secrets:
            parts.append("with your secret files readable")
        if self.writes_protected:
            parts.append("with protected files of the workspace writable")
        if self.installs:
            parts.append("with the workspace's installed programs writable")
        return " and ".join(parts)


NOTHING_MORE = Widening()
