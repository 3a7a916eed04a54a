"""The queue of prompts, and the ticket that follows each prompt until its turn has ended.

The queue is a frozen value. Each change returns the next value with the next ``seq``. A client that
changes the queue names the ``seq`` that it saw, so no client overwrites another one's change.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Literal, TypeAlias

import msgspec

from indwell import edges
from indwell.agent.core import events
from indwell.agent.core.prompt import (
    MOST_WAITING,
    MOST_WAITING_CHARACTERS,
    Prompt,
    is_blank,
    taken_words,
)
from indwell.agent.core.session import Session
from indwell.agent.features.plan import PlanBoard
from indwell.errors import UserError
from indwell.messages import Usage
from indwell.settings.model import Mode

SteeringOutcome: TypeAlias = Literal["sent", "chosen", "answered"]
"""What became of a message to a running turn.

The message goes to the model, chose an option of a question, or was a command that is answered.
"""

TITLE_CHARACTERS = 60
# The limit is in bytes of Base64 for the pictures of all waiting prompts.
MOST_PICTURES_B = 100_000_000
_TITLE_READ = 1_000  # The title is made from the first 1,000 characters of a prompt.


APART = "worktree"
FRESH = frozenset({"new", APART})
"""The targets of prompts for new sessions: in the folder, or in a worktree."""


class WaitingPrompt(msgspec.Struct, frozen=True):
    """A prompt that waits.

    Attributes:
        id: The id of the prompt, unique in this process.
        prompt: The text, with the selection and problems at the time of typing.
        target: The session that the prompt names: an id, ``new``, ``worktree`` for a new session in
            a worktree, or None.
        mode: The mode for the prompt's turn, or None for the session's mode.
        home: The session in which the prompt was typed, or empty for the session that is current
            when the turn begins.
        is_held: Whether the prompt waits until the user releases it.
        is_beside: Whether the current session stays the current one when the turn begins.
    """

    id: str
    prompt: Prompt
    target: str | None = None
    mode: Mode | None = None
    home: str = ""
    is_held: bool = False
    is_beside: bool = False

    def is_with(self, other: WaitingPrompt) -> bool:
        """Return whether both prompts go to the same session; a new session has only one prompt."""
        if not FRESH.isdisjoint({self.session, other.session}):
            return False
        return not self.session or not other.session or self.session == other.session

    @property
    def session(self) -> str:
        """The prompt's session: an id, ``new``, or empty for the current session at the start."""
        return self.target or self.home


class Queue(msgspec.Struct, frozen=True):
    """The waiting prompts in order; ``held`` says why some prompts are held, and may be empty."""

    seq: int = 0
    waiting: tuple[WaitingPrompt, ...] = ()
    held: str = ""


def title_of(words: str) -> str:
    """Return a short title for lists and progress."""
    return " ".join(words.lstrip()[:_TITLE_READ].split())[:TITLE_CHARACTERS]


def added(queue: Queue, one: WaitingPrompt) -> Queue:
    """Append a prompt, and release the held prompts of the same session before it.

    Raises:
        UserError: The queue is full.
    """
    if len(queue.waiting) >= MOST_WAITING:
        raise UserError(
            f"{MOST_WAITING} prompts are waiting already; wait for the running turn, or remove some"
        )
    _check_size((*queue.waiting, one))
    freed = (_freed(other) if one.is_with(other) else other for other in queue.waiting)
    return _next(queue, (*freed, one))


def put_first(queue: Queue, one: WaitingPrompt) -> Queue:
    """Put a prompt first, such as a repeated prompt in the current session.

    Other prompts for the same session follow this prompt.
    """
    rest = (_freed(other, home="") if one.is_with(other) else other for other in queue.waiting)
    return _next(queue, (msgspec.structs.replace(one, home=""), *rest))


def taken(
    queue: Queue, may_begin: Callable[[WaitingPrompt], bool]
) -> tuple[WaitingPrompt | None, Queue]:
    """Return the first prompt that may begin, or None, and the rest of the queue.

    A prompt never overtakes another prompt of its session.

    Args:
        queue: The prompts that wait.
        may_begin: Whether there is room for a turn of the prompt's session now.
    """
    blocked: list[WaitingPrompt] = []
    for one in queue.waiting:
        if one.is_held:
            continue
        if may_begin(one) and not any(one.is_with(other) for other in blocked):
            return one, _next(queue, tuple(other for other in queue.waiting if other is not one))
        blocked.append(one)
    return None, queue


