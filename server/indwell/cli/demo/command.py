"""``indwell demo``: runs a whole task with the real server and a real LSP client."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.markup import escape

from indwell.agent.core import events
from indwell.cli.demo.client import DemoClient, DemoDocument
from indwell.cli.terminal.front_door import TerminalApprover
from indwell.cli.terminal.interruptible_work import wait_for
from indwell.cli.terminal.json_line import json_line
from indwell.cli.terminal.output import TerminalView, cost_words
from indwell.cli.terminal.telling import terminal_translation
from indwell.errors import SettingsError, UserError
from indwell.files.append_log import make_private_folder
from indwell.messages import Usage
from indwell.policy.approvals import Chosen, Question
from indwell.prepared_types import prepared
from indwell.providers.scripted import CHECK, DEMO_MODEL
from indwell.sandbox.program import run_program
from indwell.service.demo_project import PACE_S, Project, make_project
from indwell.service.user_settings import read_settings
from indwell.settings.load import lacking
from indwell.settings.model import Settings
from indwell.settings.paths import user_file
from indwell.workspace.comparing.diff import unified_diff
from indwell.workspace.disk import DiskWorkspace

CHECK_TIMEOUT_S = 60.0
TURN_TIMEOUT_S = 900.0  # the time limit in seconds, because a slow local model takes minutes

IN_A_PROJECT = (
    "In your own project, the change would now wait for your review: `indwell review`. The demo "
    "deletes its project at the end."
)


class Tokens(msgspec.Struct, frozen=True):
    """The tokens that the turn used."""

    input: int
    cached: int
    output: int


class DemoReport(msgspec.Struct, frozen=True):
    """The output of ``--json``; ``before`` and ``after`` are ``passed`` or ``failed``."""

    ok: bool
    model: str
    diff: str
    before: str
    after: str
    turns: int
    rounds: int
    tokens: Tokens
    cost: float | None
    seconds: float
    message: str = ""


class DemoRun:
    """One run of the demo.

    Args:
        console: Shows the steps, except with ``--json``.
        settings: The settings, which select the model.
        project: The project to fix.
        folder: The folder in which the project is created.
        environment: The environment variables of the server's process.
    """

    def __init__(
        self,
        console: Console,
        settings: Settings,
        project: Project,
        folder: Path,
        environment: Mapping[str, str],
    ) -> None:
        self._environment = environment
        self._console = console
        self._project = project
        self._folder = folder
        self._scripted = settings.provider == "scripted"
        self._model = DEMO_MODEL if self._scripted else settings.model
        self._view = TerminalView(console)
        self._finished: events.TurnFinished | None = None

    async def play(self) -> DemoReport:
        """Create the project, fix the bug through the server, and check the result."""
        started = time.monotonic()
        await self._make()
        before = await self._check()
        self._say(f"The check before: {before}")
        document, original = await self._fix()
        after = await self._check()
        diff = unified_diff(original, document.text, self._project.path)
        self._say("\nWhat changed in the buffer, in one undoable edit each:")
        self._view.diff(diff)
        self._say(f"The check after: {after}")
        finished = self._finished
        usage = finished.usage if finished else Usage()
        return DemoReport(
            ok=before == "failed" and after == "passed",
            model=self._model,
            diff=diff,
            before=before,
            after=after,
            turns=1,
            rounds=finished.rounds if finished else 0,
            tokens=Tokens(usage.input, usage.cached, usage.output),
            cost=finished.cost if finished else None,
            seconds=round(time.monotonic() - started, 2),
            message=_reason(before, after, finished),
        )

    async def _make(self) -> None:
        disk = DiskWorkspace([self._folder])
        for name, text in self._project.files.items():
            await disk.write(disk.resolve(name), None, text, label="demo")
        who = (
            "the scripted model that ships with Indwell (no language model, no key, no network)"
            if self._scripted
            else f"the model {self._model}"
        )
        self._say(f"[bold]Indwell demo[/] with {who}")
        self._say(
            f"A made-up project in {self._folder}: {self._project.function}() in "
            f"{self._project.path}, lines {self._project.first_line}-{self._project.last_line}, "
            "has a fault."
        )

    async def _fix(self) -> tuple[DemoDocument, str]:
        """Start the server, open the file, choose "Fix this", and wait until the turn ends."""
        client = DemoClient(self._folder, on_event=self._show, permit=self._permit)
        command = [sys.executable, "-m", "indwell", "serve", "--stdio"]
        if self._scripted:
            command += ["--scripted", "--pace", str(PACE_S if not self._console.quiet else 0.0)]
        original = self._project.files[self._project.path]
        try:
            await client.start(command, self._environment)
            document = client.open(self._folder / self._project.path, original)
            fixing = client.choose_action(
                document, self._project.first_line, self._project.last_line, "Fix this"
            )
            self._say('Selected it in the editor and chose the code action "Fix this".\n')
            if await fixing is None:
                raise UserError(client.messages[-1] if client.messages else "nothing was started")
            await client.wait_for_turn(TURN_TIMEOUT_S)
            client.save(document)
        finally:
            await client.stop()
        return document, original

    async def _check(self) -> str:
        """Run the project's check with this Python; no shell is used, because it may be missing."""
        words = [sys.executable, *CHECK.split()[1:]]
        finished = await run_program(words, cwd=self._folder, timeout_s=CHECK_TIMEOUT_S)
        return "passed" if finished.exit_code == 0 else "failed"

    def _show(self, event: Mapping[str, Any]) -> None:
        known = msgspec.convert(event, type=prepared(events.Event))
        n_changes = 0
        if isinstance(known, events.TurnFinished):
            self._finished = known
            n_changes = known.to_review
            known = msgspec.structs.replace(known, to_review=0)  # the project is deleted soon
        if not self._console.quiet:
            self._view(known)
        if n_changes:
            self._say(IN_A_PROJECT)

    async def _permit(self, params: Mapping[str, Any]) -> str:
        """Allow the scripted model's calls and the project's own check.

        The user is asked about all other calls.
        """
        question = msgspec.convert({**params, "rule": "", "hunks": ()}, prepared(Question))
        self._say(f"  [yellow]{escape(question.title)}[/] {escape(question.detail)}")
        if self._scripted or question.detail == CHECK:
            self._say("  [yellow]The demo answers: Once[/]")
            return "once"
        reply = await TerminalApprover(self._console).ask(question)
        return "no" if isinstance(reply, Chosen) else reply

    def _say(self, markup: str) -> None:
        self._console.print(
            terminal_translation().of_markup(markup), highlight=False, soft_wrap=True
        )


