"""Collects the problems that the editor's checkers report, without Indwell's own hints."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from indwell.agent.features.checks.turn_checks import KnownProblems
from indwell.context.attachments import Problem
from indwell.context.untrusted_text import short_line
from indwell.lsp.editor.client import Client
from indwell.lsp.messages.context import DiagnosticsParams, DocumentDiagnostics
from indwell.lsp.messages.lsprotocol_types import types
from indwell.lsp.messages.methods import DidChangeDiagnosticsParams
from indwell.lsp.prompts.attention import is_ours, problem_of
from indwell.lsp.workspace.documents import Documents, path_of
from indwell.settings.model import Settings

BY = "the editor's problems"  # the source name if the editor does not name its checkers
ASKED_S = 1.0  # After the settling time, the editor has one more second to answer.
# An editor that did not answer may be busy, so the editor is not asked again for 60 seconds.
MUTE_S = 60.0
# the wait, in seconds, for a document without any report, if other documents have reports
FIRST_S = 0.5
# the wait, in seconds, for further reports, because a checker may report a version in several steps
QUIET_S = 0.1
LEAST_S = 0.1  # the wait, in seconds, for a document whose reports were missing several times
MOST_PROBLEMS = 5_000  # the limit of problems for one document
MOST_SOURCES = 20  # the limit of checkers for one document
_NAME = 40  # the limit of characters for a checker's name


class _Said(NamedTuple):
    """The last report of a checker on a document, with the document's version if it is known."""

    version: int | None
    problems: tuple[Problem, ...]


class _Push(NamedTuple):
    """The last problems that the editor sent for a document, by checker."""

    at: int
    uri: str
    said: Mapping[str, _Said]


class _Judged(NamedTuple):
    """The reports on the present text, and the checkers whose reports are late or unversioned."""

    reports: Mapping[str, tuple[Problem, ...]]
    late: tuple[str, ...] = ()
    unsaid: tuple[str, ...] = ()


NOBODY = _Judged({})


def all_of(told: DidChangeDiagnosticsParams) -> tuple[types.Diagnostic, ...]:
    """Return the problems of a document, from all checkers."""
    return (*told.diagnostics, *(one for source in told.sources for one in source.diagnostics))


