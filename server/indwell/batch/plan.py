"""Reads the tasks of a batch from TOML or JSON lines, and expands a matrix. Pure."""

from __future__ import annotations

import hashlib
import itertools
import os.path
import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from indwell.errors import SettingsError, UserError
from indwell.lazy_pattern import lazy_pattern
from indwell.messages import Effort
from indwell.prepared_types import prepared
from indwell.settings.load import measured_settings
from indwell.settings.model import Mode

MOST_TASKS = 100_000
MOST_HIDDEN_B = 4 << 20
MOST_PROMPT_B = 100_000  # The prompt is an argument of a program, and Linux allows 128 KiB.
CHECK_S = 600.0
_DIGITS = 10  # of a digest in an id
_ID = lazy_pattern(r"[A-Za-z0-9][\w.-]{0,79}", re.ASCII)
_ADDRESS = lazy_pattern(r"(?:https|ssh)://\S+|[\w.-]+@[\w.-]+:\S+", re.ASCII)
_PASSWORD = lazy_pattern(r"https://[^/@]*@|ssh://[^/@:]*:[^/@]*@")
_ODD = lazy_pattern(r"[^A-Za-z0-9_.-]+")


class WrongTasks(UserError):
    """The file of tasks cannot be used."""


class BatchTask(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One task of a batch.

    Attributes:
        repository: A folder, an archive or the address of a git repository.
        prompt: The prompt, which may be a skill with its arguments.
        id: The name of the task in the batch; by default made from the task's content.
        revision: A commit, branch or tag; by default the repository's current commit.
        file: A file that the prompt is about, as ``PATH`` or ``PATH:L1-L2`` in the repository.
        check: A shell command that runs before the turn and after the turn.
        check_time_limit: The time limit of one run of ``check``, in seconds.
        hidden: Texts of files that the check needs, by relative path. The files enter the workspace
            after the turn has ended, so ``check`` does not run before the turn.
        labels: The values of the matrix from which the task was made.
        mode: The permission mode.
        model: The model, or empty for the model of the settings.
        effort: The reasoning effort.
        settings: TOML with settings for this task, such as ``compaction``; see
            ``settings.load.MEASURED``.
        max_cost: The limit in US dollars.
        max_tokens: The limit of input and output tokens.
        max_rounds: The limit of model calls.
        time_limit: The time limit of the turn, in seconds.
    """

    repository: str
    prompt: str
    id: str = ""
    revision: str = ""
    file: str = ""
    check: str = ""
    check_time_limit: float = CHECK_S
    hidden: Mapping[str, str] = {}
    labels: Mapping[str, str] = {}
    mode: Mode | None = None
    model: str = ""
    effort: Effort | None = None
    settings: str = ""
    max_cost: float | None = None
    max_tokens: int | None = None
    max_rounds: int | None = None
    time_limit: float | None = None

    @property
    def digest(self) -> str:
        """The digest of everything except the id."""
        plain = msgspec.structs.replace(self, id="")
        return hashlib.sha256(msgspec.json.encode(plain, order="sorted")).hexdigest()

    @property
    def is_address(self) -> bool:
        """Whether the repository is an address from which git fetches."""
        return _ADDRESS.fullmatch(self.repository) is not None


class BatchPlan(msgspec.Struct, frozen=True):
    """All tasks of a batch, in their order."""

    tasks: tuple[BatchTask, ...]

    @property
    def most_cost(self) -> float | None:
        """The sum of the tasks' limits in US dollars, or None if a task has no such limit."""
        limits = [task.max_cost for task in self.tasks]
        known = [one for one in limits if one is not None]
        return sum(known) if len(known) == len(limits) else None


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of a TOML file of tasks."""

    defaults: dict[str, Any] = {}
    matrix: dict[str, list[str | int | float]] = {}
    task: list[dict[str, Any]] = []


def read_plan(text: str, *, is_toml: bool, folder: str) -> BatchPlan:
    """Read the tasks of a file.

    Args:
        text: The content of the file.
        is_toml: Whether the file is TOML; otherwise each line has a task as JSON.
        folder: The folder of the file, from which relative paths start.

    Raises:
        WrongTasks: The text is not valid; the message names the task and the reason.
    """
    rows = _toml_rows(text) if is_toml else _json_rows(text)
    if len(rows) > MOST_TASKS:
        raise WrongTasks(f"there are more than {MOST_TASKS:,} tasks; make several batches")
    tasks = [_task(name, row, folder) for name, row in rows]
    if not tasks:
        raise WrongTasks("there are no tasks in the file")
    for one, count in Counter(task.id.lower() for task in tasks).items():
        if count > 1:
            raise WrongTasks(
                f"{count} tasks have the id {one!r}; give each an `id` of its own, or a matrix "
                "value that differs"
            )
    return BatchPlan(tuple(tasks))


def _json_rows(text: str) -> list[tuple[str, Mapping[str, Any]]]:
    rows: list[tuple[str, Mapping[str, Any]]] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            rows.append((f"line {number}", msgspec.json.decode(line, type=dict[str, Any])))
        except (msgspec.DecodeError, UnicodeError) as error:
            raise WrongTasks(f"line {number} is not a JSON object: {error}") from error
    return rows


def _toml_rows(text: str) -> list[tuple[str, Mapping[str, Any]]]:
    try:
        table = msgspec.convert(tomllib.loads(text), prepared(_Table))
    except tomllib.TOMLDecodeError as error:
        raise WrongTasks(f"the file is not TOML: {error}") from error
    except msgspec.ValidationError as error:
        raise WrongTasks(
            f"the file may have the tables [defaults], [matrix] and [[task]]: {error}"
        ) from error
    names = tuple(table.matrix)
    rows: list[tuple[str, Mapping[str, Any]]] = []
    for number, task in enumerate(table.task or [{}], 1):
        for values in itertools.product(*table.matrix.values()):
            chosen = dict(zip(names, map(str, values), strict=True))
            row = {**table.defaults, **task}
            fields = {name: chosen[name] for name in names if name in BatchTask.__struct_fields__}
            row = {name: _filled(value, chosen) for name, value in {**row, **fields}.items()}
            rows.append((f"task {number}", {**row, **({"labels": chosen} if chosen else {})}))
    return rows


def _filled(value: object, chosen: Mapping[str, str]) -> object:
    """Replace ``{{name}}`` by the matrix's value in a text."""
    if isinstance(value, str):
        for name, one in chosen.items():
            value = value.replace(f"{{{{{name}}}}}", one)
    return value


def _task(name: str, row: Mapping[str, Any], folder: str) -> BatchTask:
    """Return a valid task with an id, and with an absolute path of its repository.

    Raises:
        WrongTasks: The row is not a task.
    """
    try:
        # A matrix has numbers as text, so text is converted.
        task = msgspec.convert(row, prepared(BatchTask), strict=False)
    except msgspec.ValidationError as error:
        raise WrongTasks(f"{name}: {error}") from error
    if why := why_wrong(task):
        raise WrongTasks(f"{name}: {why}")
    if not task.is_address:
        place = os.path.normpath(os.path.join(folder, os.path.expanduser(task.repository)))  # noqa: PTH111, PTH118
        task = msgspec.structs.replace(task, repository=place)
    if not task.id:
        words = _ODD.sub("-", task.repository.rstrip("/").rpartition("/")[2].removesuffix(".git"))
        beginning = words.strip("-.")[:40] or "task"
        task = msgspec.structs.replace(task, id=f"{beginning}-{task.digest[:_DIGITS]}")
    return task


def why_wrong(task: BatchTask) -> str:
    """Return why a task cannot be used, or an empty text."""
    limits = (task.max_cost, task.max_tokens, task.max_rounds, task.time_limit)
    if not task.repository.strip():
        return "`repository` is empty; name a folder, an archive or a git address"
    if task.repository.startswith("-") or task.revision.startswith("-"):
        return "`repository` and `revision` may not begin with a hyphen"
    if _PASSWORD.match(task.repository):
        return "`repository` contains a user or a password; let git's credential helper know them"
    if "://" in task.repository and not task.is_address:
        return f"{task.repository!r}: only addresses with https and ssh can be fetched"
    if not task.prompt.strip():
        return "`prompt` is empty; write what to do"
    if len(task.prompt.encode("utf-8", "replace")) > MOST_PROMPT_B:
        return f"`prompt` has more than {MOST_PROMPT_B:,} bytes; put the text into a file"
    if why := _wrong_texts(task):
        return why
    if task.id and not _ID.fullmatch(task.id):
        return f"`id` {task.id!r} may have letters, digits, `_`, `-` and `.`, at most 80"
    if any(one is not None and not one > 0 for one in (*limits, task.check_time_limit)):
        return "each limit has to be more than 0"
    return ""


def _wrong_texts(task: BatchTask) -> str:
    """Return why the settings or the hidden files cannot be used, or an empty text."""
    try:
        measured_settings(task.settings, "`settings`")
    except SettingsError as error:
        return str(error)
    if task.hidden and not task.check:
        return "`hidden` needs a `check`, which runs with the hidden files"
    for name in task.hidden:
        parts = name.split("/")
        if "\\" in name or ":" in name or any(one in {"", ".", "..", ".git"} for one in parts):
            return f"`hidden` {name!r} is not a relative path with `/` inside the workspace"
    if sum(len(text.encode("utf-8", "replace")) for text in task.hidden.values()) > MOST_HIDDEN_B:
        return f"`hidden` has more than {MOST_HIDDEN_B >> 20} MiB"
    return ""


def left_over(plan: BatchPlan, done: Mapping[str, str]) -> Sequence[BatchTask]:
    """Return the tasks without a result.

    Args:
        plan: The batch.
        done: The digests of the tasks that have a result, by the tasks' ids.

    Raises:
        WrongTasks: A task has another content than at the time of its result.
    """
    for task in plan.tasks:
        if done.get(task.id, task.digest) != task.digest:
            raise WrongTasks(
                f"the task {task.id!r} has changed since its result was written; give the task "
                "another id, or choose another folder with --to"
            )
    return [task for task in plan.tasks if task.id not in done]
