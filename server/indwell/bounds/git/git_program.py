"""Runs git without network access, and without any setting that runs a program.

Git is run by its absolute path, without hooks and monitors, and with only the repository's
settings.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from indwell.bounds.git.store import UnreadableStore
from indwell.errors import ToolError
from indwell.sandbox import find_program, run_program
from indwell.workspace.git.repository import HOOKS, Repository, repository_of

# the limit of bytes for one run's output; a larger repository cannot be compared
OUTPUT_B = 64 << 20
TIME_S = 60.0
_ALONE: Mapping[str, str] = {
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_GRAFT_FILE": os.devnull,
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
}
_SETTINGS = (
    *("-c", "core.hooksPath=/dev/null", "-c", "core.quotePath=false"),
    # The same settings are in the environment of every program; here they do not depend on it.
    *("-c", "core.fsmonitor=false", "-c", "safe.bareRepository=explicit"),
    # A command could have written these two files, which git would otherwise trust.
    *("-c", "core.commitGraph=false", "-c", "core.multiPackIndex=false"),
    *("-c", "advice.graftFileDeprecated=false"),
)
_HOOK, _COMMAND = "hook.", ".command"


async def run_git(
    holder: Path,
    *words: str,
    never_in: Sequence[Path],
    options: Sequence[str] = (),
    stdin: bytes = b"",
    seconds: float = TIME_S,
    limit_b: int = OUTPUT_B,
    env: Mapping[str, str] | None = None,
) -> bytes:
    """Run git in a repository and return its output.

    Args:
        holder: The folder of the repository, which contains ``.git``.
        words: The arguments of a git command that runs no other program.
        never_in: The workspace's folders, from which git is never run.
        options: Options before the command.
        stdin: The standard input.
        seconds: The time limit in seconds, after which git is ended.
        limit_b: The largest number of bytes of output.
        env: Additional environment variables.

    Raises:
        UnreadableStore: git cannot be run, failed, did not finish, or wrote too much.
    """
    git = await asyncio.to_thread(find_program, "git", tuple(never_in))
    if git is None:
        raise UnreadableStore("git is not installed")
    repository = await asyncio.to_thread(repository_of, holder)
    if repository is None or not repository.folders:
        raise UnreadableStore("it is not a repository any more")
    command = [str(git), f"--git-dir={repository.folders[0]}"]
    ended = partial(_ended, holder=holder, seconds=seconds, limit_b=limit_b)
    hooks: Mapping[str, str] = {}
    if _may_have_hooks(repository):
        names = ("config", "--list", "--null", "--name-only")
        hooks = _without(await ended([*command, *names], env=_ALONE))
    whole = [*command, *options, *_SETTINGS, *words]
    return await ended(whole, env={**_ALONE, **hooks, **(env or {})}, stdin=stdin)


async def _ended(
    command: Sequence[str],
    holder: Path,
    *,
    seconds: float,
    limit_b: int,
    env: Mapping[str, str],
    stdin: bytes = b"",
) -> bytes:
    """Run git to its end, and return its output."""
    try:
        ended = await run_program(
            command,
            cwd=holder,
            timeout_s=seconds,
            limit_b=limit_b,
            env=env,
            stdin=stdin,
            alone=True,
        )
    except ToolError as error:
        raise UnreadableStore(str(error)) from error
    if ended.timed_out:
        raise UnreadableStore(f"git did not come to its end within {seconds:.0f} s")
    if ended.exit_code or ended.cut_b:
        said = ended.errors.decode("utf-8", "replace").strip().splitlines()
        raise UnreadableStore(said[-1] if said else "git did not come to its end")
    return ended.head + ended.tail


def _may_have_hooks(repository: Repository) -> bool:
    """Return whether a setting may define a hook, as git 2.54 and later read such settings.

    The setting ``core.hooksPath`` does not turn off these hooks.
    """
    texts = [one.text for one in repository.configurations]
    if not repository.is_whole or None in texts:
        return True
    return any(word in (text or "").lower() for text in texts for word in ("hook", "include"))


def _without(names: bytes) -> Mapping[str, str]:
    """Return the environment that turns off every hook that the settings of these names define.

    The variables replace those of ``sandbox.environment``, so ``_SETTINGS`` repeats the latter.
    """
    keys = (os.fsdecode(one) for one in names.split(b"\0"))
    known = {
        one.removeprefix(_HOOK).removesuffix(_COMMAND)
        for one in keys
        if one.startswith(_HOOK) and one.endswith(_COMMAND)
    }
    # Git 2.55 also has a switch for each event.
    pairs = [
        (f"GIT_CONFIG_{what}_{at}", value)
        for at, name in enumerate(sorted(known | HOOKS))
        for what, value in (("KEY", f"{_HOOK}{name}.enabled"), ("VALUE", "false"))
    ]
    return {"GIT_CONFIG_COUNT": str(len(pairs) // 2), **dict(pairs)}