def removed(queue: Queue, identifier: str) -> Queue:
    """Remove a prompt.

    Raises:
        UserError: The prompt does not wait.
    """
    gone = _find(queue, identifier)
    return _next(queue, tuple(one for one in queue.waiting if one is not gone))


def moved(queue: Queue, identifier: str, place: int) -> Queue:
    """Move a prompt to a 0-based position, or to the nearest end if the position is out of range.

    Raises:
        UserError: The prompt does not wait.
    """
    one = _find(queue, identifier)
    rest = [other for other in queue.waiting if other is not one]
    rest.insert(max(0, place), one)
    return Queue(queue.seq + 1, tuple(rest), queue.held)


def reworded(queue: Queue, identifier: str, words: str) -> Queue:
    """Replace the text of a prompt, but keep the selection.

    Raises:
    UserError: The prompt does not wait, or the text is blank or too long.
    """
    if is_blank(words):
        raise UserError("the new words are empty; remove the prompt instead")
    words = taken_words(words)
    old = _find(queue, identifier)
    # A code action's prompt has its own title.
    is_own = old.prompt.title == title_of(old.prompt.words)
    title = title_of(words) if is_own else old.prompt.title
    prompt = msgspec.structs.replace(old.prompt, words=words, title=title)
    new = msgspec.structs.replace(old, prompt=prompt)
    waiting = tuple(new if one is old else one for one in queue.waiting)
    _check_size(waiting)
    return Queue(queue.seq + 1, waiting, queue.held)


def held(queue: Queue, reason: str, session: str = "") -> Queue:
    """Hold waiting prompts until the user releases them.

    Args:
        queue: The prompts that wait.
        reason: The reason, as a text for the user.
        session: The session whose prompts are held, or empty for all sessions.
    """
    behind = [one for one in queue.waiting if not session or one.session in {"", session}]
    if not behind:
        return queue
    waiting = tuple(
        msgspec.structs.replace(one, is_held=True) if one in behind else one
        for one in queue.waiting
    )
    return Queue(queue.seq + 1, waiting, reason)


def put_beside(queue: Queue, session: str) -> Queue:
    """Let the prompts that wait for a session begin while another session is current."""
    waiting = tuple(
        msgspec.structs.replace(one, is_beside=True) if one.session == session else one
        for one in queue.waiting
    )
    return msgspec.structs.replace(queue, waiting=waiting)


def released(queue: Queue) -> Queue:
    """Let all held prompts run."""
    return _next(queue, tuple(map(_freed, queue.waiting))) if queue.held else queue


def check_seq(queue: Queue, seen: int | None) -> None:
    """Check that a client that changes the queue has seen the newest state.

    Raises:
        UserError: The queue has changed since ``seen``.
    """
    if seen is not None and seen != queue.seq:
        raise UserError(
            f"the queue was changed meanwhile (it is at seq {queue.seq}, not {seen}); look at it "
            "again and repeat the change"
        )


def _next(queue: Queue, waiting: tuple[WaitingPrompt, ...]) -> Queue:
    is_held = any(one.is_held for one in waiting)
    return Queue(queue.seq + 1, waiting, queue.held if is_held else "")


def _freed(one: WaitingPrompt, home: str | None = None) -> WaitingPrompt:
    home = one.home if home is None else home
    return msgspec.structs.replace(one, is_held=False, home=home)


def _check_size(waiting: tuple[WaitingPrompt, ...]) -> None:
    n_characters = sum(one.prompt.n_characters for one in waiting)
    if n_characters > MOST_WAITING_CHARACTERS:
        raise UserError(
            f"the waiting prompts would have {n_characters:,} characters, which is over "
            f"{MOST_WAITING_CHARACTERS:,}; wait for the running turn, or remove some"
        )
    n_pictures_b = sum(len(picture.data) for one in waiting for picture in one.prompt.pictures)
    if n_pictures_b > MOST_PICTURES_B:
        raise UserError(
            f"the pictures of the waiting prompts would have over {MOST_PICTURES_B // 1_000_000} "
            "MB; wait for the running turn, or remove some"
        )


