"""``indwell batch``: runs the tasks of a file, each in its own workspace, and shows progress."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path

import msgspec
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from indwell.batch.attempt import work_folder
from indwell.batch.child_run import BatchOptions
from indwell.batch.driver import (
    BatchEnding,
    BatchEvent,
    BatchProgress,
    BatchRun,
    Engine,
    LocalEngine,
    TaskBegan,
    TaskEnded,
    TaskLeftOpen,
    TaskWaits,
    is_success,
)
from indwell.batch.plan import BatchPlan, BatchTask, left_over, read_plan
from indwell.batch.purse import Purse
from indwell.batch.records import (
    BatchStore,
    FolderStore,
    TaskResult,
    all_results,
    begin_batch,
    has_begun,
    spent_before,
)
from indwell.cli import DONE, FAILED, LIMITED, code_of_stop
from indwell.cli.run.batch_grammar import BatchArguments
from indwell.cli.terminal.interruptible_work import wait_for
from indwell.cli.terminal.json_line import json_line
from indwell.cli.terminal.telling import tell, told
from indwell.context.untrusted_text import one_line, visible
from indwell.errors import ToolError, UserError, WrongArgument, reason
from indwell.files.append_log import make_private_folder
from indwell.files.locks import locked
from indwell.files.private import read_own
from indwell.sandbox.environment import own_environment
from indwell.service.user_settings import read_settings
from indwell.sessions.storage.spending import SpendingLedger
from indwell.settings.load import lacking
from indwell.settings.paths import state_folder, user_file

MOST_TASKS_B = 256 << 20
ENDING_CODES: Mapping[BatchEnding, int] = {"done": DONE, "budget": LIMITED}
_MOST_MESSAGE = 200
_LINES_S = 30.0  # the time between two lines about the state while no task ends, in seconds


class DryRun(msgspec.Struct, frozen=True, rename="camel"):
    """What a batch would do.

    Attributes:
        tasks: All tasks.
        repositories: The repositories of the tasks.
        left: The tasks without a result.
        spent: US dollars that earlier runs have spent.
        most_cost: US dollars that the tasks without a result may cost at most; None without limits.
        expected_cost: The same from the mean of the results; None without a result or a price.
        expected_tokens: Tokens from the mean of the results; None without a result.
    """

    tasks: int
    repositories: int
    left: int
    spent: float
    most_cost: float | None
    expected_cost: float | None
    expected_tokens: int | None


def batch(arguments: BatchArguments) -> int:
    """Run the batch; return the exit code.

    Raises:
        UserError: The tasks cannot be read, or the batch cannot begin.
    """
    plan = read_tasks(arguments.tasks)
    if arguments.dry_run:
        return dry_run(arguments, plan)
    try:
        ending, final = run_plan(arguments, plan)
    except KeyboardInterrupt as stop:
        tell("stopped; go on with --resume", file=sys.stderr)
        return code_of_stop(stop)
    if not arguments.json:
        tell(f"results: {arguments.place}", file=sys.stderr)
    is_good = all(task.id in final and is_success(final[task.id]) for task in plan.tasks)
    return ENDING_CODES.get(ending, FAILED) if is_good or ending != "done" else FAILED


def dry_run(arguments: BatchArguments, plan: BatchPlan) -> int:
    """Print what the batch would do; return 0.

    Raises:
        UserError: The earlier results cannot be read.
    """
    _, results, store, _ = _begun(arguments)
    left = left_over(plan, {name: one.digest for name, one in results.items()})
    earlier = [results[task.id] for task in plan.tasks if task.id in results]
    spent = spent_before(store, results)
    limits = [BatchPlan(tuple(left)).most_cost, arguments.max_cost]
    if arguments.max_cost is not None:
        limits[1] = max(0.0, arguments.max_cost - spent)
    most = min((one for one in limits if one is not None), default=None)
    _tell_dry_run(_dry_run(plan, len(left), earlier, spent, most), as_json=arguments.json)
    return DONE


def run_plan(
    arguments: BatchArguments, plan: BatchPlan
) -> tuple[BatchEnding, Mapping[str, TaskResult]]:
    """Run the tasks that have no result; return how the batch ended, and all results.

    Raises:
        UserError: The batch cannot begin.
        KeyboardInterrupt: The user stopped the batch; the running attempts have ended.
    """
    is_begun, results, store, is_ray = _begun(arguments)
    left = left_over(plan, {name: one.digest for name, one in results.items()})
    earlier = [results[task.id] for task in plan.tasks if task.id in results]
    if is_begun and not arguments.resume:
        raise WrongArgument(
            f"{arguments.place!r} has results already; go on with --resume, or choose another --to"
        )
    environment = own_environment()  # A second call would lack the secrets.
    if not (is_ray or arguments.scripted):
        _check_models(left, environment)
    with _only_driver(arguments):
        if not is_begun:
            begin_batch(store, plan)
        ending = wait_for(_run(arguments, environment, store, left, earlier, is_ray=is_ray))
    return ending, all_results(store)


def _check_models(tasks: Sequence[BatchTask], environment: Mapping[str, str]) -> None:
    """Refuse tasks without a usable model before the first attempt, because results are final.

    Raises:
        UserError: The settings lack a model or a key for a task.
    """
    own = read_settings(environment).settings
    for model in sorted({task.model for task in tasks}):
        settings = msgspec.structs.replace(own, model=model or own.model)
        if missing := lacking(settings, str(user_file())):
            raise UserError(missing)


def _begun(
    arguments: BatchArguments,
) -> tuple[bool, Mapping[str, TaskResult], BatchStore, bool]:
    """Return whether the batch has begun, its results, their place, and whether Ray runs it.

    Raises:
        UserError: The place cannot be used, or --resume has no batch.
    """
    store, is_ray = _store(arguments)
    is_begun = has_begun(store)
    if arguments.resume and not is_begun:
        raise WrongArgument(
            f"--resume: nothing has begun in {arguments.place!r}; leave out --resume"
        )
    return is_begun, all_results(store) if is_begun else {}, store, is_ray


def read_tasks(place: str) -> BatchPlan:
    """Read a file of tasks.

    Raises:
        WrongArgument: The file cannot be read, or has an invalid task.
    """
    path = Path(place)
    try:
        text = read_own(path, MOST_TASKS_B).decode("utf-8-sig")
    except (OSError, ToolError, UnicodeDecodeError) as error:
        raise WrongArgument(f"TASKS: {place!r} cannot be read ({reason(error)})") from error
    folder = str(path.resolve().parent)
    try:
        return read_plan(text, is_toml=path.suffix == ".toml", folder=folder)
    except UserError as error:
        raise WrongArgument(f"{place}: {error}") from error


def _store(arguments: BatchArguments) -> tuple[BatchStore, bool]:
    """Return the place of the results, and whether the attempts run on Ray.

    Raises:
        UserError: Ray is not installed, or the place cannot be used.
    """
    is_ray = arguments.on == "ray"
    if not is_ray and "://" not in arguments.place:
        return FolderStore(Path(arguments.place)), False
    if not is_ray:
        raise WrongArgument("--to: an address needs --on ray; name a folder")
    if any(find_spec(name) is None for name in ("ray", "fsspec")):
        raise UserError(
            "--on ray: Ray is not installed; install it with `pip install 'indwell[ray]'`"
        )
    from indwell.batch.on_ray import store_at

    return store_at(arguments.place), True


@contextmanager
def _only_driver(arguments: BatchArguments) -> Iterator[None]:
    """Exclude another ``indwell batch`` with the same results; an object store has no locks.

    Raises:
        UserError: Another process runs the batch, or the folder cannot be written.
    """
    if "://" in arguments.place:
        yield
        return
    try:
        make_private_folder(Path(arguments.place))
    except OSError as error:
        raise UserError(f"--to: {arguments.place!r} cannot be written ({reason(error)})") from error
    try:
        with locked(Path(arguments.place) / "lock", timeout_s=0):
            yield
    except TimeoutError as error:
        raise UserError(f"another `indwell batch` runs in {arguments.place!r}") from error


async def _run(
    arguments: BatchArguments,
    environment: Mapping[str, str],
    store: BatchStore,
    left: Sequence[BatchTask],
    earlier: list[TaskResult],
    *,
    is_ray: bool,
) -> BatchEnding:
    spent = spent_before(store, {one.id: one for one in earlier})
    ledger = SpendingLedger(state_folder(environment), lambda: datetime.now(UTC))
    try:
        budget, named = await _budget(arguments, environment, ledger, spent)
        options = BatchOptions(
            arguments.trust, arguments.allow_commands, arguments.scripted, arguments.secret
        )
        engine: Engine
        work = work_folder(environment, arguments.place)
        if is_ray:
            from indwell.batch.on_ray import RayEngine

            if address := os.environ.get("RAY_ADDRESS"):
                print(told(f"connecting to the Ray cluster at {address}"), file=sys.stderr)
            engine = RayEngine(
                arguments.place,
                budget=budget,
                tokens_per_minute=arguments.tokens_per_minute,
                spent=spent,
                named=named,
                n_workers=arguments.jobs,
                secrets={name: environment.get(name, "") for name in arguments.secret},
                environment=environment,
            )
        else:
            now = asyncio.get_running_loop().time()
            purse = Purse(budget, arguments.tokens_per_minute, spent=spent, named=named, now=now)
            engine = LocalEngine(
                store,
                work,
                purse,
                environment,
                n_workers=arguments.jobs or os.cpu_count() or 1,
                secrets=arguments.secret,
            )
        await engine.close_orphans()
        with _view(arguments) as view:
            tell = _adding(view, ledger, spent)
            return await BatchRun(left, options, engine, store, tell, earlier=earlier).run()
    finally:
        await ledger.close()


async def _budget(
    arguments: BatchArguments, environment: Mapping[str, str], ledger: SpendingLedger, spent: float
) -> tuple[float | None, str]:
    """Return the budget of the batch, and the name of the option or setting that sets it.

    The sessions of the tasks have a state folder of their own, so the batch enforces the budget of
    the day for all of them.
    """
    day = (await asyncio.to_thread(read_settings, environment)).settings.budget_day
    limits = (
        []
        if arguments.max_cost is None
        else [(arguments.max_cost, f"--max-cost {arguments.max_cost:g}")]
    )
    if day is not None:
        left = max(0.0, day - await ledger.today())
        limits.append((spent + left, f"budget_day = {day:g}"))
    return min(limits) if limits else (None, "")


def _adding(
    view: Callable[[BatchEvent], None], ledger: SpendingLedger, spent: float
) -> Callable[[BatchEvent], None]:
    """Return a listener that also adds the cost of ended calls to the ledger of the day."""
    so_far = spent

    def tell(event: BatchEvent) -> None:
        nonlocal so_far
        if isinstance(event, BatchProgress) and event.cost > so_far:
            ledger.add(event.cost - so_far)
            so_far = event.cost
        view(event)

    return tell


def _dry_run(
    plan: BatchPlan, n_left: int, earlier: list[TaskResult], spent: float, most: float | None
) -> DryRun:
    costs = [one.receipt.cost for one in earlier if one.receipt.cost is not None]
    tokens = [one.receipt.input + one.receipt.output for one in earlier]
    return DryRun(
        len(plan.tasks),
        len({task.repository for task in plan.tasks}),
        n_left,
        spent,
        most,
        sum(costs) / len(costs) * n_left if costs else None,
        round(sum(tokens) / len(tokens) * n_left) if tokens else None,
    )


def _tell_dry_run(dry: DryRun, *, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(json_line(dry) + "\n")
        return
    tell(
        f"tasks: {dry.tasks:,}, repositories: {dry.repositories:,}, without a result: {dry.left:,}"
    )
    if dry.most_cost is None:
        tell("cost at most: not limited; set --max-cost, or `max_cost` in each task")
    else:
        tell(f"cost at most: ${dry.most_cost:,.2f}, by `max_cost` of the tasks or --max-cost")
    if dry.spent:
        tell(f"spent so far: ${dry.spent:,.4f}")
    if dry.expected_tokens is None:
        tell(
            "expected cost: not known before the first result; end a run with Ctrl-C after some "
            "results, then use --dry-run again"
        )
    else:
        money = "" if dry.expected_cost is None else f", ${dry.expected_cost:,.2f}"
        tell(f"expected, from the results so far: {dry.expected_tokens:,} tokens{money}")


@contextmanager
def _view(arguments: BatchArguments) -> Iterator[Callable[[BatchEvent], None]]:
    """Show events as JSON lines, as a bar on a terminal, or as plain lines."""
    if arguments.json:
        yield _print_json
    elif not sys.stderr.isatty():
        yield _Lines(lambda line: print(line, file=sys.stderr)).take
    else:
        columns = (BarColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
        with Progress(*columns, console=Console(stderr=True)) as bar:
            lines = _Lines(lambda line: bar.console.print(escape(line)))
            shown = bar.add_task(told("starting"))

            def tell(event: BatchEvent) -> None:
                lines.take(event, is_quiet=True)
                if isinstance(event, BatchProgress):
                    bar.update(
                        shown,
                        total=event.total,
                        completed=event.done + event.failed + event.open,
                        description=escape(told(progress_words(event))),
                    )

            yield tell


class _Lines:
    """Writes a line for each task that ended, waits or stays open, and the state in between."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._last, self._last_at = -1, 0.0

    def take(self, event: BatchEvent, *, is_quiet: bool = False) -> None:
        """Take an event; a quiet view writes only what went wrong."""
        match event:
            case TaskEnded(result=result) if not (is_quiet and is_success(result)):
                self._write(visible(told(result_words(result))))
            case TaskWaits(id=name, message=message, seconds=seconds):
                why = one_line(message)[:_MOST_MESSAGE]
                self._write(visible(told(f"{name}: tried again in {seconds:.0f} s: {why}")))
            case TaskLeftOpen(id=name, message=message):
                why = one_line(message)[:_MOST_MESSAGE] or "stopped"
                self._write(visible(told(f"{name}: no result: {why}")))
            case BatchProgress() if not is_quiet:
                n_ended, now = event.done + event.failed + event.open, time.monotonic()
                if n_ended != self._last or now - self._last_at >= _LINES_S:
                    self._last, self._last_at = n_ended, now
                    self._write(told(progress_words(event)))
            case _:
                pass


