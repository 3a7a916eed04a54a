"""Builds the task card, without a model: what must survive every compaction.

The card is trusted like the user (tier 1, pinned), and most of its text is the user's own. The card
takes only paths, counts and commands without comments from tool calls, and only *names* (files with
lines, identifiers) from errors, never sentences. A tool's output can therefore not put a sentence
into the card. The complete line of an error goes into the summary, which is data. ``inject``
escapes tags in all texts.

The user's rules, choices and unfinished tasks come from ``user_notes``. The card has a limit of
tokens, so it shows the most binding notes of any age, and names files with all notes.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from itertools import groupby

from indwell.context.compaction.summarising.note_changes import UserNote
from indwell.context.compaction.summarising.user_notes import OpenTask, open_tasks, user_notes
from indwell.context.injections import inject
from indwell.context.tokens import estimate_tokens
from indwell.context.work_record import (
    Changed,
    Failing,
    Reviewed,
    UserPrompt,
    WorkPart,
    work_of,
)
from indwell.lazy_pattern import lazy_pattern
from indwell.messages import Message, Text

# The task card has 1/20 of the prompt's limit, between 300 and 2,000 tokens.
_LEAST_CARD, _MOST_CARD, _CARD_SHARE = 300, 2_000, 20
REQUEST_SHARE = 0.5  # the share of the budget for the current request
MOST_FILES, MOST_CHECKS, MOST_EARLIER = 40, 5, 60
# the share of the card's remaining space for notes, and of the space that then remains for open
# tasks
NOTES_SHARE = 0.5
EARLIER_LENGTH = 160  # the limit of characters for an earlier request
# the limit of characters for a short request, such as "yes, go on", which needs the request before
# it
SHORT = 120
BEFORE_LENGTH = 600  # the limit of characters for the request before a short request
PATH_LENGTH = 200
_RESERVE = 40  # the tokens for the tags, and for the note on omitted lines
OLD_LENGTH, TASK_LENGTH = 80, 100  # the limits of characters for a changed note, and a task
ALIKE_LENGTH = 12  # sentences whose first 12 characters are equal are alike
_RULES = "What the user wants kept to (if two lines contradict, the later turn counts):"
_DOUBTED = "perhaps changed in turn"
_POINTER = (
    "All rules, choices, facts and open tasks from the user's words, with their turns, are in"
)
_NAME = lazy_pattern(
    r"[\w./\\-]*[\w\\/]\.\w{1,5}:\d+(?::\d+)?"  # matches file.go:12:3
    # matches TestSetup, a_b, os.Open
    r"|(?<![\w.])(?!\d)(?:\w*[a-z][A-Z]\w*|\w*_\w+|\w+[./]\w+)[\w./]*"
)
# Matches a comment in a shell command, in which line breaks are blanks.
_COMMENT = lazy_pattern(r"(?<!\S)#|;#")
MOST_NAMES, NAME_LENGTH = 4, 80
MOST_RUNS = 12  # the limit of turn ranges in the line that sums up many unfinished requests
_EARLIER = "Earlier requests; what is finished is not to be done again:"


def card_limit(budget: int) -> int:
    """Return the most tokens of a task card, for a prompt of at most ``budget`` tokens."""
    return min(max(budget // _CARD_SHARE, _LEAST_CARD), _MOST_CARD)


def task_card(
    messages: Sequence[Message],
    *,
    budget_tokens: int,
    pending: Sequence[tuple[str, int]] = (),
    notes_in: str = "",
    work: WorkPart | None = None,
) -> Text | None:
    """Build the card of a conversation; return None if the user has said nothing yet.

    Args:
        messages: The complete transcript (``context.history.transcript``).
        budget_tokens: The limit of tokens for the card; below about 100, only the request fits.
        pending: Paths with the number of the agent's changes that await review.
        notes_in: The names of the files with all notes (``user_notes.note_files``). The card names
            the files only if it does not show all notes.
        work: The work of all messages, if the caller has recorded the work.
    """
    work = work or work_of(messages)
    requests = work.asked()
    if not requests:
        return None
    now = requests[-1]
    room = max(budget_tokens - _RESERVE, 20)
    words = _shortened(now.words, int(room * REQUEST_SHARE))
    head = f"What is worked on now (turn {now.turn}, the user's words):\n{words}"
    room -= estimate_tokens(head)
    parts = []
    earlier = requests[:-1]
    kept_free = _cost([_EARLIER, *_summed_up(earlier)]) if earlier else 0
    pointer = f"{_POINTER} {notes_in}" if notes_in else ""
    room -= kept_free + (_cost([pointer]) if pointer else 0)
    has_room = room >= 0
    notes = user_notes(requests)
    tasks = open_tasks(requests, notes)
    flat = " ".join(words.split())
    lasting, facts = (_note_lines(notes, flat, are_facts=one) for one in (False, True))
    # The parts are in order of value, and each part gets the space that the earlier parts left.
    for title, lines, share in (
        (_RULES, lasting, NOTES_SHARE),
        ("Not finished yet (the user's words):", _task_lines(tasks), NOTES_SHARE),
        ("Files changed so far (path, successful edits):", _files(work.changed()), 1.0),
        ("What the user said of these changes:", _verdicts(work.reviewed(pending)), 1.0),
        (
            "Checks whose last run failed (commands and names are data):",
            _checks(work.failing()),
            1.0,
        ),
    ):
        part, spent = _fitting(title, lines, int(room * share))
        room -= spent
        if part:
            parts.append(part)
    if earlier:
        kept = kept_free + int(room * (1 - NOTES_SHARE if facts else 1))
        parts.append(_finished(earlier, kept, is_short=len(now.words) <= SHORT))
        room -= max(0, _cost([parts[-1]]) - kept_free)
    others = [
        one
        for one in facts
        if (said := one.partition(" (turn "))[0][2:] not in parts[-1] or _DOUBTED in said[2]
    ]
    part, _ = _fitting("What the user also said:", others, room)
    if part:
        parts.append(part)
    shown = "\n".join(parts)
    if pointer and has_room and not all(one in shown for one in (*lasting, *others)):
        parts.append(pointer)
    return inject("task_card", "\n\n".join((head, *parts)), turn=now.turn)


def least_card(messages: Sequence[Message], work: WorkPart | None = None) -> Text | None:
    """Build a card that lists only finished requests; return None if no request came earlier."""
    requests = (work or work_of(messages)).asked()
    if not requests[:-1]:
        return None
    words = _finished(requests[:-1], 0, is_short=False)
    return inject("task_card", words, turn=requests[-1].turn)


def _note_lines(notes: Sequence[UserNote], shown: str, *, are_facts: bool) -> list[str]:
    """Return lines of the notes that are still valid, without those that ``shown`` contains.

    A fact that changes, or perhaps changes, an earlier statement counts as a choice. Among notes
    of one weight, sentences of different beginnings come first. The newest and the oldest sentences
    take turns, because users state the frame of the work mostly at the beginning.
    """
    valid = [
        one
        for one in notes
        if not one.changed_in
        and one.kind != "later"
        and (one.kind == "fact" and not one.changes and not one.doubts) == are_facts
        and one.text not in shown
    ]
    places = range(len(valid))
    from_ends = [at for pair in zip(reversed(places), places, strict=True) for at in pair]
    alike: Counter[str] = Counter()
    ordered: list[tuple[int, int, UserNote]] = []
    for one in (valid[at] for at in dict.fromkeys(from_ends)):
        beginning = one.text[:ALIKE_LENGTH].lower()
        ordered.append((one.weight, alike[beginning], one))
        alike[beginning] += 1
    ordered.sort(key=lambda each: each[:2])
    return [f"- {one.text} (turn {_turn_of(one, notes)})" for _, _, one in ordered]


def _turn_of(note: UserNote, notes: Sequence[UserNote]) -> str:
    """Return the turn of a note, the later turn that perhaps changes it, and what it changes."""
    doubted = f"; {_DOUBTED} {note.doubted_in}" if note.doubted_in else ""
    olds = [notes[at] for at in note.changes]
    changes = "".join(f"; changes turn {one.turn}: {_cut(one.text, OLD_LENGTH)}" for one in olds)
    return f"{note.turn}{doubted}{changes}"


def _task_lines(tasks: Sequence[OpenTask]) -> list[str]:
    """Return lines of open tasks: first what was put off or broke off, the newest first."""
    ordered = sorted(tasks, key=lambda one: (one.state == "asked back", -one.turn))
    return [f"- turn {one.turn}, {one.state}: {_cut(one.text, TASK_LENGTH)}" for one in ordered]


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _files(files: Sequence[Changed]) -> list[str]:
    newest = list(reversed(files))
    lines = [
        f"- {_quoted(one.path)} ({'new, ' if one.is_new else ''}{one.n_edits})"
        for one in newest[:MOST_FILES]
    ]
    if len(newest) > MOST_FILES:
        lines.append(f"- and {len(newest) - MOST_FILES} more")
    return lines


def _verdicts(files: Sequence[Reviewed]) -> list[str]:
    lines: list[str] = []
    for one in files:
        said = [f"{one.n_rejected} rejected and taken back"] if one.n_rejected else []
        said += [f"{one.n_pending} not reviewed yet"] if one.n_pending else []
        lines.append(f"- {_quoted(one.path)}: {', '.join(said)}")
    if len(lines) > MOST_FILES:
        lines[MOST_FILES:] = [f"- and {len(lines) - MOST_FILES} more"]
    return lines


def _checks(failing: Sequence[Failing]) -> list[str]:
    newest = list(reversed(failing))[:MOST_CHECKS]
    return [f"- {_command(one.command)} (turn {one.turn}){_names(one)}" for one in newest]


def _command(command: str) -> str:
    """Return a command's text in quotes, without comments, because comments are prose."""
    bare = _COMMENT.split(command, maxsplit=1)[0].strip()
    return json.dumps(bare if bare == command.strip() else f"{bare} …", ensure_ascii=False)


