"""Measures showing, refreshing and judging 1,000 pending hunks in 100 files in the editor.

    python benchmarks/review_lenses.py [--json]

Everything runs in one process, without a connection; ``held`` is the longest time that the event
loop could do nothing else. ``review.py`` measures the ledger's time.
"""

from __future__ import annotations

import asyncio
import gc
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter

import msgspec
from report import show, spread

from indwell.lsp.messages.features import ClientFeatures
from indwell.lsp.review.hunk_display import SETTLE_S, Reviewing
from indwell.lsp.review.shown_hunks import Published, Shown, hint_of, lenses_of, offer
from indwell.lsp.wire import sync
from indwell.lsp.workspace.documents import Documents
from indwell.review.hunk import Actor
from indwell.review.ledger import ReviewLedger
from indwell.service.chores import Chores

FILES, LINES, EACH = 100, 400, 10
TIMES = 30
TICK_S = 0.0005


class Screen:
    """Encodes the messages to the editor, as a connection does."""

    def __init__(self) -> None:
        self.features = ClientFeatures()
        self.n_published = self.n_bytes = 0
        self.done = asyncio.Event()

    def publish(self, published: Published) -> None:
        self.n_published += 1
        self.n_bytes += len(msgspec.json.encode(published))

    def refresh_lenses(self) -> None:
        self.done.set()


class Watch:
    """Measures how long the event loop was blocked."""

    def __init__(self) -> None:
        self.longest_s = 0.0
        self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        while True:
            began = perf_counter()
            await asyncio.sleep(TICK_S)
            self.longest_s = max(self.longest_s, perf_counter() - began - TICK_S)

    def stop(self) -> float:
        """Stop the measurement, and return the milliseconds."""
        self._task.cancel()
        return self.longest_s * 1e3


def texts() -> tuple[str, str]:
    lines = [f"    value_{number} = compute({number})\n" for number in range(LINES)]
    before = "".join(lines)
    for number in range(5, LINES, LINES // EACH):
        lines[number] = f"    value_{number} = compute({number}, again=True)\n"
    return before, "".join(lines)


class Desk:
    """One editor with all files open, and a ledger full of hunks.

    Args:
        ledger: The ledger of the pending hunks.
        paths: The files.
        after: The text of each file.
    """

    def __init__(self, ledger: ReviewLedger, paths: Sequence[Path], after: str) -> None:
        self.ledger, self.paths = ledger, paths
        self.documents, self.screen, self.chores = Documents(), Screen(), Chores()
        for path in paths:  # the worst case: all files are open
            self.documents.open(sync.OpenedDocument(path.as_uri(), "python", 1, after))
        self.reviewing = Reviewing(
            self.documents,
            self.screen,
            self.chores,
            _unread,
            hints=lambda: True,
            session=lambda: "s",
        )

    async def timed(self, act: Callable[[int], Awaitable[None]]) -> dict[str, float]:
        """Return the milliseconds from an action to its display, except for deliberate waits."""
        taken, held = [], 0.0
        for number in range(TIMES):
            self.screen.done.clear()
            watch, began = Watch(), perf_counter()
            await act(number)
            await self.screen.done.wait()
            taken.append((perf_counter() - began - SETTLE_S) * 1e3)
            held = max(held, watch.stop())
        return {**spread(taken), "held": held}

    async def show_all(self, number: int) -> None:
        if number == 0:
            self.reviewing.attach(self.ledger)
        else:
            self.reviewing.look_again()
            self.reviewing._hints._shown.clear()  # noqa: SLF001 -- so that all goes out again

    async def press(self, number: int) -> None:
        document = self.documents.at(self.paths[number])
        assert document is not None
        start = sync.Position(0, 0)
        change = sync.TextChange("# mine\n", sync.Range(start, start))
        self.documents.change(document.uri, document.version + 1, [change])

    async def accept(self, number: int) -> None:
        await self.ledger.accept([self.ledger.hunks(self.paths[number])[0].id])

    def asked(self, answer: Callable[[Shown], object]) -> dict[str, float]:
        """Return the milliseconds of one request."""
        document, taken = self.documents.at(self.paths[-1]), []
        assert document is not None
        for _ in range(TIMES):
            began = perf_counter()
            msgspec.json.encode(answer(self.reviewing.shown(document)))
            taken.append((perf_counter() - began) * 1e3)
        return {**spread(taken), "held": max(taken)}

    def actions(self, shown: Shown) -> object:
        place = sync.Range(sync.Position(5, 0), sync.Position(5, 0))
        everything = self.reviewing.everything
        hint = partial(hint_of, shown=shown)
        return offer(shown, place, sync.ActionContext(), everything, hint)


async def _unread(_ledger: ReviewLedger, _path: Path) -> None:
    """Read no closed file, since all files are open."""


async def measured(folder: Path) -> dict[str, dict[str, float]]:
    before, after = texts()
    ledger = await ReviewLedger.open(folder / "ledger", [folder])
    paths = [folder / f"file_{number}.py" for number in range(FILES)]
    for path in paths:
        pending = await ledger.begin(Actor("s", 1), "call", path, before, after)
        await ledger.finish(pending, after, accepted=False)
    assert ledger.n_pending == FILES * EACH
    desk = Desk(ledger, paths, after)
    gc.collect()
    gc.freeze()  # the server also does this after its start
    found = {
        "all 1,000 hunks": await desk.timed(desk.show_all),
        "a key in one file": await desk.timed(desk.press),
        "one hunk accepted": await desk.timed(desk.accept),
        "a file's lenses": desk.asked(lenses_of),
        "a code action": desk.asked(desk.actions),
    }
    desk.reviewing.stop()
    await desk.chores.stop()
    await ledger.close()
    return found


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(measured(Path(folder).resolve()))
    show(
        f"Review in the editor, {FILES * EACH:,} hunks in {FILES} files, milliseconds",
        found,
        goal="<= 20 ms a refresh, <= 10 ms held",
    )


if __name__ == "__main__":
    main()
