"""What one call may do beyond the sandbox's default. The model can only ask for it."""

from __future__ import annotations

import msgspec

ANY_HOST = "*"


class Widening(msgspec.Struct, frozen=True):
    """More than a sandboxed command has by itself; for one call.

    Attributes:
        hosts: Names it may reach through the proxy, such as ``github.com``; ``ANY_HOST`` for all.
            Empty is no network (SBX-20).
        shows_secrets: It may read the files that are otherwise hidden from commands.
        writes_protected: It may change protected files of the workspace (``package.json`` …), as
            git does when it takes another state up; never what git itself obeys (its configuration
            and hooks).
        installs: It may change the programs that package managers install into the workspace
            (`.venv/bin`, `node_modules/.bin`), as `pip install` does.
        unconfined: It runs without any sandbox, with all that the user can do.
        reads_only: Less instead: nobody was asked, as it only reads, so it may write nowhere.
        keeps_git: Less instead: nobody was asked, and it runs no git, so it may change no `.git`.
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
        """In words for people, such as ``with network to github.com``; empty for nothing more."""
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
