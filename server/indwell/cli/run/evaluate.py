"""``indwell eval``: runs a suite with ``indwell batch``, and writes the report."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from itertools import product
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from indwell.batch.plan import BatchPlan, BatchTask, WrongTasks
from indwell.batch.records import FolderStore, TaskResult
from indwell.cli import DONE, FAILED, code_of_stop
from indwell.cli.run.batch import ENDING_CODES, MOST_TASKS_B, dry_run, read_tasks, run_plan
from indwell.cli.run.evaluate_grammar import SWE_BENCH, EvalArguments
from indwell.cli.terminal.interruptible_work import wait_for
from indwell.cli.terminal.json_line import json_line
from indwell.cli.terminal.telling import tell, told
from indwell.context.untrusted_text import visible
from indwell.errors import SettingsError, ToolError, UserError, WrongArgument
from indwell.evaluation.own_sessions import session_runs
from indwell.evaluation.page import eval_page
from indwell.evaluation.report import (
    HEADER,
    REPORT_FORM,
    EvalReport,
    difference_words,
    report_of,
    run_of,
    table_rows,
)
from indwell.evaluation.suites import (
    SHIPPED,
    EvalArm,
    batch_tasks,
    expanded,
    shipped_tasks,
    side_in,
    workspace_files,
)
from indwell.evaluation.swe_bench import (
    SweBenchTask,
    check_docker,
    grade,
    grading_words,
    has_package,
    is_swe_bench,
    predictions,
    rows_of_package,
    swe_bench_report,
    swe_bench_rows,
    swe_bench_tasks,
)
from indwell.files.append_log import make_private_folder
from indwell.files.private import read_own, replace_own, write_once
from indwell.sandbox.environment import own_environment
from indwell.settings.load import measured_settings
from indwell.settings.paths import state_folder

SESSIONS = "sessions"
_PLAIN_WIDTH = 160  # The number of columns without a terminal.


def evaluate(arguments: EvalArguments) -> int:
    """Run the suite and write the report; return the exit code.

    Raises:
        UserError: The suite cannot be read, or the runs cannot begin.
    """
    if "://" in arguments.to:
        raise WrongArgument("--to: the report needs a folder, not an address")
    if (state := _sessions_folder(arguments)) is not None:
        return _publish(arguments, _session_report(state), FAILED)
    arms = [
        EvalArm(model, effort, *named)
        for model, effort, named in product(
            arguments.model or ("",), arguments.effort or (None,), _settings(arguments)
        )
    ]
    if len({arm.name for arm in arms}) < len(arms):
        raise WrongArgument("--model, --effort, --settings: a value occurs twice")
    by_seed, is_swe = _tasks(arguments)
    try:
        plan = expanded(by_seed, arms)
    except WrongTasks as error:
        raise WrongArgument(f"{arguments.suite}: {error}") from error
    batch = arguments.batch(trust=arguments.trust or arguments.suite == SHIPPED)
    if arguments.dry_run:
        return dry_run(batch, plan)
    if arguments.suite == SHIPPED:
        _write_workspaces(arguments)
    if arguments.grade:
        wait_for(check_docker())
    try:
        ending, results = run_plan(batch, plan)
    except KeyboardInterrupt as stop:
        tell("stopped; go on with --resume", file=sys.stderr)
        return code_of_stop(stop)
    graded = [Path(one) for one in arguments.graded]
    if is_swe:
        graded += _write_predictions(arguments, plan, results, [one.name for one in graded])
    report = _report(arguments, plan, results, arms, graded)
    return _publish(arguments, report, ENDING_CODES.get(ending, FAILED))


def _sessions_folder(arguments: EvalArguments) -> Path | None:
    """Return the state folder whose sessions are the suite, or None for another suite."""
    if arguments.suite == SESSIONS:
        return state_folder(own_environment())
    place = Path(arguments.suite)
    return place if arguments.suite != SHIPPED and place.is_dir() else None


def _settings(arguments: EvalArguments) -> Sequence[tuple[str, str]]:
    """Return the name and the text of each file of settings.

    Raises:
        WrongArgument: A file cannot be read, or has a setting that cannot be measured.
    """
    found = [(Path(one).stem, _text(Path(one))) for one in arguments.settings]
    try:
        for place, (_, text) in zip(arguments.settings, found, strict=True):
            measured_settings(text, place)
    except SettingsError as error:
        raise WrongArgument(f"--settings: {error}") from error
    return found or [("", "")]


def _tasks(arguments: EvalArguments) -> tuple[Mapping[int, Sequence[BatchTask]], bool]:
    """Return the tasks for each seed, and whether SWE-bench's package checks the patches.

    Raises:
        WrongArgument: The suite cannot be read, or has no task for --only.
    """
    seeds = range(1, arguments.seeds + 1)
    is_swe = False
    if arguments.suite == SHIPPED:
        folder = str(_workspaces(arguments))
        by_seed = {seed: batch_tasks(seed, shipped_tasks(seed), folder) for seed in seeds}
    else:
        try:
            rows = _swe_bench(arguments.suite)
            is_swe = rows is not None
            tasks: Sequence[BatchTask] = (
                read_tasks(arguments.suite).tasks if rows is None else swe_bench_tasks(rows)
            )
        except WrongTasks as error:
            raise WrongArgument(f"{arguments.suite}: {error}") from error
        by_seed = {seed: tuple(tasks) for seed in seeds}
    chosen = {
        seed: tuple(task for task in tasks if fnmatchcase(task.id, arguments.only))
        for seed, tasks in by_seed.items()
    }
    if arguments.grade and not is_swe:
        raise WrongArgument("--grade: only a data set of SWE-bench needs it; leave out --grade")
    if not chosen[1]:
        raise WrongArgument(f"--only {arguments.only!r}: the suite has no such task")
    return chosen, is_swe


def _swe_bench(suite: str) -> Sequence[SweBenchTask] | None:
    """Return the rows of a data set of SWE-bench, or None for a suite of another format.

    The package's own loader reads the data set if the package is installed.

    Raises:
        UserError: The suite cannot be read.
    """
    path = Path(suite)
    if suite.startswith(SWE_BENCH) or path.suffix == ".parquet":
        return wait_for(rows_of_package(_data_set(suite)))
    text = "" if path.suffix == ".toml" else _text(path)
    if not is_swe_bench(text):
        return None
    is_for_package = has_package() and path.suffix in {".json", ".jsonl"}
    return wait_for(rows_of_package(_data_set(suite))) if is_for_package else swe_bench_rows(text)


def _data_set(suite: str) -> str:
    """Return the name of a data set for SWE-bench's package."""
    if suite.startswith(SWE_BENCH):
        return suite.removeprefix(SWE_BENCH)
    return str(Path(suite).resolve())