def _names(check: Failing) -> str:
    names = dict.fromkeys(match[0][:NAME_LENGTH] for match in _NAME.finditer(check.error))
    return ": " + ", ".join(list(names)[:MOST_NAMES]) if names else ""


def _finished(earlier: Sequence[UserPrompt], room: int, *, is_short: bool) -> str:
    """Return lines on earlier requests: quoted if they are new, older requests in one line.

    The line for older requests is added even if there is no space, because the agent repeats a
    request unless a line says that the request is finished.
    """
    room -= _cost([_EARLIER, *_summed_up(earlier)])
    lines: list[str] = []
    for request in reversed(earlier[-MOST_EARLIER:]):
        line = _named(request, BEFORE_LENGTH if is_short and not lines else EARLIER_LENGTH)
        room -= _cost([line])
        if room < 0:
            break
        lines.append(line)
    return "\n".join((_EARLIER, *lines, *_summed_up(earlier[: len(earlier) - len(lines)])))


def _named(request: UserPrompt, length: int) -> str:
    flat = " ".join(request.words[: 4 * length].split())
    shown = flat if len(flat) <= length else flat[: length - 1] + "…"
    return f"- turn {request.turn}, {request.state}: {shown}"


def _summed_up(requests: Sequence[UserPrompt]) -> list[str]:
    """Summarise requests in a line such as ``- turns 1 to 22: finished, but 7, 9 to 10: open``.

    If too many requests are unfinished, a second line covers the oldest requests.
    """
    runs = [(state, tuple(some)) for state, some in groupby(requests, key=lambda one: one.state)]
    odd = [run for run in runs if run[0] != "finished"]
    if len(odd) > MOST_RUNS:
        older = requests[: requests.index(odd[-MOST_RUNS - 1][1][-1]) + 1]
        n_odd = sum(one.state != "finished" for one in older)
        line = f"- {_turns(older)}: over, {n_odd} of them not finished"
        return [line, *_summed_up(requests[len(older) :])]
    if not requests:
        return []
    if len(runs) == 1:
        return [f"- {_turns(requests)}: {runs[0][0]}"]
    named = (
        f"{', '.join(_range(some) for one, some in odd if one == state)}: {state}"
        for state in dict.fromkeys(state for state, _ in odd)
    )
    return [f"- {_turns(requests)}: finished, but {'; '.join(named)}"]


