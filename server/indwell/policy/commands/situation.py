"""Where and under which rules a command would run."""

from __future__ import annotations

import msgspec

from indwell.policy.rules import Rules


class Situation(msgspec.Struct, frozen=True):
    """Where and under which rules a command would run.

    Attributes:
        rules: The user's.
        writes_confined: A sandbox keeps it in the workspace, so that builds and tests may run.
        reads_only: Nothing may be changed: the mode is ``plan``. With ``writes_confined`` the
            sandbox sees to it, so that builds and tests may run all the same.
        cwd: Where it runs, absolute; empty if that is not known.
        roots: The workspace's folders, absolute.
        secrets: Globs of files whose contents the user keeps to themselves.
        secret_files: Such files that are known to exist, absolute: without a sandbox, searching a
            folder that holds one is asked for.
        obeyed: Files and folders that git is told to run or obey, absolute: protected as well.
        repositories: Folders with settings of git that nobody was asked about, absolute: without a
            sandbox, git may not even look there unasked.
        restricted: Folders that the user does not trust, absolute: git does not run there.
        harmless: Unknown dot names that the user declares harmless.
        repository_roots: Folders of the workspace's repositories, absolute.
    """

    rules: Rules = Rules()
    writes_confined: bool = False
    reads_only: bool = False
    cwd: str = ""
    roots: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    secret_files: tuple[str, ...] = ()
    obeyed: tuple[str, ...] = ()
    repositories: tuple[str, ...] = ()
    restricted: tuple[str, ...] = ()
    harmless: tuple[str, ...] = ()
    repository_roots: tuple[str, ...] = ()
