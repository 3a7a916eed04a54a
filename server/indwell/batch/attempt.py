"""Runs one attempt of a task: workspace, check, turn, check, patch, result.

Each engine calls ``attempt`` for each attempt, in whatever process or machine. An attempt ends with
a result that is on disk, or with a reason for which the task may be tried again.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import hashlib
import platform
import shutil
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from indwell.batch.child_run import BatchOptions, ChildEnd, ChildRun, child_command
from indwell.batch.plan import BatchTask
from indwell.batch.purse import SharedPurse
from indwell.batch.records import (
    FILES,
    AttemptEnd,
    BatchStore,
    CheckOutcome,
    PatchFacts,
    TaskEnding,
    TaskReceipt,
    TaskResult,
    begin_attempt,
    note_end,
    write_result,
)
from indwell.batch.workspace import AttemptPlace, Unfetched, patch_between, prepare, snapshot
from indwell.bounds.command_bounds import confiner
from indwell.errors import ToolError, UserError
from indwell.files.append_log import list_names, make_private_folder
from indwell.files.contents.atomic import write_atomic
from indwell.files.locks import locked
from indwell.files.private import read_own, remove_own, remove_own_tree
from indwell.policy.rules import Widening
from indwell.sandbox.spawn import spawn
from indwell.sandbox.starting import Starter
from indwell.service.endpoint.learned_wires import share_wires
from indwell.service.user_settings import read_settings
from indwell.settings.load import MEASURED_VARIABLE
from indwell.settings.paths import batches_folder, state_folder

LEAST_FREE_B = 32 << 20  # With less free space, any failure counts as a full disk.
_TAIL_CHARS = 4_000
_MOST_LOG_B = 1 << 30
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_ENDINGS: Mapping[str, TaskEnding] = {
    "done": "done",
    "limit": "limit",
    "budget": "limit",
    "cancelled": "cancelled",
}


class AttemptJob(msgspec.Struct, frozen=True):
    """The data that a worker needs for an attempt; contains no secret."""

    task: BatchTask
    options: BatchOptions


async def attempt(
    job: AttemptJob,
    *,
    store: BatchStore,
    work: Path,
    purse: SharedPurse,
    environment: Mapping[str, str],
    start: Starter,
    stop: asyncio.Event,
) -> AttemptEnd:
    """Run an attempt, remove its workspace, and write the result.

    Args:
        job: The task.
        store: The place of the batch's results.
        work: The folder of workspaces on this machine.
        purse: Grants the model calls.
        environment: All variables of this process, with the secrets.
        start: Starts the attempt's run.
        stop: Set to stop the attempt in order.

    Raises:
        asyncio.CancelledError: The attempt was stopped at once; its process has ended.
    """
    missing = [name for name in job.options.secrets if not environment.get(name)]
    if missing:
        raise UserError(f"this machine lacks the variable {missing[0]}, which the batch needs")
    facts = {"host": platform.node(), "began": datetime.now(UTC).isoformat()}
    try:
        await asyncio.to_thread(make_private_folder, work)
        number = await asyncio.to_thread(begin_attempt, store, job.task.id, facts)
    except OSError as error:
        return AttemptEnd("disk" if error.errno in _FULL else "lost", str(error))
    place = AttemptPlace(work / f"{job.task.id}.{number}")
    one = _Attempt(job, number, place, store, purse, environment, start, stop)
    with locked(_lock_of(place.folder), timeout_s=0):
        try:
            end = await one.run()
        except OSError as error:
            full = error.errno in _FULL
            end = AttemptEnd("disk" if full else "lost", str(error), one.cost)
        finally:
            await asyncio.to_thread(remove_own_tree, place.folder)
            remove_own(_lock_of(place.folder))
    if end.result is None:
        # The disk may be full, and the record only adds the cost of the attempt.
        with contextlib.suppress(OSError):
            await asyncio.to_thread(note_end, store, job.task.id, number, end)
    return end


def sweep(work: Path) -> int:
    """Remove the workspaces of attempts whose process has died; return their number; blocks."""
    n_removed = 0
    for name in list_names(work):
        if not name.endswith(".lock"):
            continue
        folder = (work / name).with_suffix("")
        try:
            with locked(work / name, timeout_s=0):
                n_removed += remove_own_tree(folder)
                remove_own(work / name)
        except TimeoutError:
            continue
    return n_removed


def clear(work: Path) -> int:
    """Remove the workspaces of dead processes, and the folder if nothing is left in it; blocks."""
    n_removed = sweep(work)
    if not list_names(work):
        remove_own_tree(work)
    return n_removed


def work_folder(environment: Mapping[str, str], place: str) -> Path:
    """Return the folder for the workspaces of the batch with its results at ``place``.

    Raises:
        SettingsError: ``INDWELL_STATE`` is not an absolute path.
    """
    name = hashlib.sha256(place.encode("utf-8", "replace")).hexdigest()[:16]
    return batches_folder(environment) / name


def _lock_of(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.lock")


class _Attempt:
    """One attempt while it runs.

    Attributes:
        cost: US dollars that the attempt has used.
    """

    def __init__(  # noqa: PLR0917 - the parts of an attempt
        self,
        job: AttemptJob,
        number: int,
        place: AttemptPlace,
        store: BatchStore,
        purse: SharedPurse,
        environment: Mapping[str, str],
        start: Starter,
        stop: asyncio.Event,
    ) -> None:
        self._job, self._task, self._number, self._place = job, job.task, number, place
        self._store, self._purse, self._start, self._stop = store, purse, start, stop
        self._user_state = state_folder(environment)
        own = {"INDWELL_STATE": str(place.state)}
        if job.task.settings:
            own[MEASURED_VARIABLE] = job.task.settings
        self._environment = {**environment, **own}
        self._began, self._clock = datetime.now(UTC), time.monotonic()
        self.cost = 0.0

    async def run(self) -> AttemptEnd:
        """Run the attempt in its workspace, which the caller removes."""
        await asyncio.to_thread(make_private_folder, self._place.folder)
        try:
            commit = await prepare(self._task, self._place, self._environment)
            before = None if self._task.hidden else await self._checked()
            first = await snapshot(self._place)
        except Unfetched as error:
            return AttemptEnd("unreachable", str(error))
        except ToolError as error:
            return await self._written(self._result("failed", str(error)), {})
        if self._stop.is_set():
            return AttemptEnd("stopped")
        await asyncio.to_thread(share_wires, self._user_state, self._place.state)
        ended = await self._turn()
        # The endpoint refuses a request of the first attempt only, not of each attempt.
        await asyncio.to_thread(share_wires, self._place.state, self._user_state)
        self.cost = ended.cost
        if (early := self._without_result(ended)) is not None:
            return early
        try:
            patch, facts = await patch_between(self._place, first, await snapshot(self._place))
        except ToolError as error:
            return await self._written(self._result("failed", str(error)), {})
        try:
            await asyncio.to_thread(_reveal, self._task, self._place.tree)
            after = await self._checked()
        except ToolError as error:
            why = f"the hidden files cannot be written: {error}"
            after = CheckOutcome(None, 0.0, why)
        if self._stop.is_set() and self._task.check:
            return AttemptEnd("stopped", cost=self.cost)
        result = self._result(
            *_ending_of(ended), commit=commit, before=before, after=after, facts=facts
        )
        finished = ended.finished or {}
        result = msgspec.structs.replace(
            result, answer=finished.get("answer", ""), receipt=ended.receipt
        )
        files = {"patch.diff": patch, **await asyncio.to_thread(self._logs)}
        return await self._written(result, files)

    async def _turn(self) -> ChildEnd:
        """Run the turn in a process of its own, whose state is in the attempt's folder."""
        child = ChildRun(self._task.id, self._purse, self._stop, self._start)
        return await child.run(
            child_command(self._task, self._place.tree, self._job.options),
            cwd=self._place.folder,
            env=self._environment,
            never_in=(self._place.tree,),
        )

    def _without_result(self, ended: ChildEnd) -> AttemptEnd | None:
        """Return the end of an attempt that gives no result, or None."""
        event = ended.finished or {}
        if self._stop.is_set():
            return AttemptEnd("stopped", cost=self.cost)
        if ended.no_room:
            return AttemptEnd("disk", ended.no_room, self.cost)
        if ended.refused:
            return AttemptEnd("budget", ended.refused, self.cost)
        is_done = event.get("ending") == "done"
        if not is_done and shutil.disk_usage(self._place.folder).free < LEAST_FREE_B:
            return AttemptEnd("disk", "the disk is full", self.cost)
        if event.get("retryable"):
            return AttemptEnd("unreachable", str(event.get("message", "")), self.cost)
        if ended.exit_code < 0 or (not event and ended.exit_code > 128):  # noqa: PLR2004 - a signal
            words = f"a signal ended the run (exit code {ended.exit_code})"
            return AttemptEnd("lost", words, self.cost)
        return None

    async def _checked(self) -> CheckOutcome | None:
        """Run the task's check in the sandbox, in the workspace."""
        if not self._task.check or self._stop.is_set():
            return None
        settings = (await asyncio.to_thread(read_settings, self._environment)).settings
        tree = self._place.tree
        bounds = confiner((tree,), lambda: settings, own=(str(self._place.state),))
        try:
            confinement = await asyncio.to_thread(bounds, Widening())
            if confinement is None and not self._job.options.allow_commands:
                words = "not run: this machine has no sandbox; --allow-commands runs it without one"
                return CheckOutcome(None, 0.0, words)
            ended = await spawn(
                self._task.check,
                cwd=tree,
                timeout_s=self._task.check_time_limit,
                confinement=confinement,
                never_in=(tree,),
                stop=self._stop,
            )
        except ToolError as error:
            return CheckOutcome(None, 0.0, f"not run: {error}")
        finally:
            await asyncio.to_thread(bounds.close)
        why = f"over {self._task.check_time_limit:g} s" if ended.timed_out else ended.overrun
        code = None if ended.timed_out else ended.exit_code
        return CheckOutcome(code, round(ended.seconds, 3), why, ended.output[-_TAIL_CHARS:])

    def _logs(self) -> dict[str, bytes]:
        """Return the session's log."""
        found = sorted(self._place.state.glob("sessions/*/*/log.jsonl"))
        return {"session.jsonl": read_own(found[0], _MOST_LOG_B)} if found else {}

    def _result(
        self,
        ending: TaskEnding,
        message: str = "",
        *,
        commit: str = "",
        before: CheckOutcome | None = None,
        after: CheckOutcome | None = None,
        facts: PatchFacts | None = None,
    ) -> TaskResult:
        return TaskResult(
            id=self._task.id,
            digest=self._task.digest,
            repository=self._task.repository,
            commit=commit,
            labels=self._task.labels,
            ending=ending,
            message=message,
            before=before,
            after=after,
            patch=facts or PatchFacts(),
            receipt=TaskReceipt(cost=self.cost),
            attempt=self._number,
            host=platform.node(),
            began=self._began.isoformat(timespec="seconds"),
            seconds=round(time.monotonic() - self._clock, 3),
        )

    async def _written(self, result: TaskResult, files: Mapping[str, bytes]) -> AttemptEnd:
        """Write the files, then the record; a record of another worker is kept."""
        folder = f"{FILES}/{self._task.id}.{self._number}"
        for name, data in files.items():
            await asyncio.to_thread(self._store.write_new, f"{folder}/{name}", data)
        places = {name: f"{folder}/{name}" for name in files}
        result = msgspec.structs.replace(result, files=places)
        await asyncio.to_thread(write_result, self._store, result)
        return AttemptEnd("result", result.message, self.cost, result)


def _reveal(task: BatchTask, tree: Path) -> None:
    """Write the hidden files over the agent's files; blocks.

    Raises:
        ToolError: The agent put a link or a folder where a hidden file belongs.
    """
    root = tree.resolve()
    for name, text in task.hidden.items():
        write_atomic(root / name, text.encode(), (root,), parents=True, resolved=True)


def _ending_of(ended: ChildEnd) -> tuple[TaskEnding, str]:
    """Return the ending of a run's turn, and the reason in words."""
    event = ended.finished
    if event is None:
        return (
            "failed",
            ended.errors or f"the run ended with exit code {ended.exit_code} and no message",
        )
    ending = _ENDINGS.get(str(event.get("ending")), "failed")
    # The time limit ends a turn as a cancellation with the exit code of a limit.
    if ended.exit_code == 3:  # noqa: PLR2004 - the exit code of a limit
        ending = "limit"
    return ending, str(event.get("message", ""))
