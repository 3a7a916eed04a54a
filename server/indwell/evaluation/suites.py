"""Turns a suite into the tasks of a batch: the shipped one, or SWE-bench's format. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from indwell.batch.plan import BatchPlan, BatchTask, WrongTasks
from indwell.evaluation.shipped import code_tasks, testing_tasks, text_tasks
from indwell.evaluation.tasks import EvalTask, made_tasks
from indwell.messages import Effort

SHIPPED = "shipped"
"""The name of the suite that ships with Indwell."""
N_VARIANTS = 2
_CHECK_S = 120.0
_ROUNDS = 30


class EvalArm(msgspec.Struct, frozen=True):
    """One side of a comparison; what is empty comes from your settings.

    Attributes:
        model: The model.
        effort: The reasoning effort.
        title: The name of the settings.
        settings: TOML with settings, such as a preset for compaction.
    """

    model: str = ""
    effort: Effort | None = None
    title: str = ""
    settings: str = ""

    @property
    def name(self) -> str:
        """The name of the arm in a report."""
        effort = f"effort {self.effort}" if self.effort else ""
        words = [self.model, effort, self.title]
        return ", ".join(filter(None, words)) or "your settings"


class SweBenchTask(msgspec.Struct, frozen=True):
    """One row of SWE-bench's data set; fields of other names are ignored.

    Attributes:
        instance_id: The name of the task.
        repo: The repository at GitHub, as ``owner/name``.
        base_commit: The commit before the solution.
        problem_statement: The text of the issue, which is the prompt.
        patch: The reference solution, which the agent does not see.
        test_patch: The change of the tests, which the agent does not see.
        FAIL_TO_PASS: The tests that a solution makes pass, as a list or as JSON text.
        PASS_TO_PASS: The tests that must still pass, as a list or as JSON text.
        version: The version of the repository that the official images are named for.
    """

    instance_id: str
    repo: str
    base_commit: str
    problem_statement: str
    patch: str = ""
    test_patch: str = ""
    FAIL_TO_PASS: str | tuple[str, ...] = ()
    PASS_TO_PASS: str | tuple[str, ...] = ()
    version: str = ""


class SweBenchReport(msgspec.Struct, frozen=True):
    """The report of SWE-bench's package about the patches of one arm and seed.

    Attributes:
        resolved_ids: The tasks whose patch solves the issue.
        unresolved_ids: The tasks whose patch does not.
        empty_patch_ids: The tasks without a patch.
    """

    resolved_ids: frozenset[str]
    unresolved_ids: frozenset[str] = frozenset()
    empty_patch_ids: frozenset[str] = frozenset()

    def outcome(self, task: str) -> bool | None:
        """Return whether a patch solves its task, or None if the check ended with an error."""
        if task in self.resolved_ids:
            return True
        return False if task in self.unresolved_ids | self.empty_patch_ids else None


def shipped_tasks(seed: int) -> tuple[EvalTask, ...]:
    """Return the 40 tasks of the shipped suite; each seed gives other names and numbers."""
    templates = (*code_tasks.TEMPLATES, *text_tasks.TEMPLATES, *testing_tasks.TEMPLATES)
    return made_tasks(templates, seed, n_variants=N_VARIANTS)


def workspace_files(seed: int, tasks: Sequence[EvalTask]) -> dict[str, str]:
    """Return the texts of all workspaces' files, by path below the folder of the workspaces."""
    return {
        f"{place_of(seed, task)}/{path}": text
        for task in tasks
        for path, text in task.files.items()
    }


def place_of(seed: int, task: EvalTask) -> str:
    """Return the folder of a task's workspace, below the folder of the workspaces."""
    return f"seed-{seed}/{task.id}"


def batch_tasks(seed: int, tasks: Sequence[EvalTask], folder: str) -> tuple[BatchTask, ...]:
    """Return shipped tasks as tasks of a batch; ``folder`` is the folder of the workspaces."""
    return tuple(
        BatchTask(
            repository=f"{folder}/{place_of(seed, task)}",
            prompt=task.prompt,
            id=task.id,
            check=task.check,
            check_time_limit=_CHECK_S,
            hidden=task.hidden,
            labels={"kind": task.kind, "language": task.language, "group": task.group},
            max_rounds=_ROUNDS,
        )
        for task in tasks
    )


