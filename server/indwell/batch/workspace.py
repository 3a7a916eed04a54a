"""Makes the private workspace of one attempt, and reads the patch of its changes.

    <attempt>/tree     the files in which the agent works
    <attempt>/state    Indwell's state of the attempt, with the session's log
    <attempt>/trees    a repository of Indwell's own, which holds the files before and after

No command may write into Indwell's own repository, so no repository can change its patch. Git runs
without hooks and without the user's configuration, except to fetch from an address.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from indwell.batch.plan import BatchTask
from indwell.batch.records import MOST_FILE_B, PatchFacts
from indwell.errors import ToolError
from indwell.files.append_log import make_private_folder
from indwell.files.private import read_own
from indwell.files.system.folder_copies import ARCHIVES, copy_folder, unpack
from indwell.sandbox import find_program, run_program

LOCAL_S, FETCH_S = 300.0, 1_800.0
_OUTPUT_B = 16 << 20
_ALONE: Mapping[str, str] = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_ALLOW_PROTOCOL": "file",
    "GIT_NO_REPLACE_OBJECTS": "1",
}
_SAFE = (
    *("-c", f"core.hooksPath={os.devnull}", "-c", "core.fsmonitor=false"),
    *("-c", "core.quotePath=false", "-c", "gc.auto=0", "-c", "maintenance.auto=false"),
)
_NESTED = b"160000 "
"""The beginning of git's row about a nested repository or a submodule."""
_FOR_FETCHING = (
    *("SSH_AUTH_SOCK", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"),
    *("NO_PROXY", "no_proxy"),
)


class Unfetched(ToolError):
    """The address did not answer, or refused; another attempt may succeed."""


class AttemptPlace(msgspec.Struct, frozen=True):
    """The folder of an attempt."""

    folder: Path

    @property
    def tree(self) -> Path:
        """The files in which the agent works."""
        return self.folder / "tree"

    @property
    def state(self) -> Path:
        """The state folder of the attempt's own."""
        return self.folder / "state"

    @property
    def trees(self) -> Path:
        """The repository that holds the files before and after."""
        return self.folder / "trees"


async def prepare(task: BatchTask, place: AttemptPlace, environment: Mapping[str, str]) -> str:
    """Put the task's files into the workspace; return their commit, or an empty text without git.

    Args:
        task: The task, whose repository may be a folder, an archive or an address.
        place: The folder of the attempt, which exists and is empty.
        environment: All variables of the process, for the agent of ssh and the proxies.

    Raises:
        Unfetched: The address could not be fetched.
        ToolError: The repository or the revision does not exist.
        OSError: The files cannot be written.
    """
    await asyncio.to_thread(make_private_folder, place.state)
    if task.is_address:
        await _clone(
            task, place, {name: environment[name] for name in _FOR_FETCHING if name in environment}
        )
        return await _checked_out(task, place)
    if await asyncio.to_thread(_copied, task, place.tree):
        return ""
    await _clone(task, place, None)
    return await _checked_out(task, place)


def _copied(task: BatchTask, tree: Path) -> bool:
    """Unpack or copy the task's files, unless the repository is one of git; blocks.

    Raises:
        ToolError: The repository does not exist, or has no revisions.
    """
    source = Path(task.repository)
    is_archive = source.name.endswith(ARCHIVES) and source.is_file()
    if not is_archive and not source.is_dir():
        kinds = ", ".join(ARCHIVES)
        raise ToolError(f"{task.repository!r} is neither a folder nor an archive ({kinds})")
    if not is_archive and ((source / ".git").exists() or (source / "HEAD").is_file()):
        return False
    if task.revision:
        raise ToolError(f"{task.repository!r} is no git repository, so it has no revisions")
    (unpack if is_archive else copy_folder)(source, tree)
    return True


async def snapshot(place: AttemptPlace) -> str:
    """Store the files of the workspace, except ignored ones; return the name of git's tree.

    A nested repository keeps the commit that it had in the first snapshot.

    Raises:
        ToolError: Git failed.
    """
    if not place.trees.exists():
        await _git(place, "init", "--bare", "--quiet", "--template=", "--", str(place.trees))
    around = (f"--git-dir={place.trees}", f"--work-tree={place.tree}")
    # ``git add`` would run ``git status`` in a repository that it added before, and ``git status``
    # runs the programs of that repository's configuration, without a sandbox.
    rows = (await _git(place, *around, "ls-files", "--stage", "-z")).split(b"\0")
    nested = [row.partition(b"\t")[2] for row in rows if row.startswith(_NESTED)]
    left_out = [f":(exclude,top,literal){os.fsdecode(name)}" for name in nested]
    words = ("-c", "core.autocrlf=false", "add", "--all", "--", ".", *left_out)
    await _git(place, *around, *words)
    return (await _git(place, *around, "write-tree")).decode().strip()


async def patch_between(place: AttemptPlace, before: str, after: str) -> tuple[bytes, PatchFacts]:
    """Return the patch between two snapshots, which ``git apply`` accepts, and its facts.

    Raises:
        ToolError: Git failed, or the patch is too large.
    """
    if before == after:
        return b"", PatchFacts()
    inside = (f"--git-dir={place.trees}", "diff", "--no-ext-diff", "--no-textconv", "--no-renames")
    rows = await _git(place, *inside, "--numstat", "-z", before, after)
    file = place.folder / "patch.diff"
    await _git(place, *inside, "--no-color", "--binary", f"--output={file}", before, after)
    patch = await asyncio.to_thread(read_own, file, MOST_FILE_B)
    files, added, removed = [], 0, 0
    for row in rows.decode("utf-8", "replace").split("\0"):
        more, _, rest = row.partition("\t")
        less, _, name = rest.partition("\t")
        if name:
            files.append(name)
            added += int(more) if more.isdecimal() else 0  # A binary file has a hyphen here.
            removed += int(less) if less.isdecimal() else 0
    return patch, PatchFacts(tuple(files), added, removed, len(patch))


async def _clone(task: BatchTask, place: AttemptPlace, fetching: Mapping[str, str] | None) -> None:
    """Copy a repository without its files; ``fetching`` has the variables for a remote one."""
    words = (*_SAFE, "clone", "--quiet", "--no-checkout", "--no-hardlinks", "--template=")
    env = dict(_ALONE)
    if fetching is not None:
        # The user's configuration names the credential helper. No files are written at this point,
        # so the filters of the configuration do not run.
        env = {
            "GIT_ALLOW_PROTOCOL": "https:ssh",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_SSH_COMMAND": "ssh -oBatchMode=yes",
            **fetching,
        }
    try:
        await _run(
            place,
            [*words, "--", task.repository, str(place.tree)],
            env=env,
            timeout_s=LOCAL_S if fetching is None else FETCH_S,
        )
    except ToolError as error:
        raise (ToolError if fetching is None else Unfetched)(str(error)) from error


async def _checked_out(task: BatchTask, place: AttemptPlace) -> str:
    """Write the files of the revision, and forget where they came from; return the commit."""
    around = (f"--git-dir={place.tree / '.git'}", f"--work-tree={place.tree}")
    wanted = task.revision or "HEAD"
    for name in (wanted, f"refs/remotes/origin/{wanted}"):
        try:
            found = await _git(
                place, *around, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}"
            )
            break
        except ToolError:
            continue
    else:
        raise ToolError(f"{task.repository!r} has no commit {wanted!r}")
    commit = found.decode().strip()
    await _git(place, *around, "-c", "advice.detachedHead=false", "checkout", "--quiet", commit)
    # Without the remote, no command can push to the repository by its name.
    await _git(place, *around, "remote", "remove", "origin")
    return commit


async def _git(place: AttemptPlace, *words: str) -> bytes:
    return await _run(place, [*_SAFE, *words], env=_ALONE, timeout_s=LOCAL_S)


async def _run(
    place: AttemptPlace, words: Sequence[str], *, env: Mapping[str, str], timeout_s: float
) -> bytes:
    """Run git; return its output.

    Raises:
        ToolError: Git is missing, failed, or took too long.
    """
    git = await asyncio.to_thread(find_program, "git", (place.tree,))
    if git is None:
        raise ToolError("git is not installed; install it, or use folders without git")
    ended = await run_program(
        [str(git), *words],
        cwd=place.folder,
        timeout_s=timeout_s,
        limit_b=_OUTPUT_B,
        env=env,
        pool=None,
    )
    if ended.timed_out:
        raise ToolError(f"git did not come to its end within {timeout_s:.0f} s")
    if ended.exit_code or ended.cut_b:
        said = ended.errors.decode("utf-8", "replace").strip().splitlines()
        raise ToolError(f"git: {said[-1]}" if said else "git failed without a message")
    return ended.head
