"""Turns tasks into a batch: a task for each model with its settings, and each seed. Pure."""

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
    """One side of a comparison; an empty field means the user's own settings.

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


def side_of(arm: int, seed: int) -> str:
    """Return the end of the ids of an arm's tasks with a seed; arms count from 1."""
    return f"a{arm}.s{seed}"


def side_in(name: str) -> str:
    """Return the end of a task's id that ``side_of`` has made."""
    return ".".join(name.split(".")[-2:])


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
