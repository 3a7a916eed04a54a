"""Problems from the editor: requested or pushed, late, never, or of another version."""

from __future__ import annotations

import asyncio
from pathlib import Path

from lsprotocol import types
from lsprotocol.types import Position, Range

from indwell.agent.features.checks.turn_checks import KnownProblems
from indwell.context.attachments import Problem
from indwell.lsp.messages.context import (
    DiagnosticsParams,
    DiagnosticsResult,
    DocumentDiagnostics,
    SourceDiagnostics,
)
from indwell.lsp.messages.features import ClientFeatures
from indwell.lsp.messages.methods import DidChangeDiagnosticsParams
from indwell.lsp.prompts.diagnostics import BY, LEAST_S, EditorProblems
from indwell.lsp.wire import sync
from indwell.lsp.workspace.documents import Documents
from indwell.settings.model import Settings
from support.virtual_time import run

PATH = Path("/w/a.py").absolute()
URI = PATH.as_uri()
OTHER = Path("/w/b.py").absolute()
WRONG = types.Diagnostic(
    range=Range(start=Position(line=1, character=0), end=Position(line=1, character=3)),
    message="wrong",
    source="lint",
)
SAID = (Problem(2, "error", "wrong", "lint", last_line=2),)


class FakeClient:
    """Answers ``indwell/diagnostics`` as a test says; by default, never."""

    def __init__(self, *names: str) -> None:
        self.features = ClientFeatures(experimental=frozenset(names))
        self.answer: DiagnosticsResult | None = None
        self.asked: list[tuple[DiagnosticsParams, float]] = []

    async def diagnostics(
        self, params: DiagnosticsParams, timeout_s: float
    ) -> DiagnosticsResult | None:
        self.asked.append((params, timeout_s))
        if self.answer is None:
            await asyncio.sleep(timeout_s)
        return self.answer


class Desk:
    """A problem source with an open document."""

    def __init__(self, *names: str, settings: Settings | None = None) -> None:
        self.documents = Documents()
        self.client = FakeClient(*names)
        self.source = EditorProblems(
            self.client,  # type: ignore[arg-type]
            self.documents,
            lambda: settings or Settings(),
        )
        self.documents.open(
            sync.OpenedDocument(uri=URI, language_id="python", version=1, text="a\nb\n")
        )
        self.version = 1

    def edit(self) -> None:
        self.version += 1
        change = sync.TextChange(
            range=Range(start=Position(line=0, character=0), end=Position(line=0, character=0)),
            text="#",
        )
        self.documents.change(URI, self.version, [change])

    def push(self, *problems: types.Diagnostic, uri: str = URI, version: int | None = None) -> None:
        """Push problems like an editor that does not distinguish its checkers."""
        self.source.report(DidChangeDiagnosticsParams(uri, problems, version))

    def say(self, *sources: SourceDiagnostics, uri: str = URI) -> None:
        """Push problems like an editor that distinguishes its checkers."""
        self.source.report(DidChangeDiagnosticsParams(uri, (), sources=sources))

    async def ask(self, settle_s: float = 2.0, *paths: Path) -> tuple[KnownProblems | None, float]:
        """Return the answer, and its duration in seconds."""
        loop = asyncio.get_running_loop()
        begun = loop.time()
        known = await self.source.problems(paths or (PATH,), settle_s=settle_s)
        return known, round(loop.time() - begun, 3)


KNOWN = KnownProblems({PATH: {BY: SAID}})


def source(name: str, *problems: types.Diagnostic, version: int | None = None) -> SourceDiagnostics:
    return SourceDiagnostics(name, problems, version)


def test_an_editor_that_never_reported_a_problem_costs_no_time() -> None:
    async def main() -> None:
        desk = Desk()
        assert await desk.ask(0) == (None, 0)
        desk.edit()
        assert await desk.ask() == (None, 0)

    run(main())


def test_diagnostics_pushed_before_an_edit_count_as_old_problems() -> None:
    async def main() -> None:
        desk = Desk()
        desk.push(WRONG, version=1)
        assert await desk.ask(0) == (KNOWN, 0)
        desk.edit()
        late = KnownProblems(late={PATH: ("the editor has not rechecked",)})
        assert await desk.ask(0) == (late, 0)

    run(main())