def _text(path: Path) -> str:
    """Read a file of the user.

    Raises:
        WrongArgument: The file cannot be read.
    """
    try:
        return read_own(path, MOST_TASKS_B).decode("utf-8-sig")
    except (OSError, ToolError, UnicodeDecodeError) as error:
        words = f"{str(path)!r} cannot be read: {error}"
        if path.suffix:
            raise WrongArgument(words) from error
        raise WrongArgument(
            f"{words}; the suites are `{SHIPPED}`, `{SESSIONS}`, a file or a state folder"
        ) from error


def _workspaces(arguments: EvalArguments) -> Path:
    return arguments.place / "workspaces"


def _write_workspaces(arguments: EvalArguments) -> None:
    """Write the folders of the shipped suite; a folder that exists has the same files already."""
    for seed in range(1, arguments.seeds + 1):
        chosen = [one for one in shipped_tasks(seed) if fnmatchcase(one.id, arguments.only)]
        for name, text in workspace_files(seed, chosen).items():
            path = _workspaces(arguments) / name
            make_private_folder(path.parent)
            write_once(path, text.encode())


def _report(
    arguments: EvalArguments,
    plan: BatchPlan,
    results: Mapping[str, TaskResult],
    arms: Sequence[EvalArm],
    graded_in: Sequence[Path],
) -> EvalReport:
    reports = {
        ".".join(place.name.split(".")[:2]): swe_bench_report(_text(place).encode())
        for place in graded_in
    }
    runs = []
    for task in plan.tasks:
        if task.id not in results:
            continue
        run = run_of(results[task.id])
        if (graded := reports.get(side_in(task.id))) is not None:
            passed = graded.outcome(run.task)
            why = {True: "", False: "the tests fail", None: "no outcome in the report"}[passed]
            run = msgspec.structs.replace(run, passed=passed, why=why)
        runs.append(run)
    n_open = len(plan.tasks) - len(runs)
    notes = (
        [f"{n_open} of {len(plan.tasks)} runs have no result yet; run them with --resume."]
        if n_open
        else []
    )
    return report_of(
        arguments.name,
        _today(),
        runs,
        arms=[arm.name for arm in arms],
        notes=notes,
    )