def demo(*, seed: int, as_json: bool, scripted: bool) -> int:
    """Run the demo; return 0 if the check fails before the demo and passes after the demo."""
    console = Console(quiet=as_json)
    try:
        settings = read_settings(os.environ).settings
        if scripted or not _is_paid_for(os.environ):
            settings = msgspec.structs.replace(settings, provider="scripted")
        problem = lacking(settings, str(user_file()))
        if problem:
            raise SettingsError(f"{problem}; or add --scripted to see it without a model")
        say = terminal_translation().of_markup
        console.print(say(f"[dim]seed {seed}[/]"), highlight=False)
        with tempfile.TemporaryDirectory(prefix="indwell-demo-") as name:
            folder = Path(name).resolve() / "project"
            make_private_folder(folder)
            # The demo's sessions are deleted with its folder, unless the user chose a state folder.
            environment = {
                "INDWELL_STATE": str(Path(name).resolve() / "state"),
                **os.environ,
                # The demo may trust the folder, because the demo has just created it.
                "INDWELL_TRUSTED": str(folder),
            }
            if sys.platform == "win32":  # on Windows, PATH often contains no Python
                ours = str(Path(sys.executable).parent)
                environment["PATH"] = os.pathsep.join([ours, os.environ.get("PATH", "")])
            demo_run = DemoRun(console, settings, make_project(seed), folder, environment)
            report = wait_for(demo_run.play())
    except UserError as error:
        report = _not_run(str(error))
    if as_json:
        sys.stdout.write(json_line(report) + "\n")
    elif report.ok:
        tokens = report.tokens
        done = (
            f"[green]Done[/] in {report.seconds:.1f} s: {report.rounds} rounds, "
            f"{tokens.input:,} tokens in, {tokens.output:,} out, {cost_words(report.cost)}."
        )
        console.print(terminal_translation().of_markup(done), highlight=False)
    else:
        why = escape(report.message)
        words = terminal_translation().of_markup(f"[red]It did not work:[/] {why}")
        console.print(words, highlight=False, soft_wrap=True)
    return 0 if report.ok else 1


def _is_paid_for(environment: Mapping[str, str]) -> bool:
    """Return whether this shell's environment names a model.

    The demo must not spend money on a stored model.
    """
    given = {name for name, text in environment.items() if text.strip()}
    return "INDWELL_MODEL" in given and bool(given & {"OPENAI_API_KEY", "OPENAI_BASE_URL"})


def _reason(before: str, after: str, finished: events.TurnFinished | None) -> str:
    """Return the reason why the demo failed, in one sentence, or an empty text after success."""
    if before == "failed" and after == "passed":
        return ""
    if finished is None:
        return "the turn did not end"
    if finished.ending != "done" and finished.message:
        return finished.message
    if before == "passed":
        return "the check passed before anything was fixed"
    return "the turn ended, and the check still fails; another model may do better"


def _not_run(message: str) -> DemoReport:
    return DemoReport(
        ok=False,
        model="",
        diff="",
        before="",
        after="",
        turns=0,
        rounds=0,
        tokens=Tokens(0, 0, 0),
        cost=None,
        seconds=0.0,
        message=message,
    )
