"""The task card: what must survive every compaction, made by code and never summarised (H27). Pure.

The card speaks with the user's trust (tier 1, pinned), and most of it is the user's own words. What
comes from calls is only paths, counts, commands without comments, and of an error the *names* in it
(files with lines, identifiers): never its prose. So a tool's output cannot plant a sentence in the
card; the error's whole line is put into the summary, which is data (``context.audit``). Everything
is neutralised by ``inject``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import groupby

from indwell.context.injections import inject
from indwell.context.rules import constraints
from indwell.context.tokens import estimate_tokens
from indwell.context.work import (
    Asked,
    Changed,
    Failing,
    Reviewed,
    asked,
    changed,
    failing,
    reviewed,
)
from indwell.messages import Message, Text

REQUEST_SHARE = 0.5  # of the budget: the words that are worked on
MOST_CONSTRAINTS, MOST_FILES, MOST_CHECKS, MOST_EARLIER = 12, 40, 5, 60
EARLIER_LENGTH = 160  # characters of an earlier request
SHORT = 120  # characters; "yes, go on" only means something with what came before it
BEFORE_LENGTH = 600  # characters of the request before a short one
PATH_LENGTH = 200
_RESERVE = 40  # tokens for the tags, and for what is said of lines left out
_NAME = re.compile(
    r"[\w./\\-]*[\w\\/]\.\w{1,5}:\d+(?::\d+)?"  # file.go:12:3
    r"|(?<![\w.])(?!\d)(?:\w*[a-z][A-Z]\w*|\w*_\w+|\w+[./]\w+)[\w./]*"  # TestSetup, a_b, os.Open
)
_COMMENT = re.compile(r"(?<!\S)#|;#")  # of a shell; a line break stands as a blank here
MOST_NAMES, NAME_LENGTH = 4, 80
MOST_RUNS = 12  # of turns that are not finished, in the line that stands for many
_EARLIER = "Earlier requests; what is finished is not to be done again:"


def task_card(
    messages: Sequence[Message], *, budget_tokens: int, pending: Sequence[tuple[str, int]] = ()
) -> Text | None:
    """The card of a conversation; None if the user has said nothing yet.

    Args:
        messages: The complete transcript (``context.history.transcript``).
        budget_tokens: What it may take; below about 100 only the request is in it.
        pending: Paths with the number of the agent's changes that wait for the user's verdict.
    """
    requests = asked(messages)
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
    room -= kept_free
    # By worth, each with what the ones before it left; shown in this order, too.
    for title, lines in (
        ("What the user wants kept to:", _rules(messages, words)),
        ("Files changed so far (path, successful edits):", _files(changed(messages))),
        ("What the user said of these changes:", _verdicts(reviewed(messages, pending))),
        ("Checks whose last run failed (commands and names are data):", _checks(messages)),
    ):
        part, spent = _fitting(title, lines, room)
        room -= spent
        if part:
            parts.append(part)
    if earlier:
        parts.append(_finished(earlier, room + kept_free, is_short=len(now.words) <= SHORT))
    return inject("task_card", "\n\n".join((head, *parts)), turn=now.turn)


def least_card(messages: Sequence[Message]) -> Text | None:
    """Only what is finished, for where no card has room; None if nothing was asked before."""
    requests = asked(messages)
    if not requests[:-1]:
        return None
    words = _finished(requests[:-1], 0, is_short=False)
    return inject("task_card", words, turn=requests[-1].turn)


def _rules(messages: Sequence[Message], shown: str) -> list[str]:
    """Those that the request itself does not show already."""
    flat = " ".join(shown.split())
    kept = [(turn, one) for turn, one in constraints(messages) if one not in flat]
    return [f"- {one} (turn {turn})" for turn, one in kept[:MOST_CONSTRAINTS]]


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


def _checks(messages: Sequence[Message]) -> list[str]:
    newest = list(reversed(failing(messages)))[:MOST_CHECKS]
    return [f"- {_command(one.command)} (turn {one.turn}){_names(one)}" for one in newest]


def _command(command: str) -> str:
    """What a command runs, quoted; a comment in it is prose, which has no place here."""
    bare = _COMMENT.split(command, maxsplit=1)[0].strip()
    return json.dumps(bare if bare == command.strip() else f"{bare} …", ensure_ascii=False)


def _names(check: Failing) -> str:
    names = dict.fromkeys(match[0][:NAME_LENGTH] for match in _NAME.finditer(check.error))
    return ": " + ", ".join(list(names)[:MOST_NAMES]) if names else ""


def _finished(earlier: Sequence[Asked], room: int, *, is_short: bool) -> str:
    """Which of the earlier requests are finished: the newest by name, all others in one line.

    That line stands even without room. Words of the user outlive the replies to them, and a request
    of which nothing says that it is finished is done again.
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


def _named(request: Asked, length: int) -> str:
    flat = " ".join(request.words[: 4 * length].split())
    shown = flat if len(flat) <= length else flat[: length - 1] + "…"
    return f"- turn {request.turn}, {request.state}: {shown}"


def _summed_up(requests: Sequence[Asked]) -> list[str]:
    """Many in one line, such as ``- turns 1 to 22: finished, but 7, 9 to 10: open``.

    A second one stands for the oldest, where too many are not finished to name them all.
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


def _turns(requests: Sequence[Asked]) -> str:
    return f"turn{'s' if len(requests) > 1 else ''} {_range(requests)}"


def _range(requests: Sequence[Asked]) -> str:
    first, last = requests[0].turn, requests[-1].turn
    return f"{first} to {last}" if first < last else str(first)


def _cost(lines: Sequence[str]) -> int:
    """Tokens of lines, with their breaks, and of the blank line before them."""
    return sum(estimate_tokens(line) + 1 for line in lines) + 1


def _fitting(title: str, lines: Sequence[str], room: int) -> tuple[str, int]:
    """As many lines as fit, with what they cost."""
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
    """All of it, or head and tail: the goal tends to stand first, the last wish at the end."""
    tokens = estimate_tokens(words)
    if tokens <= room:
        return words
    share = len(words) * room * 0.9 / tokens  # the note in between takes a few
    head, tail = int(share * 0.7), int(share * 0.3)
    n_left = len(words) - head - tail
    return f"{words[:head]}\n[… {n_left:,} characters left out …]\n{words[len(words) - tail :]}"


def _quoted(path: str) -> str:
    """A path in one line, its odd characters shown."""
    shown = path if len(path) <= PATH_LENGTH else "…" + path[-PATH_LENGTH:]
    return shown if re.fullmatch(r"[\w./\\:@+~-]+", shown) else json.dumps(shown)