def progress_words(now: BatchProgress) -> str:
    """Return the state of a batch in one line."""
    ended = now.done + now.failed + now.open
    parts = [f"{ended}/{now.total}", f"{now.done} done", f"{now.running} running"]
    parts += [f"{now.failed} failed"] if now.failed else []
    parts += [f"{now.open} without a result"] if now.open else []
    parts += [f"${now.cost:.4f}", f"{now.per_minute:g} a minute"]
    parts += [f"{now.left_s:.0f} s left"] if now.left_s else []
    return ", ".join(parts)


def result_words(result: TaskResult) -> str:
    """Return a task's result in one line."""
    patch = result.patch
    parts = [f"{result.id}: {result.ending}"]
    if patch.files:
        if len(patch.files) == 1:
            parts.append(f"1 file +{patch.added} -{patch.removed}")
        else:
            parts.append(f"{len(patch.files)} files +{patch.added} -{patch.removed}")
    elif result.ending == "done":
        parts.append("no file changed")
    if result.after is not None:
        codes = [one.exit_code for one in (result.before, result.after) if one is not None]
        words = ["not run" if one is None else "passed" if one == 0 else "failed" for one in codes]
        parts.append(f"check {' → '.join(words)}")
    if result.ending != "done" and result.message:
        parts.append(one_line(result.message)[:_MOST_MESSAGE])
    return ", ".join(parts)


def _print_json(event: BatchEvent) -> None:
    if not isinstance(event, TaskBegan):
        sys.stdout.write(json_line(event) + "\n")
        sys.stdout.flush()