def test_an_empty_diagnostics_list_without_a_source_does_not_verify_an_edit() -> None:
    """Neovim pushed such a list when a server was attached to a new file and no checker had run."""

    async def main() -> None:
        desk = Desk()
        desk.edit()
        desk.push()
        assert (await desk.ask())[0] is None
        desk.say()
        assert (await desk.ask())[0] is None
        desk.say(source("copilot"))  # attached, but without any report about a file
        assert (await desk.ask())[0] == KnownProblems(silent={PATH: ("copilot",)})

    run(main())


def test_a_checker_that_has_not_checked_a_new_file_is_named() -> None:
    """A file that the editor has not opened has no report, or reports without a version."""

    async def main() -> None:
        desk = Desk()
        desk.say(source("ruff", version=1), source("basedpyright", version=1))
        both = KnownProblems(silent={OTHER: ("ruff", "basedpyright")})
        assert (await desk.ask(0, OTHER))[0] == both
        desk.say(uri=OTHER.as_uri())
        assert (await desk.ask(0, OTHER))[0] == both
        assert (await desk.ask(0, Path("/w/a.md").absolute()))[0] is None
        desk.say(
            source("marksman"), uri=Path("/w/b.md").absolute().as_uri()
        )  # this checker has never reported anything
        silent = KnownProblems(silent={Path("/w/a.md").absolute(): ("marksman",)})
        assert (await desk.ask(0, Path("/w/a.md").absolute()))[0] == silent

    run(main())


def test_a_diagnostics_list_without_a_version_shows_old_problems_and_does_not_verify() -> None:
    async def main() -> None:
        desk = Desk()
        why = {PATH: ("the editor does not say which text it checked",)}
        desk.push(WRONG)
        assert await desk.ask(0) == (KnownProblems(late=why, shown={PATH: SAID}), 0)
        desk.edit()
        desk.push()
        assert await desk.ask() == (KnownProblems(late=why), 0)

    run(main())


def test_each_checkers_result_counts_only_for_the_checked_document_version() -> None:
    async def main() -> None:
        desk = Desk()
        desk.say(source("ruff", version=1), source("pyright", WRONG, version=1))
        both = KnownProblems({PATH: {"ruff": (), "pyright": SAID}})
        assert await desk.ask(0) == (both, 0)
        desk.edit()
        loop = asyncio.get_running_loop()
        stale = source("pyright", WRONG, version=1)
        loop.call_later(0.3, desk.say, source("ruff", WRONG, version=2), stale)
        why = {PATH: ("pyright has not rechecked",)}
        quick = KnownProblems({PATH: {"ruff": SAID}}, why, {PATH: SAID})
        assert await desk.ask() == (quick, 2.0), "what the slow one says is of lines that are gone"
        desk.say(source("ruff", WRONG, version=2), source("pyright", version=2))
        assert await desk.ask() == (KnownProblems({PATH: {"ruff": SAID, "pyright": ()}}), 0)

    run(main())


def test_the_check_of_an_edit_waits_for_a_slow_checker_after_a_quick_checker() -> None:
    async def main() -> None:
        desk = Desk()
        desk.say(source("ruff", version=1), source("pyright", version=1))
        desk.edit()
        loop = asyncio.get_running_loop()
        quick = source("ruff", version=2)
        loop.call_later(0.2, desk.say, quick, source("pyright", version=1))
        loop.call_later(1.0, desk.say, quick, source("pyright", WRONG, version=2))
        assert await desk.ask() == (KnownProblems({PATH: {"ruff": (), "pyright": SAID}}), 1.1)

    run(main())


def test_the_newest_of_reports_in_wrong_order_counts() -> None:
    """A checker that repeats an old version after a new version may not have checked again."""

    async def main() -> None:
        desk = Desk()
        desk.edit()
        desk.say(source("ruff", version=2))
        desk.say(source("ruff", WRONG, version=1))
        known, _ = await desk.ask()
        assert known == KnownProblems(late={PATH: ("ruff has not rechecked",)}, shown={PATH: SAID})

    run(main())


