"""Stores the results of a batch, each written exactly once.

    <batch>/plan.json                         the tasks at the time of the first run
    <batch>/results/<task>.json               the record of a task that has ended
    <batch>/attempts/<task>.<n>.json          the record that attempt n of a task has begun
    <batch>/attempts/<task>.<n>.end.json      the record of an attempt that gave no result
    <batch>/spent/<n>.json                    an upper bound of the cost so far; the last one counts
    <batch>/files/<task>.<n>/                 patch.diff, session.jsonl, check output

The functions of a store block.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

import msgspec

from indwell.batch.plan import BatchPlan
from indwell.compatibility import StoredForm
from indwell.errors import UserError
from indwell.files.append_log import list_names, make_private_folder
from indwell.files.private import read_own, write_once

TaskEnding: TypeAlias = Literal["done", "failed", "limit", "cancelled", "lost"]
"""How a task ended; ``lost`` means that its worker died in each attempt."""

AttemptEnding: TypeAlias = Literal["result", "unreachable", "lost", "stopped", "budget", "disk"]
"""How an attempt ended; each word except ``result`` leaves the task without a result."""

PLAN, RESULTS, ATTEMPTS, FILES, SPENT = "plan.json", "results", "attempts", "files", "spent"
_BOUND_STEP, _LEAST_STEP = 0.01, 0.01  # a hundredth of the cost, and US dollars
MOST_FILE_B = 1 << 30


class CheckOutcome(msgspec.Struct, frozen=True):
    """One run of a task's check.

    Attributes:
        exit_code: The exit code, or None if the check did not run to its end.
        seconds: The time that the check took.
        why: The reason for a missing exit code, or empty.
        tail: The end of the output.
    """

    exit_code: int | None
    seconds: float
    why: str = ""
    tail: str = ""


class TaskReceipt(msgspec.Struct, frozen=True):
    """The model calls, tokens, seconds and cost of an attempt.

    The cost is in US dollars, and None if the model's price is unknown.
    """

    rounds: int = 0
    input: int = 0
    output: int = 0
    cost: float | None = 0.0
    seconds: float = 0.0


class PatchFacts(msgspec.Struct, frozen=True):
    """The changed files of a task, and the size of the patch."""

    files: tuple[str, ...] = ()
    added: int = 0
    removed: int = 0
    size_b: int = 0


class TaskResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a task.

    Attributes:
        id: The task.
        digest: The digest of the task's content.
        repository: The source of the task's workspace.
        commit: The commit of the workspace, or empty without git.
        labels: The values of the matrix.
        ending: How the task ended.
        message: The reason for an ending other than ``done``.
        answer: The model's last text.
        before: The check before the turn, if the task has a check.
        after: The check after the turn.
        patch: The changes.
        receipt: What the task used.
        attempt: The number of the attempt, from 1.
        files: The places of patch, session log and check output within the batch's folder.
        host: The name of the machine.
        began: The time of the attempt's start, in UTC.
        seconds: The time of the whole attempt, with the workspace and the checks.
    """

    id: str
    digest: str
    repository: str
    commit: str = ""
    labels: Mapping[str, str] = {}
    ending: TaskEnding
    message: str = ""
    answer: str = ""
    before: CheckOutcome | None = None
    after: CheckOutcome | None = None
    patch: PatchFacts = PatchFacts()
    receipt: TaskReceipt = TaskReceipt()
    attempt: int = 1
    files: Mapping[str, str] = {}
    host: str = ""
    began: str = ""
    seconds: float = 0.0


class AttemptEnd(msgspec.Struct, frozen=True):
    """The end of an attempt, as a worker reports it."""

    ending: AttemptEnding
    message: str = ""
    cost: float = 0.0
    result: TaskResult | None = None


class SpentBound(msgspec.Struct, frozen=True):
    """A record of ``spent``: all calls so far cost at most so many US dollars."""

    most: float


PLAN_FORM: StoredForm[BatchPlan] = StoredForm("batch", BatchPlan, "the plan of the batch")
BEGUN_FORM: StoredForm[dict[str, str]] = StoredForm(
    "batch", dict[str, str], "the record of an attempt", member="facts"
)
END_FORM: StoredForm[AttemptEnd] = StoredForm("batch", AttemptEnd, "the record of an attempt")
RESULT_FORM: StoredForm[TaskResult] = StoredForm("batch", TaskResult, "the result")
SPENT_FORM: StoredForm[SpentBound] = StoredForm("batch", SpentBound, "the record of the cost")


class BatchStore(Protocol):
    """The place of a batch's results: a folder, or an object store."""

    def write_new(self, name: str, data: bytes) -> bool:
        """Write a file that is complete or absent; return False if the name is taken."""
        ...

    def read(self, name: str) -> bytes | None:
        """Return the content of a file, or None if the file does not exist."""
        ...

    def names(self, folder: str) -> tuple[str, ...]:
        """Return the names in a folder."""
        ...