class EditorProblems:
    """Collects the editor's problems; implements ``turn_checks.ProblemSource``.

    Args:
        client: The editor.
        documents: The open documents.
        settings: Returns the settings in force.
    """

    def __init__(
        self, client: Client, documents: Documents, settings: Callable[[], Settings]
    ) -> None:
        self._client = client
        self._documents = documents
        self._settings = settings
        # the time on the event loop's clock until which the editor is not asked
        self._mute_until_s = float("-inf")
        self._count = 0
        self._edited: dict[Path, int] = {}  # the counter's value at the last change of each text
        self._versions: dict[Path, int] = {}
        self._pushed: dict[Path, _Push] = {}
        # The checkers that have reported, and whether they name versions, by file suffix.
        self._spoke: dict[str, dict[str, bool]] = {}
        self._offered: dict[Path, tuple[int, tuple[types.Diagnostic, ...]]] = {}
        self._patience: dict[Path, float] = {}
        self._news = asyncio.Event()
        documents.on_change(self._changed)

    def report(self, told: DidChangeDiagnosticsParams | DocumentDiagnostics) -> None:
        """Store all problems of a document, as sent by the editor."""
        path = path_of(told.uri)
        if path is None:
            return
        before = self._pushed.get(path)
        is_plain = not told.sources and told.version is None
        if is_plain and before is not None and before.said.keys() - {BY}:
            return  # Neovim's shortest configuration also sends lists that do not name checkers.
        self._count += 1
        self._pushed[path] = self._push(path, told)
        if not self._judged(path).late:
            self._patience.pop(path, None)
        self._wake()

    def offer(self, uri: str, problems: Sequence[types.Diagnostic]) -> None:
        """Store the problems of a code action request, which may be incomplete."""
        path = path_of(uri)
        if path is not None and problems:
            self._offered[path] = (self._count, tuple(problems))

    def edited(self, path: Path) -> None:
        """Record an edit of a file, which may be open or closed."""
        document = self._documents.at(path)
        if document is None:
            self._count += 1
            self._edited[path] = self._count

    async def problems(self, paths: Sequence[Path], *, settle_s: float) -> KnownProblems | None:
        """Return the problems of files, after at most ``settle_s`` and a second for an answer."""
        if not self._settings().attach_diagnostics:
            return None
        if self._client.features.has("diagnostics") and self._may_answer():
            asked = await self._asked(paths, settle_s)
            if asked is not None:
                return asked
        if settle_s:
            await self._settled(paths, settle_s)
        return self._known(
            {path: self._pushed[path] for path in paths if path in self._pushed}, paths
        )

    async def _asked(self, paths: Sequence[Path], settle_s: float) -> KnownProblems | None:
        """Ask the editor for problems; return None if there is no answer."""
        by_uri = {self._uri(path): path for path in paths}
        params = DiagnosticsParams(uris=tuple(by_uri), wait=settle_s)
        result = await self._client.diagnostics(params, settle_s + ASKED_S)
        if result is None:
            self._mute_until_s = asyncio.get_running_loop().time() + MUTE_S
            return None
        self._count += 1
        told = {
            path: self._push(path, one)
            for one in result.documents
            if (path := by_uri.get(one.uri)) is not None
        }
        known = self._known(told, paths)
        return (known or KnownProblems()) if settle_s else known

    def _known(self, told: Mapping[Path, _Push], paths: Sequence[Path]) -> KnownProblems | None:
        """Return the received problems of the present texts, or None if there are none."""
        reports: dict[Path, Mapping[str, tuple[Problem, ...]]] = {}
        late: dict[Path, tuple[str, ...]] = {}
        shown: dict[Path, tuple[Problem, ...]] = {}
        silent: dict[Path, tuple[str, ...]] = {}
        for path in paths:
            push = told.get(path)
            judged = NOBODY if push is None else self._judge(path, push)
            if judged.reports:
                reports[path] = judged.reports
            if judged.late or judged.unsaid:
                late[path] = (
                    *(f"{_named(one)} has not rechecked" for one in judged.late),
                    *(f"{_named(one)} does not say which text it checked" for one in judged.unsaid),
                )
            elif not judged.reports and (names := self._silent(path)):
                silent[path] = names
            before = _problems(self._offer_of_now(path))
            if push is not None and push.at > self._edited.get(path, 0):
                before += tuple(
                    problem
                    for name, said in push.said.items()
                    if name not in judged.reports
                    for problem in said.problems
                )
            if before:
                shown[path] = before
        known = KnownProblems(reports, late, shown, silent)
        return None if known == KnownProblems() else known

    def _silent(self, path: Path) -> tuple[str, ...]:
        """Return the checkers that should report on a file that has no reports yet.

        Checkers that have reported on files with the same suffix should report. If there are none,
        the checkers that the editor started for such files should report.
        """
        alike = (push.said for other, push in self._pushed.items() if other.suffix == path.suffix)
        started = (name for said in alike for name in said if name != BY)
        names = self._spoke.get(path.suffix) or dict.fromkeys(started)
        return tuple(_named(one) for one in names)

    def _push(self, path: Path, told: DidChangeDiagnosticsParams | DocumentDiagnostics) -> _Push:
        """Group the editor's problems by checker; drop an impossible version."""
        before = self._pushed.get(path)
        document = self._documents.at(path)
        spoke = self._spoke.setdefault(path.suffix, {})
        said: dict[str, _Said] = {}
        each = [(one.name, one.version, one.diagnostics) for one in told.sources[:MOST_SOURCES]]
        if told.diagnostics or not told.sources:
            each.append((BY, told.version, told.diagnostics))
        for given, version, diagnostics in each:
            name = short_line(given, _NAME) or BY
            while name in said:
                name += "'"
            now = _Said(version, _problems(diagnostics))
            if version is not None and document is not None and version > document.version:
                now = (before.said if before is not None else {}).get(name, _Said(None, ()))
            said[name] = now
            if now.version is not None or now.problems:
                spoke[name] = now.version is not None or spoke.get(name, False)
        return _Push(self._count, told.uri, said)

    def _judged(self, path: Path) -> _Judged:
        push = self._pushed.get(path)
        return NOBODY if push is None else self._judge(path, push)

    def _judge(self, path: Path, push: _Push) -> _Judged:
        """Return the checkers that have examined the present text, and the others."""
        document = self._documents.at(path)
        spoke = self._spoke.get(path.suffix, {})
        reports: dict[str, tuple[Problem, ...]] = {}
        late: list[str] = []
        unsaid: list[str] = []
        for name, said in push.said.items():
            if said.version is not None and document is not None:
                if said.version == document.version:
                    reports[name] = said.problems
                else:
                    late.append(name)
            elif name in spoke:
                is_late = spoke[name] and not said.problems
                (late if is_late else unsaid).append(name)
        return _Judged(reports, tuple(late), tuple(unsaid))

    def _may_answer(self) -> bool:
        return asyncio.get_running_loop().time() >= self._mute_until_s

    async def _settled(self, paths: Sequence[Path], settle_s: float) -> None:
        """Wait until each checker has examined the present texts, if reports are likely."""
        loop = asyncio.get_running_loop()
        begun = loop.time()
        waits = {path: min(self._patience_for(path), settle_s) for path in paths}
        late = [path for path in paths if self._is_awaited(path) and waits[path] > 0]
        if not late:
            return
        while late:
            left_s = max(waits[path] for path in late) - (loop.time() - begun)
            if left_s <= 0 or not await self._hears(left_s):
                break
            late = [path for path in late if self._is_awaited(path)]
        if not late:
            while await self._hears(min(QUIET_S, settle_s - (loop.time() - begun))):
                pass
        for path in late:
            self._patience[path] = max(waits[path] / 2, LEAST_S)

    async def _hears(self, wait_s: float) -> bool:
        """Wait for the next report or change; return False after the time-out."""
        if wait_s <= 0:
            return False
        news = self._news
        try:
            async with asyncio.timeout(wait_s):
                await news.wait()
        except TimeoutError:
            return False
        return True

    def _is_awaited(self, path: Path) -> bool:
        """Return whether a report on the present text may still arrive."""
        judged = self._judged(path)
        return bool(judged.late) or not (judged.reports or judged.unsaid)

    def _patience_for(self, path: Path) -> float:
        """Return how long to wait for a report, in seconds, or 0 if the editor never sent one."""
        if path in self._patience:
            return self._patience[path]
        if self._judged(path).late:
            return float("inf")
        return FIRST_S if self._pushed else 0.0

    def _offer_of_now(self, path: Path) -> Sequence[types.Diagnostic]:
        """Return the problems of the last code action request, if the text is unchanged since."""
        at, offered = self._offered.get(path, (0, ()))
        return offered if at >= self._edited.get(path, 0) else ()

    def _uri(self, path: Path) -> str:
        """Return the URI that the editor uses for a file."""
        document = self._documents.at(path)
        if document is not None:
            return document.uri
        pushed = self._pushed.get(path)
        return pushed.uri if pushed is not None else path.as_uri()

    def _changed(self, path: Path) -> None:
        """Record a changed document, if its text differs."""
        document = self._documents.at(path)
        version = document.version if document is not None else -1
        if self._versions.get(path) != version:
            is_first = path not in self._versions
            self._versions[path] = version
            if not (is_first and path in self._pushed):
                self._count += 1
                self._edited[path] = self._count
            self._wake()

    def _wake(self) -> None:
        self._news.set()
        self._news = asyncio.Event()


def _problems(diagnostics: Sequence[types.Diagnostic]) -> tuple[Problem, ...]:
    """Convert diagnostics to problems, without Indwell's hints."""
    return tuple(problem_of(one) for one in diagnostics[:MOST_PROBLEMS] if not is_ours(one))


def _named(name: str) -> str:
    """Return the name of a checker as the subject of a clause."""
    return "the editor" if name == BY else name