def test_a_checker_of_other_files_with_the_same_language_covers_a_new_file() -> None:
    async def main() -> None:
        desk = Desk()
        desk.say(source("pyright", version=1), uri=OTHER.as_uri())
        desk.say(source("ruff", version=1), source("pyright"))
        why = {PATH: ("pyright has not rechecked",)}
        assert await desk.ask() == (KnownProblems({PATH: {"ruff": ()}}, why), 2.0)
        desk.say(source("ruff", version=1), source("pyright", version=1))
        assert (await desk.ask())[0] == KnownProblems({PATH: {"ruff": (), "pyright": ()}})

    run(main())


def test_a_checker_that_names_no_version_is_named() -> None:
    async def main() -> None:
        desk = Desk()
        desk.say(source("ruff", version=1), source("jdtls", WRONG))
        why = {PATH: ("jdtls does not say which text it checked",)}
        assert await desk.ask() == (KnownProblems({PATH: {"ruff": ()}}, why, {PATH: SAID}), 0)

    run(main())


def test_a_closed_checker_is_not_waited_for() -> None:
    async def main() -> None:
        desk = Desk()
        desk.say(source("ruff", version=1), source("pyright", WRONG, version=1))
        desk.edit()
        desk.say(source("ruff", version=2))  # the checker was detached
        assert await desk.ask() == (KnownProblems({PATH: {"ruff": ()}}), 0)

    run(main())


def test_names_of_checkers_are_limited_in_length() -> None:
    async def main() -> None:
        desk = Desk()
        desk.say(
            source("x" * 1000, version=1), source("ruff\n", version=1), source("ruff", version=1)
        )
        known, _ = await desk.ask()
        assert known is not None
        assert known.sources == ("x" * 39 + "…", "ruff", "ruff'")

    run(main())


def test_the_check_of_an_edit_waits_for_a_late_push_and_for_pushes_right_after() -> None:
    async def main() -> None:
        desk = Desk()
        desk.push(version=1)
        desk.edit()
        loop = asyncio.get_running_loop()
        loop.call_later(0.5, lambda: desk.push(version=2))
        loop.call_later(0.55, lambda: desk.push(WRONG, version=2))
        assert await desk.ask() == (KNOWN, 0.65)

    run(main())


def test_a_checker_that_stops_reporting_is_waited_for_less_and_less() -> None:
    async def main() -> None:
        desk = Desk()
        desk.push(version=1)
        waited = []
        for _ in range(7):
            desk.edit()
            known, seconds = await desk.ask()
            assert known is not None
            assert not known.reports
            waited.append(seconds)
        assert waited == [2.0, 1.0, 0.5, 0.25, 0.125, LEAST_S, LEAST_S]
        desk.push(WRONG, version=8)
        assert (await desk.ask())[0] == KNOWN
        desk.edit()
        assert (await desk.ask())[1] == 2.0

    run(main())


def test_the_check_of_an_edit_waits_only_briefly_for_a_document_without_diagnostics() -> None:
    async def main() -> None:
        desk = Desk()
        desk.push(uri=OTHER.as_uri())
        desk.edit()
        assert [(await desk.ask())[1] for _ in range(2)] == [0.5, 0.25]

    run(main())


def test_a_push_for_an_older_version_is_ignored() -> None:
    async def main() -> None:
        desk = Desk()
        desk.push(version=1)
        desk.edit()
        loop = asyncio.get_running_loop()
        loop.call_later(0.3, lambda: desk.push(version=1))
        known, _ = await desk.ask()
        assert known == KnownProblems(late={PATH: ("the editor has not rechecked",)})
        desk.push(WRONG, version=2)
        assert await desk.ask() == (KNOWN, 0)

    run(main())


def test_diagnostics_of_a_version_that_was_never_sent_are_ignored() -> None:
    async def main() -> None:
        desk = Desk("diagnostics")
        told = DocumentDiagnostics(URI, (), 2**31 - 1)
        desk.client.answer = DiagnosticsResult((told,))
        assert (await desk.ask())[0] == KnownProblems()
        desk = Desk()
        desk.push(version=2**31 - 1)
        desk.edit()
        assert (await desk.ask())[0] is None
        desk.push(WRONG, version=2)
        desk.push(version=9)  # such a push does not replace the known problems
        assert (await desk.ask())[0] == KNOWN

    run(main())


