"""Runs all tasks of a batch on an engine: order, retries, limits, stop, progress.

The driver knows no process and no machine. An engine runs one attempt where it likes; the local
engine runs attempts on this machine.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

import msgspec

from indwell.batch.attempt import AttemptJob, attempt, clear
from indwell.batch.child_run import BatchOptions
from indwell.batch.plan import BatchTask
from indwell.batch.purse import Grant, GrantAnswer, NoRoom, Purse, PurseState
from indwell.batch.records import (
    AttemptEnd,
    BatchStore,
    SpendingBound,
    TaskResult,
    write_result,
)
from indwell.batch.warm_start import WarmStart
from indwell.errors import reason

RETRIES: Mapping[str, int] = {"unreachable": 3, "lost": 1}
"""How often a task is tried again, by the reason why an attempt gave no result."""
FIRST_WAIT_S = 5.0  # the wait before the second attempt at an endpoint that is down, in seconds
MOST_WAIT_S = 60.0
PROGRESS_S = 1.0  # the time between two looks at what changed while tasks run, in seconds


class WorkerLost(Exception):
    """The process or machine of an attempt has died."""


class Engine(Protocol):
    """Runs attempts, at most ``n_workers`` at once."""

    @property
    def n_workers(self) -> int:
        """The number of attempts that can run at once."""
        ...

    async def attempt(self, job: AttemptJob, stop: asyncio.Event) -> AttemptEnd:
        """Run an attempt to its end; ``stop`` is set to stop the attempt in order.

        Raises:
            WorkerLost: The attempt's process has died.
            UserError: No attempt can run here.
        """
        ...

    async def spent(self) -> PurseState:
        """Return what all workers have spent."""
        ...

    async def close_orphans(self) -> int:
        """Remove workspaces that dead workers left; return their number."""
        ...

    async def close(self) -> None:
        """Release the machines after the last attempt."""
        ...


class LocalPurse:
    """The purse of the workers in this process, and the bound of the spending on disk."""

    def __init__(self, purse: Purse, bound: SpendingBound) -> None:
        self.purse = purse
        self._bound = bound
        self._writing = asyncio.Lock()

    async def ask(self, holder: str, tokens: int, cost: float | None) -> GrantAnswer:
        """Ask for a call."""
        answer = self.purse.ask(holder, tokens, cost, time.monotonic())
        if isinstance(answer, Grant) and self.purse.state.most > self._bound.most:
            try:
                async with self._writing:
                    await asyncio.to_thread(self._bound.cover, self.purse.state.most)
            except OSError as error:
                self.purse.settle(answer.id, 0, 0.0)
                return NoRoom(no_room_words(error))
        return answer

    async def settle(self, grant: int, tokens: int, cost: float | None) -> None:
        """Report what a call used."""
        self.purse.settle(grant, tokens, cost)

    async def close_calls(self, holder: str) -> None:
        """Report that the holder makes no more calls."""
        self.purse.close_calls(holder)

    async def close(self) -> None:
        """Write the exact cost after the last call."""
        # The disk may be full; the bound that it has is higher.
        with contextlib.suppress(OSError):
            await asyncio.to_thread(self._bound.end, self.purse.state.most)


_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_REFUSED = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})


def no_room_words(error: OSError) -> str:
    """Return why no call is allowed after a failed write of the bound."""
    if error.errno in _FULL:
        return "the disk of --to is full, so the cost of the batch cannot be written; make room"
    if error.errno in _REFUSED:
        return (
            f"the cost of the batch may not be written to --to ({reason(error)}); check the "
            "permissions of that folder"
        )
    return f"the cost of the batch cannot be written to --to ({reason(error)})"


class LocalEngine:
    """Runs attempts on this machine, each with a process of its own.

    Args:
        store: The place of the results.
        work: The folder of workspaces.
        purse: The money and the tokens of the batch.
        environment: All variables of this process.
        n_workers: The number of attempts at once.
        secrets: The names of variables that only runs get.
    """

    def __init__(
        self,
        store: BatchStore,
        work: Path,
        purse: Purse,
        environment: Mapping[str, str],
        *,
        n_workers: int,
        secrets: Sequence[str] = (),
    ) -> None:
        self._store, self._work, self._environment = store, work, environment
        self._start = WarmStart(secrets)
        self._purse = LocalPurse(purse, SpendingBound(store))
        self.n_workers = n_workers

    async def attempt(self, job: AttemptJob, stop: asyncio.Event) -> AttemptEnd:
        """Run an attempt to its end."""
        return await attempt(
            job,
            store=self._store,
            work=self._work,
            purse=self._purse,
            environment=self._environment,
            start=self._start,
            stop=stop,
        )

    async def spent(self) -> PurseState:
        """Return what all workers have spent."""
        return self._purse.purse.state

    async def close_orphans(self) -> int:
        """Remove workspaces that dead workers left."""
        return await asyncio.to_thread(clear, self._work)

    async def close(self) -> None:
        """End the process that starts runs, and write the exact cost."""
        await self._purse.close()
        await asyncio.to_thread(self._start.close)


class BatchProgress(msgspec.Struct, frozen=True, tag_field="type", tag="progress", rename="camel"):
    """The state of a batch; ``left_s`` is None while it cannot be estimated."""

    total: int
    done: int
    failed: int
    open: int
    running: int
    cost: float
    tokens: int
    per_minute: float
    left_s: float | None


class TaskBegan(msgspec.Struct, frozen=True, tag_field="type", tag="taskBegan"):
    """An attempt has begun."""

    id: str


class TaskEnded(msgspec.Struct, frozen=True, tag_field="type", tag="taskEnded"):
    """A task has a result."""

    result: TaskResult


class TaskWaits(msgspec.Struct, frozen=True, tag_field="type", tag="taskWaits"):
    """An attempt gave no result, and another attempt begins after ``seconds``."""

    id: str
    ending: str
    message: str
    seconds: float


class TaskLeftOpen(msgspec.Struct, frozen=True, tag_field="type", tag="taskLeftOpen"):
    """A task stays without a result until the batch is resumed."""

    id: str
    ending: str
    message: str


BatchEvent: TypeAlias = BatchProgress | TaskBegan | TaskEnded | TaskWaits | TaskLeftOpen
BatchEnding: TypeAlias = Literal["done", "open", "budget", "disk", "stopped"]


class BatchRun:
    """One run over the tasks that have no result yet.

    Args:
        tasks: The tasks.
        options: What holds for all tasks.
        engine: Runs the attempts.
        store: The place of the results.
        tell: Receives the events.
        earlier: Results of earlier runs.
        sleep: Waits some seconds.
    """

    def __init__(
        self,
        tasks: Sequence[BatchTask],
        options: BatchOptions,
        engine: Engine,
        store: BatchStore,
        tell: Callable[[BatchEvent], None],
        *,
        earlier: Sequence[TaskResult] = (),
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._waiting = deque(tasks)
        self._options, self._engine, self._store = options, engine, store
        self._tell, self._sleep = tell, sleep
        self._total = len(tasks) + len(earlier)
        self._n_done = sum(is_success(one) for one in earlier)
        self._n_failed = len(earlier) - self._n_done
        self._n_open = self._n_ended = self._n_running = 0
        self._stop = asyncio.Event()
        self._why: BatchEnding = "done"
        self._told: list[float] = []
        self._began = time.monotonic()

    async def run(self) -> BatchEnding:
        """Run all tasks; a cancellation stops the attempts in order, and is raised afterwards.

        Raises:
            UserError: No attempt can run; the message says why.
        """
        n_workers = min(self._engine.n_workers, len(self._waiting))
        workers = [asyncio.create_task(self._work()) for _ in range(n_workers)]
        ticking = asyncio.create_task(self._tick())
        try:
            if workers:
                await asyncio.wait(workers, return_when=asyncio.FIRST_EXCEPTION)
        except asyncio.CancelledError:
            self._begin_no_more("stopped")
            await asyncio.wait(workers)
            raise
        finally:
            self._stop.set()
            ticking.cancel()
            await asyncio.wait((ticking, *workers))
            await self._engine.close_orphans()
            await self._progress()
            await self._engine.close()
        for one in workers:
            one.result()
        self._n_open += len(self._waiting)
        return "open" if self._why == "done" and self._n_open else self._why

    async def _work(self) -> None:
        """Run one task after the other, until no task is left."""
        while self._waiting and self._why == "done":
            task = self._waiting.popleft()
            self._n_running += 1
            try:
                await self._run_task(task)
            finally:
                self._n_running -= 1
            await self._progress()

    async def _run_task(self, task: BatchTask) -> None:
        """Run attempts of a task until there is a result, or no further attempt makes sense."""
        self._tell(TaskBegan(task.id))
        n_failures = dict.fromkeys(RETRIES, 0)
        while True:
            try:
                end = await self._engine.attempt(AttemptJob(task, self._options), self._stop)
            except WorkerLost as error:
                end = AttemptEnd("lost", str(error))
            if end.result is not None:
                self._count_result(end.result)
                return
            if end.ending in {"budget", "disk"}:
                self._begin_no_more(end.ending)
            limit = RETRIES.get(end.ending, 0)
            n_failed = n_failures[end.ending] = n_failures.get(end.ending, 0) + 1
            if n_failed > limit or self._stop.is_set():
                await self._given_up(task, end)
                return
            seconds = 0.0
            if end.ending == "unreachable":
                seconds = min(MOST_WAIT_S, FIRST_WAIT_S * 2 ** (n_failed - 1))
            self._tell(TaskWaits(task.id, end.ending, end.message, seconds))
            await self._until_stopped(seconds)

    async def _until_stopped(self, seconds: float) -> None:
        """Wait before another attempt, but not after a stop."""
        if not seconds:
            return
        waits = {
            asyncio.ensure_future(self._sleep(seconds)),
            asyncio.ensure_future(self._stop.wait()),
        }
        _, late = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for one in late:
            one.cancel()

    async def _given_up(self, task: BatchTask, end: AttemptEnd) -> None:
        """Record a task whose workers died; leave any other task open."""
        if end.ending == "lost" and not self._stop.is_set():
            result = TaskResult(
                id=task.id,
                digest=task.digest,
                repository=task.repository,
                labels=task.labels,
                ending="lost",
                message=f"its worker died in each attempt: {end.message}",
                attempt=1 + RETRIES["lost"],
            )
            await asyncio.to_thread(write_result, self._store, result)
            self._count_result(result)
            return
        self._n_open += 1
        self._tell(TaskLeftOpen(task.id, end.ending, end.message))

    def _count_result(self, result: TaskResult) -> None:
        self._n_ended += 1
        if is_success(result):
            self._n_done += 1
        else:
            self._n_failed += 1
        self._tell(TaskEnded(result))

    def _begin_no_more(self, why: BatchEnding) -> None:
        """Begin no more tasks; stop the running ones, unless only the money is used up."""
        if self._why == "done":
            self._why = why
        if why != "budget":
            self._stop.set()

    async def _tick(self) -> None:
        """Report changes while tasks run, such as the cost of their calls."""
        while True:
            await asyncio.sleep(PROGRESS_S)
            await self._progress(must_differ=True)

    async def _progress(self, *, must_differ: bool = False) -> None:
        """Report the state of the batch, with ``must_differ`` only if the state has changed."""
        spent = await self._engine.spent()
        counts = [self._n_done, self._n_failed, self._n_open, self._n_running]
        state: list[float] = [*counts, spent.cost, spent.tokens]
        if must_differ and state == self._told:
            return
        self._told = state
        passed_s = max(time.monotonic() - self._began, 1e-6)
        n_left = self._total - self._n_done - self._n_failed - self._n_open
        rate = self._n_ended / passed_s
        self._tell(
            BatchProgress(
                self._total,
                self._n_done,
                self._n_failed,
                self._n_open,
                self._n_running,
                spent.cost,
                spent.tokens,
                round(rate * 60, 1),
                round(n_left / rate, 1) if rate and not self._stop.is_set() else None,
            )
        )


def is_success(result: TaskResult) -> bool:
    """Return whether a task is done and its check passed, if it has a check."""
    return result.ending == "done" and (result.after is None or result.after.exit_code == 0)
