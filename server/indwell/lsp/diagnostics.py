"""The problems of files as the editor knows them: asked for, or pushed to us (editor §6).

An editor that declares ``diagnostics`` is asked, and answers when its servers have settled. Any
other may push; a push counts for the version that it names, or else for the text that was there
when it came, if it says something else than the one before: an equal one may be a repetition of
what was known of the old text. Who stays silent is waited for once, and less each time after that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from lsprotocol import types

from indwell.agent.gate.source import Known
from indwell.context.ide import Problem
from indwell.lsp.attention import Attention, problem_of
from indwell.lsp.client import Client
from indwell.lsp.documents import Documents, path_of
from indwell.lsp.ours import is_ours
from indwell.lsp.protocol_diagnostics import DiagnosticsParams
from indwell.settings.model import Settings

BY = "the editor's problems"
ASKED_S = 1.0  # beyond what it may wait for, until an editor counts as one that does not answer
MUTE_S = 60.0  # for so long then nobody asks it: it may have been busy, as in its first seconds
FIRST_S = 0.5  # for a document of which nothing ever came, where other documents have some
QUIET_S = 0.1  # without another push: several servers tell one after the other
LEAST_S = 0.1  # for a document whose pushes did not come, time and again
MOST_PROBLEMS = 5_000  # of one document; who has more has another trouble
NOTHING_NEW = "the editor showed nothing new, but did not say that it has looked"


class _Push(NamedTuple):
    """What was pushed of a document: when, as which, of what version, what, and what since."""

    at: int
    uri: str
    version: int | None
    problems: tuple[Problem, ...]
    equal_at: int = 0  # when the same came once more


class EditorProblems:
    """What the editor knows of problems; implements ``agent.gate.source.Source``.

    Args:
        client: The editor.
        documents: What it has open.
        attention: Keeps what was pushed.
        settings: Those in force.
    """

    def __init__(
        self,
        client: Client,
        documents: Documents,
        attention: Attention,
        settings: Callable[[], Settings],
    ) -> None:
        self._client = client
        self._documents = documents
        self._attention = attention
        self._settings = settings
        self._mute_until_s = float("-inf")  # on the loop's clock
        self._count = 0
        self._edited: dict[Path, int] = {}  # when the text changed last, by this count
        self._versions: dict[Path, int] = {}
        self._pushed: dict[Path, _Push] = {}
        self._offered: dict[Path, tuple[int, tuple[types.Diagnostic, ...]]] = {}
        self._patience: dict[Path, float] = {}
        self._news = asyncio.Event()
        documents.on_change(self._changed)

    def report(self, uri: str, version: int | None) -> None:
        """The editor has pushed all problems of a document; ``attention`` keeps them."""
        path = path_of(uri)
        if path is None or self._is_of_none(path, version):
            return
        self._count += 1
        problems = _problems(self._attention.problems(uri))
        before = self._pushed.get(path)
        if version is None and before is not None and before.problems == problems:
            self._pushed[path] = before._replace(equal_at=self._count)
            return
        self._pushed[path] = _Push(self._count, uri, version, problems)
        self._patience.pop(path, None)
        self._wake()

    def offer(self, uri: str, problems: Sequence[types.Diagnostic]) -> None:
        """A code action came with these problems: what was before, as far as it goes."""
        path = path_of(uri)
        if path is not None and problems:
            self._offered[path] = (self._count, tuple(problems))

    def edited(self, path: Path) -> None:
        """A file was edited, perhaps one that is not open."""
        document = self._documents.at(path)
        if document is None:
            self._count += 1
            self._edited[path] = self._count

    async def problems(self, paths: Sequence[Path], *, settle_s: float) -> Known | None:
        """See ``Source``; never waits longer than it says, and a second for an editor's answer."""
        if not self._settings().attach_diagnostics:
            return None
        if self._client.features.has("diagnostics") and self._may_answer():
            asked = await self._asked(paths, settle_s)
            if asked is not None:
                return asked
        if settle_s:
            await self._settled(paths, settle_s)
        told = {path: self._pushed[path].problems for path in paths if self._is_fresh(path)}
        if told:
            return Known(told, BY)
        if settle_s:
            is_repeated = any(map(self._is_repeated, paths))
            return Known({}, BY, why=NOTHING_NEW) if is_repeated else None
        offered = {path: _problems(known) for path in paths if (known := self._offer_of_now(path))}
        return Known(offered, BY, is_partial=True) if offered else None

    async def _asked(self, paths: Sequence[Path], settle_s: float) -> Known | None:
        """What the editor answers; None if it does not."""
        by_uri = {self._uri(path): path for path in paths}
        params = DiagnosticsParams(uris=tuple(by_uri), wait=settle_s)
        result = await self._client.diagnostics(params, settle_s + ASKED_S)
        if result is None:
            self._mute_until_s = asyncio.get_running_loop().time() + MUTE_S
            return None
        told: dict[Path, tuple[Problem, ...]] = {}
        for one in result.documents:
            path = by_uri.get(one.uri)
            if path is not None and self._is_of_now(path, one.version):
                told[path] = _problems(one.diagnostics)
        return Known(told, BY) if told or settle_s else None

    def _may_answer(self) -> bool:
        return asyncio.get_running_loop().time() >= self._mute_until_s

    async def _settled(self, paths: Sequence[Path], settle_s: float) -> None:
        """Wait for a push of each file that is newer than its text, as long as that is likely."""
        loop = asyncio.get_running_loop()
        begun = loop.time()
        waits = {path: min(self._patience_for(path), settle_s) for path in paths}
        late = [path for path in paths if not self._is_fresh(path) and waits[path] > 0]
        if not late:
            return
        while late:
            left_s = max(waits[path] for path in late) - (loop.time() - begun)
            if left_s <= 0 or not await self._hears(left_s):
                break
            late = [path for path in late if not self._is_fresh(path)]
        if not late:
            while await self._hears(min(QUIET_S, settle_s - (loop.time() - begun))):
                pass
        for path in late:
            self._patience[path] = max(waits[path] / 2, LEAST_S)

    async def _hears(self, wait_s: float) -> bool:
        """Wait for the next push or change; False if none comes in that time."""
        if wait_s <= 0:
            return False
        news = self._news
        try:
            async with asyncio.timeout(wait_s):
                await news.wait()
        except TimeoutError:
            return False
        return True

    def _patience_for(self, path: Path) -> float:
        """Seconds that a push is worth waiting for: none if none ever came for anything."""
        if path in self._patience:
            return self._patience[path]
        if path in self._pushed:
            return float("inf")
        return FIRST_S if self._pushed else 0.0

    def _offer_of_now(self, path: Path) -> Sequence[types.Diagnostic]:
        """What a code action came with, as long as the text is that of then: it may be mended."""
        at, offered = self._offered.get(path, (0, ()))
        return offered if at >= self._edited.get(path, 0) else ()

    def _is_fresh(self, path: Path) -> bool:
        """Is the last push of the text as it is?"""
        pushed = self._pushed.get(path)
        if pushed is None:
            return False
        if pushed.version is not None and self._documents.at(path) is not None:
            return self._is_of_now(path, pushed.version)
        return pushed.at > self._edited.get(path, 0)

    def _is_repeated(self, path: Path) -> bool:
        """Was something pushed since the edit, though nothing else than before?"""
        pushed = self._pushed.get(path)
        return pushed is not None and pushed.equal_at > self._edited.get(path, 0)

    def _is_of_now(self, path: Path, version: int | None) -> bool:
        """Is a version that of the text of now, as far as it is told?"""
        document = self._documents.at(path)
        return document is None or version is None or version == document.version

    def _is_of_none(self, path: Path, version: int | None) -> bool:
        """Is a version one that nobody can have seen yet?"""
        document = self._documents.at(path)
        return document is not None and version is not None and version > document.version

    def _uri(self, path: Path) -> str:
        """As the editor calls it."""
        document = self._documents.at(path)
        if document is not None:
            return document.uri
        pushed = self._pushed.get(path)
        return pushed.uri if pushed is not None else path.as_uri()

    def _changed(self, path: Path) -> None:
        """A document was opened, changed, saved or closed; only another text is news."""
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
    """As the engine knows them; hints of ours are none."""
    return tuple(problem_of(one) for one in diagnostics[:MOST_PROBLEMS] if not is_ours(one))