def swe_bench_rows(text: str) -> tuple[SweBenchTask, ...]:
    """Read a data set of SWE-bench, as JSON lines or as a JSON array.

    Raises:
        WrongTasks: A row lacks a field, a list of tests is no JSON, or two rows have one name.
    """
    try:
        if text.lstrip().startswith("["):
            rows = msgspec.json.decode(text, type=tuple[SweBenchTask, ...])
        else:
            lines = filter(str.strip, text.splitlines())
            rows = tuple(msgspec.json.decode(line, type=SweBenchTask) for line in lines)
        for row in rows:
            for tests in (row.FAIL_TO_PASS, row.PASS_TO_PASS):
                if isinstance(tests, str):
                    msgspec.json.decode(tests, type=tuple[str, ...])
    except (msgspec.DecodeError, UnicodeError) as error:
        raise WrongTasks(f"the file does not have the format of SWE-bench: {error}") from error
    if len({row.instance_id for row in rows}) < len(rows):
        raise WrongTasks("two rows have the same `instance_id`")
    return rows


def is_swe_bench(text: str) -> bool:
    """Return whether a file is a data set of SWE-bench, and not JSON lines of own tasks."""
    if text.lstrip().startswith("["):
        return True
    first = next(filter(str.strip, text.splitlines()), "")
    try:
        return "instance_id" in msgspec.json.decode(first, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, UnicodeError):
        return False


def swe_bench_tasks(rows: Sequence[SweBenchTask]) -> tuple[BatchTask, ...]:
    """Return tasks without a check, because SWE-bench's own package checks the patches."""
    return tuple(
        BatchTask(
            repository=f"https://github.com/{row.repo}.git",
            revision=row.base_commit,
            prompt=row.problem_statement,
            id=row.instance_id,
            labels={"kind": "swe-bench", "language": row.repo},
        )
        for row in rows
    )


def predictions(patches: Mapping[str, str], side: str) -> str:
    """Return JSON lines that ``swebench.harness.run_evaluation`` reads as predictions.

    Args:
        patches: The patch of each task.
        side: The model's name for the package, which begins the name of its report: ``a1.s1`` for
            arm 1 and seed 1.
    """
    rows = (
        {"instance_id": task, "model_name_or_path": side, "model_patch": patch}
        for task, patch in patches.items()
    )
    return "".join(f"{msgspec.json.encode(row).decode()}\n" for row in rows)


def swe_bench_report(report: bytes) -> SweBenchReport:
    """Read a report of ``swebench.harness.run_evaluation``.

    Raises:
        WrongTasks: The text is no such report.
    """
    try:
        return msgspec.json.decode(report, type=SweBenchReport)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise WrongTasks(f"the file is no report of SWE-bench: {error}") from error


def side_of(arm: int, seed: int) -> str:
    """Return the end of the ids of an arm's tasks with a seed; arms count from 1."""
    return f"a{arm}.s{seed}"


def expanded(by_seed: Mapping[int, Sequence[BatchTask]], arms: Sequence[EvalArm]) -> BatchPlan:
    """Return a task of the batch for each task, arm and seed.

    Args:
        by_seed: The tasks for each seed.
        arms: The models with their settings.

    Raises:
        WrongTasks: A task has a name that is too long.
    """
    found = []
    for seed, tasks in by_seed.items():
        for task in tasks:
            for number, arm in enumerate(arms, 1):
                name = f"{task.id}.{side_of(number, seed)}"
                if len(name) > 80:  # noqa: PLR2004 - the limit of a task's name
                    raise WrongTasks(f"the id {task.id!r} is too long; use at most 70 characters")
                labels = {**task.labels, "task": task.id, "arm": arm.name, "seed": str(seed)}
                found.append(
                    msgspec.structs.replace(
                        task,
                        id=name,
                        labels=labels,
                        model=arm.model or task.model,
                        effort=arm.effort or task.effort,
                        settings=arm.settings or task.settings,
                    )
                )
    return BatchPlan(tuple(found))