def _find(queue: Queue, identifier: str) -> WaitingPrompt:
    for one in queue.waiting:
        if one.id == identifier:
            return one
    raise UserError(f"no prompt {identifier!r} is waiting; it has begun or was removed")


PLAN_WAITS = "a plan waits for your decision"
"""Why prompts after a proposed plan are held: the user must first decide on the plan."""


class Ticket(msgspec.Struct, eq=False):
    """Follows one prompt from its arrival to the end of its turn.

    Attributes:
        waiting: The prompt in the queue, which only the queue changes.
        on_end: Shows the end of the turn to the user.
        session: The session of the turn, or None until the turn begins.
        number: The number of the turn, or 0 until the turn begins.
        is_written: Whether the session's log already contains the prompt.
        is_stopped: Whether the turn was stopped.
        is_left: Whether the turn was stopped because the user left the session.
        is_followed: Whether a prompt for the session came after the stop, before the turn's end.
        is_beside: Whether the turn runs in another session than the current one.
        in_chat: Whether the turn was begun or steered in the session's chat.
        finished: The end of the turn, or None until the turn ends.
        error: The reason why the turn could not begin, or None if the turn began.
        begun: An event that is set when the turn has begun, or when the turn cannot begin.
        ended: An event that is set when the turn is over.
    """

    waiting: WaitingPrompt
    on_end: OnEnd
    session: Session | None = None
    number: int = 0
    is_written: bool = False
    is_stopped: bool = False
    is_left: bool = False
    is_followed: bool = False
    is_beside: bool = False
    in_chat: bool = False
    finished: events.TurnFinished | None = None
    error: UserError | None = None
    task: asyncio.Task[None] | None = None
    token: str = msgspec.field(
        default_factory=lambda: f"indwell-{edges.random_hex('progress', 16)}"
    )
    begun: asyncio.Event = msgspec.field(default_factory=asyncio.Event)
    ended: asyncio.Event = msgspec.field(default_factory=asyncio.Event)

    @property
    def prompt(self) -> Prompt:
        """The prompt itself."""
        return self.waiting.prompt

    async def begins(self, within_s: float) -> None:
        """Wait for the turn to begin.

        Raises:
            UserError: The turn has not begun in time, for example while the user chooses a model.
        """
        try:
            async with asyncio.timeout(within_s):
                await self.begun.wait()
        except TimeoutError:
            raise UserError(
                "no turn is running yet; send the words with indwell/prompt, and they wait behind "
                "the prompt that is about to begin"
            ) from None

    async def wait(self) -> events.TurnFinished:
        """Wait for the end of the turn; a cancelled turn also has a result.

        Raises:
        UserError: The turn could not begin.
        """
        await self.ended.wait()
        if self.error is not None:
            raise self.error
        assert self.finished is not None
        return self.finished


OnEnd = Callable[[Session, events.TurnFinished], Awaitable[None]]
"""Shows the end of a turn; the turn counts as running until this returns."""

Open = Callable[[Ticket], Awaitable[Session]]
"""Returns the session for a prompt; raises ``UserError`` if no session can be opened."""

Afterwards = Callable[[Ticket], None]
"""Called when a turn has ended; the next one may have begun."""


def never_started(prompt: Prompt) -> events.TurnFinished:
    """Return the end of a turn that was stopped before it began, with the prompt's text."""
    return events.TurnFinished(
        turn=0,
        ending="cancelled",
        message="stopped",
        answer="",
        draft=prompt.words,
        rounds=0,
        usage=Usage(),
        cost=0.0,
        seconds=0.0,
    )


def proposed_in(ticket: Ticket) -> bool:
    """Return whether the turn ended with a plan that awaits the user's decision. Pure."""
    if ticket.session is None or ticket.finished is None or ticket.finished.ending != "done":
        return False
    board = ticket.session.parts.features.find(PlanBoard)
    if board is None:
        return False
    return board.plan.state == "proposed" and board.proposed_in == ticket.number


def why_held(ticket: Ticket) -> str:
    """Return why later prompts are held after this turn, or an empty text. Pure."""
    if ticket.error is not None:
        return str(ticket.error)
    assert ticket.finished is not None
    match ticket.finished.ending:
        case "done":
            return PLAN_WAITS if proposed_in(ticket) else ""
        case "cancelled":
            return "the previous turn was stopped"
        case _:
            return ticket.finished.message