class FolderStore:
    """A batch's folder on a disk, which several machines may share.

    Args:
        folder: The folder of the batch.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write_new(self, name: str, data: bytes) -> bool:
        """Write a file that is complete or absent; return False if the name is taken."""
        path = self._place(name)
        make_private_folder(path.parent)
        return write_once(path, data)

    def read(self, name: str) -> bytes | None:
        """Return the content of a file, or None if the file does not exist."""
        try:
            return read_own(self._place(name), MOST_FILE_B)
        except FileNotFoundError:
            return None

    def names(self, folder: str) -> tuple[str, ...]:
        """Return the names in a folder, without the temporary files of unfinished writes."""
        found = list_names(self._folder / folder)
        return tuple(one for one in found if one.endswith(".json"))

    def _place(self, name: str) -> Path:
        """Return a file's path, if the name does not leave the folder; a record may be foreign."""
        if "\\" in name or ":" in name or not {"", ".", ".."}.isdisjoint(name.split("/")):
            raise UserError(f"a record names a file outside of the batch's folder: {name}")
        return self._folder / name


def has_begun(store: BatchStore) -> bool:
    """Return whether a batch was begun here.

    Raises:
        NewerVersion: A newer Indwell began the batch.
    """
    if plan := store.read(PLAN):
        PLAN_FORM.check(plan)
    return plan is not None


def begin_batch(store: BatchStore, plan: BatchPlan) -> None:
    """Record that a batch has begun, with its tasks."""
    store.write_new(PLAN, PLAN_FORM.encode(plan))


def begin_attempt(store: BatchStore, task: str, facts: Mapping[str, str]) -> int:
    """Claim the next free number of an attempt, which no other worker gets."""
    taken = [
        int(number)
        for name in store.names(ATTEMPTS)
        for beginning, _, number in [name.removesuffix(".json").rpartition(".")]
        if beginning == task and number.isdecimal()
    ]
    number = max(taken, default=0) + 1
    while not store.write_new(f"{ATTEMPTS}/{task}.{number}.json", BEGUN_FORM.encode(dict(facts))):
        number += 1
    return number


def note_end(store: BatchStore, task: str, attempt: int, end: AttemptEnd) -> None:
    """Record an attempt without a result, so that its cost counts after ``--resume``."""
    store.write_new(f"{ATTEMPTS}/{task}.{attempt}.end.json", END_FORM.encode(end))


def write_result(store: BatchStore, result: TaskResult) -> bool:
    """Write the result of a task; return False if the task has a result already."""
    return store.write_new(f"{RESULTS}/{result.id}.json", RESULT_FORM.encode(result))


def all_results(store: BatchStore) -> dict[str, TaskResult]:
    """Read the results of all tasks, by the tasks' ids.

    Raises:
        UserError: A record cannot be read; see also ``NewerVersion``.
    """
    found = {}
    for name in store.names(RESULTS):
        data = store.read(f"{RESULTS}/{name}")
        try:
            result = RESULT_FORM.decode(data or b"", name)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise UserError(
                f"the record {RESULTS}/{name} is damaged ({error}); move the file away to run its "
                "task again"
            ) from error
        found[result.id] = result
    return found


class SpendingBound:
    """Writes an upper bound of the cost before calls may reach the bound.

    A run that is killed therefore never hides a cost from the next run. The bound rises in steps of
    a hundredth, so a batch writes few records. At the end, the exact cost replaces the bound. The
    methods block.

    Args:
        store: The place of the batch.
    """

    def __init__(self, store: BatchStore) -> None:
        self._store = store
        numbers = (name.removesuffix(".json") for name in store.names(SPENT))
        self._last = max((int(one) for one in numbers if one.isdecimal()), default=0)
        data = store.read(f"{SPENT}/{self._last}.json") if self._last else None
        self.most = SPENT_FORM.decode(data).most if data else 0.0

    def cover(self, most: float) -> None:
        """Write a higher bound if ``most`` is above the present bound.

        Raises:
            OSError: The bound cannot be written, so no call may cost more.
        """
        if most > self.most:
            self._write(most + max(_LEAST_STEP, most * _BOUND_STEP))

    def end(self, cost: float) -> None:
        """Write the exact cost after the last call.

        Raises:
            OSError: The cost cannot be written; the bound before is valid.
        """
        if cost != self.most:
            self._write(cost)

    def _write(self, most: float) -> None:
        record = SPENT_FORM.encode(SpentBound(most))
        number = self._last + 1
        while not self._store.write_new(f"{SPENT}/{number}.json", record):
            number += 1
        self._last, self.most = number, most


def spent_before(store: BatchStore, results: Mapping[str, TaskResult]) -> float:
    """Return the US dollars of all earlier attempts; calls that were cut off count in full."""
    ended = (name for name in store.names(ATTEMPTS) if name.endswith(".end.json"))
    data = (store.read(f"{ATTEMPTS}/{name}") for name in ended)
    lost = sum(END_FORM.decode(one).cost for one in data if one)
    known = lost + sum(one.receipt.cost or 0.0 for one in results.values())
    return max(known, SpendingBound(store).most)
