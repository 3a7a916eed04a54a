"""SWE-bench's data sets, predictions and reports, and calls of its official package.

The package is a separate program here: its import takes seconds, and reads variables from a file.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

import msgspec

from indwell.batch.plan import BatchTask, WrongTasks, why_wrong
from indwell.errors import ToolError, UserError
from indwell.files.listing import exists
from indwell.prepared_types import prepared
from indwell.sandbox.environment import own_environment
from indwell.sandbox.program import Finished, run_program

RUN_ID = "indwell"
"""The name of an evaluation for the package, which ends the name of its report."""
_NEEDED = (
    *("DOCKER_HOST", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH", "DOCKER_CONTEXT"),
    *("HF_HOME", "HF_TOKEN", "HF_ENDPOINT", "HF_HUB_OFFLINE"),
    *("HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "https_proxy", "http_proxy", "no_proxy"),
)
"""The variables that the package or its libraries read."""
_ROOT = Path(sys.executable).anchor
"""A folder of the administrator's own: the package reads variables from a file ``.env``."""
_MOST_SHOWN = 300  # Characters of an error message.
_LOADER = """
import json, sys
out, sys.stdout = sys.stdout, sys.stderr
from swebench.harness.utils import load_swebench_dataset
json.dump([dict(row) for row in load_swebench_dataset(sys.argv[1])], out, default=str)
"""
_PING = "import docker, swebench; docker.from_env().ping()"


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
        infra_failure_ids: The tasks whose test environment failed; the package lists them among
            the unresolved, too.
    """

    resolved_ids: frozenset[str]
    unresolved_ids: frozenset[str] = frozenset()
    empty_patch_ids: frozenset[str] = frozenset()
    infra_failure_ids: frozenset[str] = frozenset()

    def outcome(self, task: str) -> bool | None:
        """Return whether a patch solves its task, or None if the check ended with an error."""
        if task in self.resolved_ids:
            return True
        if task in self.infra_failure_ids:
            return None
        return False if task in self.unresolved_ids | self.empty_patch_ids else None


def swe_bench_rows(text: str) -> tuple[SweBenchTask, ...]:
    """Read a data set of SWE-bench, as JSON lines or as a JSON array.

    Raises:
        WrongTasks: A row lacks a field, a list of tests is no JSON, or two rows have one name.
    """
    try:
        if text.lstrip().startswith("["):
            rows = msgspec.json.decode(text, type=prepared(tuple[SweBenchTask, ...]))
        else:
            lines = filter(str.strip, text.splitlines())
            rows = tuple(msgspec.json.decode(line, type=prepared(SweBenchTask)) for line in lines)
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
    """Return tasks without a check, because SWE-bench's own package checks the patches.

    Raises:
        WrongTasks: A row has no valid name, repository, commit or prompt.
    """
    tasks = tuple(
        BatchTask(
            repository=f"https://github.com/{row.repo}.git",
            revision=row.base_commit,
            prompt=row.problem_statement,
            id=row.instance_id,
            labels={"kind": "swe-bench", "language": row.repo},
        )
        for row in rows
    )
    for task in tasks:
        # The name becomes a part of paths, so a name with `/` could lead to any folder.
        if why := why_wrong(task) or ("" if task.id else "`instance_id` is empty"):
            raise WrongTasks(f"{task.id!r}: {why}")
    return tasks


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
        return msgspec.json.decode(report, type=prepared(SweBenchReport))
    except (msgspec.DecodeError, UnicodeError) as error:
        raise WrongTasks(f"the file is no report of SWE-bench: {error}") from error


def has_package() -> bool:
    """Return whether the package ``swebench`` is installed for this Python."""
    return find_spec("swebench") is not None


async def rows_of_package(name: str) -> tuple[SweBenchTask, ...]:
    """Read a data set with the loader of SWE-bench's package.

    Args:
        name: A file, or the name of a data set at the Hugging Face Hub.

    Raises:
        UserError: The package is not installed, or cannot load the data set.
        WrongTasks: A row lacks a field.
    """
    if not has_package():
        raise UserError(
            f"{name}: the data set needs SWE-bench's package; install it for Indwell's Python with "
            "`pip install swebench`, or name a .json or .jsonl file"
        )
    parts: list[bytes] = []
    ended = await _ran(("-c", _LOADER, name), Path(_ROOT), parts.append)
    if ended.exit_code:
        words = _last_line(ended.errors)
        raise UserError(f"SWE-bench's package cannot load {name!r}: {words}")
    return swe_bench_rows(b"".join(parts).decode())


async def check_docker() -> None:
    """Check that SWE-bench's package is installed and reaches Docker.

    Raises:
        UserError: The package is not installed, or does not reach Docker.
    """
    ended = await _ran(("-c", _PING), Path(_ROOT))
    if ended.exit_code:
        raise UserError(
            "--grade needs SWE-bench's package and a running Docker; "
            f"the package says: {_last_line(ended.errors)}"
        )


async def grade(
    dataset: str, predictions_path: Path, side: str, tell: Callable[[bytes], None]
) -> Path:
    """Check patches in Docker with SWE-bench's package; return the path of its report.

    Args:
        dataset: An absolute path, or the name of a data set at the Hugging Face Hub.
        predictions_path: The file with the patches; the report is written beside it.
        side: The name that the predictions give the model.
        tell: Called with each part of the package's output.

    Raises:
        UserError: The package wrote no report.
    """
    folder = predictions_path.parent
    report = folder / f"{side}.{RUN_ID}.json"
    ended = await _ran(grading_words(dataset, predictions_path)[1:], folder, tell)
    if ended.exit_code or not exists(report):
        words = _last_line(ended.errors)
        raise UserError(f"SWE-bench's package wrote no report about {predictions_path}: {words}")
    return report


def grading_words(dataset: str, predictions_path: Path) -> tuple[str, ...]:
    """Return the command line that checks patches in Docker."""
    words = ("python", "-m", "swebench.harness.run_evaluation", "--dataset_name", dataset)
    return (*words, "--predictions_path", str(predictions_path), "--run_id", RUN_ID)


async def _ran(
    words: Sequence[str], folder: Path, tell: Callable[[bytes], None] | None = None
) -> Finished:
    """Run this Python with the package.

    ``-P`` keeps modules of the current folder, which may be anyone's, out of the program.

    Raises:
        UserError: The program cannot be started.
    """
    environment = own_environment()
    needed = {name: environment[name] for name in _NEEDED if name in environment}
    argv = [sys.executable, "-P", *words]
    try:
        return await run_program(
            argv, cwd=folder, timeout_s=None, env=needed, on_chunk=tell, pool=None
        )
    except ToolError as error:
        raise UserError(str(error)) from error


def _last_line(text: bytes) -> str:
    lines = text.decode("utf-8", "replace").strip().splitlines()
    return lines[-1][:_MOST_SHOWN] if lines else "no message"