def _session_report(state: Path) -> EvalReport:
    """Return the report about the sessions of a state folder.

    Raises:
        UserError: The sessions cannot be read, or the user judged no changes.
    """
    runs = session_runs(state)
    if not runs:
        raise UserError(
            "no session has a change that you accepted or rejected; review some changes first"
        )
    words = (
        "A run is a past session; it passed if you accepted each change that you judged. "
        "The models had different tasks, so their rates cannot be compared as in an experiment."
    )
    arms = sorted({one.arm for one in runs})
    return report_of("own sessions", _today(), runs, arms=arms, notes=(words,), is_paired=False)


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


def _publish(arguments: EvalArguments, report: EvalReport, code: int) -> int:
    """Write and print the report; return 0 if each run has an outcome, otherwise ``code``."""
    make_private_folder(arguments.place)
    page = arguments.place / "report.html"
    replace_own(page, eval_page(report).encode("utf-8", "replace"))
    written = REPORT_FORM.encode(report)
    replace_own(arguments.place / "report.json", written + b"\n")
    if arguments.json:
        sys.stdout.write(json_line(msgspec.Raw(written)) + "\n")
    else:
        _print(report)
        tell(visible(f"page: {page}"))
    n_missing = sum(one.n_missing for one in report.arms)
    is_whole = not n_missing and not report.notes
    return (
        DONE if is_whole or (_sessions_folder(arguments) and not n_missing) else max(code, FAILED)
    )


def _print(report: EvalReport) -> None:
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=_PLAIN_WIDTH)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in HEADER:
        table.add_column(name, justify="left" if name == HEADER[0] else "right", no_wrap=True)
    for row in table_rows(report):
        table.add_row(*map(Text, map(visible, row)))
    console.print(table)
    for words in (*map(difference_words, report.differences), *report.notes):
        console.print(Text(visible(told(words))))


def _show(part: bytes) -> None:
    """Show output of SWE-bench's package."""
    sys.stderr.write(visible(part.decode("utf-8", "replace")))


def _write_predictions(
    arguments: EvalArguments,
    plan: BatchPlan,
    results: Mapping[str, TaskResult],
    known: Sequence[str],
) -> Sequence[Path]:
    """Write the patches for SWE-bench's package; with --grade, return the package's reports.

    Args:
        arguments: The options.
        plan: The runs.
        results: The results of the runs.
        known: The names of the reports that the user has already.

    Raises:
        UserError: The package wrote no report.
    """
    store, sides = FolderStore(arguments.place), dict[str, dict[str, str]]()
    for task in plan.tasks:
        if result := results.get(task.id):
            name = result.files.get("patch.diff", "")
            patch = (store.read(name) if name else None) or b""
            side = side_in(task.id)
            own = sides.setdefault(side, {})
            own[result.labels["task"]] = patch.decode("utf-8", "replace")
    graded = []
    for side, patches in sides.items():
        path = arguments.place / f"predictions.{side}.jsonl"
        replace_own(path, predictions(patches, side).encode())
        if any(one.startswith(f"{side}.") for one in known):
            continue
        if arguments.grade:
            work = grade(_data_set(arguments.suite), path, side, _show)
            graded.append(wait_for(work))
            continue
        words = shlex.join(grading_words(_data_set(arguments.suite), path))
        tell(
            visible(f"to check {side} in Docker, use --resume --grade, or run: {words}"),
            file=sys.stderr,
        )
    return graded
