"""Tells the user which changes await review, and the model what became of the files it knows."""

from __future__ import annotations

from collections.abc import Sequence

from indwell.agent.core.events import EditApplied, HunksChanged, Notice
from indwell.agent.core.feature import Feature, Moment, Reminder
from indwell.agent.core.session import Session
from indwell.agent.features.review_news.aftermath import Aftermath
from indwell.agent.features.review_news.rejected_changes import NO_REJECTIONS, rejections
from indwell.messages import ToolUse
from indwell.review.hunk import Verdict
from indwell.tools.base import Call, Outcome
from indwell.workspace.paths import display


class AwaitingReview:
    """The last report of changes that await review, shared by a session and its sub-agents."""

    def __init__(self) -> None:
        self._last: tuple[int, tuple[str, ...]] = (0, ())

    def tell(self, moment: Moment[Session]) -> None:
        """Emit an event if the set of these changes is another one; not during an edit."""
        session = moment.session
        review = session.parts.changes.ledger
        if review is None:
            return
        for words in review.take_notices():
            moment.emit(Notice(session.turns, "warning", words))
        if session.is_editing or any(map(review.is_busy, review.known())):
            return
        roots = session.parts.workspace.roots
        now = review.n_pending, tuple(display(path, roots) for path in review.paths())
        if now != self._last:
            self._last = now
            moment.emit(HunksChanged(session.turns, *now))


class ReviewNews:
    """What one session has told of its changes; its sub-agents have their own for the model."""

    def __init__(self, awaiting: AwaitingReview | None = None) -> None:
        self._awaiting = AwaitingReview() if awaiting is None else awaiting
        self._aftermath = Aftermath()
        self._verdicts: tuple[Verdict, ...] = ()  # in requests that the model has not answered

    def feature(self) -> Feature[Session]:
        """Return the feature; its reminders come before those of the features in front of it."""
        return Feature(
            name="review_news",
            remind=self._remind,
            after_tool=self._after_tool,
            files_changed=self._awaiting.tell,
            answered=self._answered,
            for_child=lambda: ReviewNews(self._awaiting).feature(),
        )

    async def _remind(self, moment: Moment[Session]) -> Reminder:
        """What the user rejected, then what became of other files (editor §4)."""
        session, parts = moment.session, moment.session.parts
        hidden = parts.rules().hidden
        rejected = NO_REJECTIONS
        if session.helping is None:  # verdicts on a sub-agent's changes go to its parent
            rejected = await rejections(session, moment.turn, hidden, self._verdicts)
        became = await self._aftermath.news(
            session.seen,
            parts.workspace,
            hidden,
            turn=moment.turn,
            hide=parts.secrets.hide,
            others=rejected.marks,
        )

        def told() -> None:
            self._verdicts = (*self._verdicts, *rejected.verdicts)
            for path, now in rejected.known:
                session.seen.record(path, now.stamp.digest, now.text)
            self._aftermath.is_told(rejected.marks)
            became.told()

        return Reminder((*rejected.blocks, *became.blocks), told)

    async def _after_tool(
        self,
        moment: Moment[Session],
        use: ToolUse,
        call: Call,
        outcome: Outcome,
        applied: Sequence[EditApplied],
    ) -> None:
        """Note what the agent has changed itself."""
        del moment, use, call, applied
        for change in outcome.changes:
            await self._aftermath.made(change)

    async def _answered(self, moment: Moment[Session]) -> None:
        """Forget verdicts that the answered request carried, so that they are told once."""
        review = moment.session.parts.changes.ledger
        if review is not None and self._verdicts:
            verdicts, self._verdicts = self._verdicts, ()
            await review.told(moment.session.id, verdicts)