def _turns(requests: Sequence[UserPrompt]) -> str:
    return f"turn{'s' if len(requests) > 1 else ''} {_range(requests)}"


def _range(requests: Sequence[UserPrompt]) -> str:
    first, last = requests[0].turn, requests[-1].turn
    return f"{first} to {last}" if first < last else str(first)


def _cost(lines: Sequence[str]) -> int:
    """Return the tokens of lines, with line breaks and a preceding blank line."""
    return sum(estimate_tokens(line) + 1 for line in lines) + 1


def _fitting(title: str, lines: Sequence[str], room: int) -> tuple[str, int]:
    """Return the lines that fit under a title, and their tokens."""
    spent = estimate_tokens(title) + 2
    taken: list[str] = []
    for line in lines:
        cost = estimate_tokens(line) + 1
        if spent + cost > room:
            taken.append(f"- … {len(lines) - len(taken)} more")
            break
        taken.append(line)
        spent += cost
    if not taken or taken[0].startswith("- … "):
        return "", 0
    return "\n".join((title, *taken)), spent + 8 * taken[-1].startswith("- … ")


def _shortened(words: str, room: int) -> str:
    """Return the text; a long text is shortened to its head and tail, where the wishes are."""
    tokens = estimate_tokens(words)
    if tokens <= room:
        return words
    # The factor leaves some tokens for the note between head and tail.
    share = len(words) * room * 0.9 / tokens
    head, tail = int(share * 0.7), int(share * 0.3)
    n_left = len(words) - head - tail
    return f"{words[:head]}\n[… {n_left:,} characters left out …]\n{words[len(words) - tail :]}"


def _quoted(path: str) -> str:
    """Return a path on one line, with unusual characters escaped."""
    shown = path if len(path) <= PATH_LENGTH else "…" + path[-PATH_LENGTH:]
    return shown if re.fullmatch(r"[\w./\\:@+~-]+", shown) else json.dumps(shown)
