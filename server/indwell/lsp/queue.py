"""Prompts that wait for the running turn: one frozen value, first come, first served. Pure.

Each change gives the next value with the next ``seq``; who changes the queue says which ``seq`` he
saw, so that two clients never overwrite each other's changes.
"""

from __future__ import annotations

import msgspec

from indwell.agent.session import Prompt
from indwell.agent.words import MOST_WAITING, MOST_WAITING_CHARACTERS, is_blank, taken_words
from indwell.errors import UserError
from indwell.settings.model import Mode

TITLE_CHARACTERS = 60
_TITLE_READ = 1_000  # characters that a title is made from


class Waiting(msgspec.Struct, frozen=True):
    """A prompt that waits.

    Attributes:
        id: Of the prompt, unique in this process.
        prompt: With selection and problems as they were when it was typed.
        target: The session it is for: an id, ``new``, or None for the current one.
        mode: The mode that its turn runs in, if it asked for one.
    """

    id: str
    prompt: Prompt
    target: str | None = None
    mode: Mode | None = None


class Queue(msgspec.Struct, frozen=True):
    """All that wait, in order; ``held`` says why none of them begins, and is empty if they do."""

    seq: int = 0
    waiting: tuple[Waiting, ...] = ()
    held: str = ""


def title_of(words: str) -> str:
    """A few words for lists and progress."""
    return " ".join(words.lstrip()[:_TITLE_READ].split())[:TITLE_CHARACTERS]


def added(queue: Queue, one: Waiting) -> Queue:
    """Append a prompt; a new prompt also lets a held queue go on.

    Raises:
        UserError: The queue is full.
    """
    if len(queue.waiting) >= MOST_WAITING:
        raise UserError(
            f"{MOST_WAITING} prompts are waiting already; wait for the running turn, or remove some"
        )
    _check_size((*queue.waiting, one))
    return Queue(queue.seq + 1, (*queue.waiting, one))


def put_first(queue: Queue, one: Waiting) -> Queue:
    """Let a prompt go before all others: one that is tried again; the queue goes on."""
    return Queue(queue.seq + 1, (one, *queue.waiting))


def taken(queue: Queue) -> tuple[Waiting, Queue]:
    """The first, and those that wait behind it."""
    first, *rest = queue.waiting
    return first, Queue(queue.seq + 1, tuple(rest), queue.held)


def removed(queue: Queue, identifier: str) -> Queue:
    """Without one prompt.

    Raises:
        UserError: It does not wait.
    """
    gone = _find(queue, identifier)
    rest = tuple(one for one in queue.waiting if one is not gone)
    return Queue(queue.seq + 1, rest, queue.held if rest else "")


def moved(queue: Queue, identifier: str, place: int) -> Queue:
    """One prompt at another place, 0-based; places out of range mean the nearest end.

    Raises:
        UserError: It does not wait.
    """
    one = _find(queue, identifier)
    rest = [other for other in queue.waiting if other is not one]
    rest.insert(max(0, place), one)
    return Queue(queue.seq + 1, tuple(rest), queue.held)


def reworded(queue: Queue, identifier: str, words: str) -> Queue:
    """One prompt with other words; what was selected when it was typed stays.

    Raises:
        UserError: It does not wait, or the words are blank or too many.
    """
    if is_blank(words):
        raise UserError("the new words are empty; remove the prompt instead")
    words = taken_words(words)
    old = _find(queue, identifier)
    is_own = old.prompt.title == title_of(old.prompt.words)  # not that of a code action
    title = title_of(words) if is_own else old.prompt.title
    prompt = msgspec.structs.replace(old.prompt, words=words, title=title)
    new = msgspec.structs.replace(old, prompt=prompt)
    waiting = tuple(new if one is old else one for one in queue.waiting)
    _check_size(waiting)
    return Queue(queue.seq + 1, waiting, queue.held)


def held(queue: Queue, reason: str) -> Queue:
    """Let nothing begin until the user says so; an empty queue has nothing to hold."""
    if not queue.waiting:
        return queue
    return Queue(queue.seq + 1, queue.waiting, reason)


def released(queue: Queue) -> Queue:
    """Let it go on."""
    return Queue(queue.seq + 1, queue.waiting) if queue.held else queue


def check_seq(queue: Queue, seen: int | None) -> None:
    """Return if whoever changes the queue has seen its newest state, or did not say.

    Raises:
        UserError: It was changed meanwhile.
    """
    if seen is not None and seen != queue.seq:
        raise UserError(
            f"the queue was changed meanwhile (it is at seq {queue.seq}, not {seen}); look at it "
            "again and repeat the change"
        )


def _check_size(waiting: tuple[Waiting, ...]) -> None:
    n_characters = sum(len(one.prompt.words) for one in waiting)
    if n_characters > MOST_WAITING_CHARACTERS:
        raise UserError(
            f"the prompts that wait would have {n_characters:,} characters, which is over "
            f"{MOST_WAITING_CHARACTERS:,}; wait for the running turn, or remove some"
        )


def _find(queue: Queue, identifier: str) -> Waiting:
    for one in queue.waiting:
        if one.id == identifier:
            return one
    raise UserError(f"no prompt {identifier!r} is waiting; it has begun or was removed")