def test_a_closed_file_has_no_version_that_could_be_verified() -> None:
    async def main() -> None:
        desk = Desk()
        desk.push(WRONG, uri=OTHER.as_uri())
        why = {OTHER: ("the editor does not say which text it checked",)}
        assert await desk.ask(0, OTHER) == (KnownProblems(late=why, shown={OTHER: SAID}), 0)
        desk.source.edited(OTHER)
        assert await desk.ask(2.0, OTHER) == (KnownProblems(late=why), 0)

    run(main())


def test_an_editor_with_diagnostics_support_is_asked_and_waits_for_checkers() -> None:
    async def main() -> None:
        desk = Desk("diagnostics")
        ours = types.Diagnostic(range=WRONG.range, message="to review", source="indwell")
        told = DocumentDiagnostics(URI, (WRONG, ours), 1)
        desk.client.answer = DiagnosticsResult((told, DocumentDiagnostics("file:///x", (WRONG,))))
        assert await desk.ask() == (KNOWN, 0)
        assert desk.client.asked == [(DiagnosticsParams((URI,), 2.0), 3.0)]
        desk.edit()  # the answer is about the earlier version
        known, _ = await desk.ask()
        assert known == KnownProblems(
            late={PATH: ("the editor has not rechecked",)}, shown={PATH: SAID}
        )
        two = (source("eslint", version=2), source("ts", WRONG))
        desk.client.answer = DiagnosticsResult((DocumentDiagnostics(URI, (), None, two),))
        why = {PATH: ("ts does not say which text it checked",)}
        known, _ = await desk.ask()
        assert known == KnownProblems({PATH: {"eslint": ()}}, why, {PATH: SAID})

    run(main())


def test_an_editor_that_does_not_answer_a_diagnostics_pull_is_not_asked_for_a_minute() -> None:
    async def main() -> None:
        desk = Desk("diagnostics")
        assert await desk.ask(0) == (None, 1.0)
        desk.edit()
        assert await desk.ask() == (None, 0)
        assert len(desk.client.asked) == 1
        await asyncio.sleep(60)  # the editor may have been busy
        desk.client.answer = DiagnosticsResult((DocumentDiagnostics(URI, (WRONG,), 2),))
        assert (await desk.ask())[0] == KNOWN

    run(main())


def test_problems_in_a_code_action_request_count_as_old_problems() -> None:
    async def main() -> None:
        desk = Desk()
        desk.source.offer(URI, [WRONG])
        assert await desk.ask(0) == (KnownProblems(shown={PATH: SAID}), 0)

    run(main())


def test_the_problems_in_a_code_action_request_count_only_for_the_text_at_that_time() -> None:
    async def main() -> None:
        desk = Desk()
        desk.source.offer(URI, [WRONG])
        desk.edit()
        assert await desk.ask(0) == (None, 0)
        desk.source.offer(OTHER.as_uri(), [WRONG])
        desk.source.edited(OTHER)
        assert await desk.ask(0, OTHER) == (None, 0)

    run(main())


def test_the_setting_that_attaches_no_diagnostics_also_counts_here() -> None:
    async def main() -> None:
        desk = Desk("diagnostics", settings=Settings(attach_diagnostics=False))
        desk.push(WRONG)
        assert await desk.ask() == (None, 0)
        assert desk.client.asked == []

    run(main())


def test_odd_uris_and_missing_texts_are_ignored() -> None:
    async def main() -> None:
        desk = Desk()
        for uri in ("untitled:1", "file:///%00", "", "file:"):
            desk.push(WRONG, uri=uri)
            desk.source.offer(uri, [WRONG])
        assert (await desk.ask(0))[0] is None

    run(main())


def test_a_wait_can_be_cancelled() -> None:
    async def main() -> None:
        desk = Desk()
        desk.push(version=1)
        desk.edit()
        asking = asyncio.ensure_future(desk.ask())
        await asyncio.sleep(0.5)
        asking.cancel()
        await asyncio.wait({asking})
        assert asking.cancelled()

    run(main())
