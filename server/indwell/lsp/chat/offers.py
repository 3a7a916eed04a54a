"""What a chat document offers: code actions and lenses, as plain JSON. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from indwell.lsp.chat import layout
from indwell.lsp.chat.outline import Place

_KIND = "source.indwell"
_AS_ACTION = {"Send": "Send to Indwell", "Answer": "Send the answer"}  # a key finds "Send" in both
MOST_TURNS = 30  # that have lenses; the newest


class State(NamedTuple):
    """What is known when offers are asked for.

    Attributes:
        uri: The document.
        session: That it belongs to; empty if none.
        running: A turn of this document's session runs.
        busy: A turn of another one does.
        pending: Turns of the session with changes to accept or reject.
        plan: The model proposed a plan, and nothing was said of it yet.
        asked: A question of the model's waits in the running turn.
    """

    uri: str
    session: str = ""
    running: bool = False
    busy: bool = False
    pending: frozenset[int] = frozenset()
    plan: bool = False
    asked: bool = False


def sending(text: str, state: State) -> list[dict[str, Any]]:
    """The commands for what the user is writing."""
    draft = layout.draft_of(text)
    has_words = draft is not None and draft.stop > draft.start
    found = []
    if state.running:
        if has_words and state.asked:
            found.append(_command("Answer", state, how="steer"))
        elif has_words:
            found.append(_command("Steer the running turn", state, how="steer"))
            found.append(_command("Send next", state, how="next"))
        found.append({"title": "Stop", "command": "indwell.cancel"})
    elif draft is not None:
        found.append(_command("Send", state, how="next" if state.busy else "auto"))
        found += of_plan(state)
    return found


def of_plan(state: State) -> list[dict[str, Any]]:
    """What can be done with the plan of the session."""
    if not state.plan:
        return []
    return [
        {
            "title": title,
            "command": "indwell.plan",
            "arguments": [{"action": action, "session": state.session}],
        }
        for title, action in (("Approve the plan", "approve"), ("Edit the plan", "open"))
    ]


def actions(text: str, state: State, at: int) -> list[dict[str, Any]]:
    """Code actions: sending anywhere, and what can be done with the turn at an offset."""
    commands = [
        {**one, "title": _AS_ACTION.get(one["title"], one["title"])} for one in sending(text, state)
    ]
    turn = _turn_at(text, at)
    if turn and state.session and at >= _own_start(text):
        commands += of_turn(state, turn)
    return [{"title": one["title"], "kind": _KIND, "command": one} for one in commands]


def lenses(text: str, state: State, place: Place) -> list[dict[str, Any]]:
    """Lenses: sending above the draft, the others at the headings of the newest turns."""
    found: list[dict[str, Any]] = []
    n_turns = 0
    own = _own_start(text)
    is_first = True
    for heading in layout.backwards(text):
        commands: Sequence[Mapping[str, Any]] = ()
        if is_first:
            commands = sending(text, state)
            is_first = False
        if heading.kind == "turn":
            n_turns += 1
            if n_turns > MOST_TURNS:
                break
            is_own = bool(state.session) and heading.start >= own
            if is_own and not (state.running and n_turns == 1):
                commands = (*commands, *of_turn(state, heading.turn))
        here = place(heading.start)
        found += [{"range": {"start": here, "end": here}, "command": one} for one in commands]
    return found


def of_turn(state: State, turn: int) -> list[dict[str, Any]]:
    """What can be done with a turn of the session."""
    which = {"session": state.session, "turn": turn}
    found = []
    if turn in state.pending:
        found += [
            {"title": "Accept changes", "command": "indwell.accept", "arguments": [which]},
            {"title": "Reject changes", "command": "indwell.reject", "arguments": [which]},
        ]
    return [
        *found,
        {"title": "Rewind to here", "command": "indwell.rewind", "arguments": [which]},
        {"title": "Fork from here", "command": "indwell.fork", "arguments": [which]},
    ]


def _own_start(text: str) -> int:
    """Where the turns of the session begin that the first line names.

    A chat may hold turns of an earlier session above them; their numbers do not go on rising.
    """
    start, later = len(text), 0
    for heading in layout.backwards(text):
        if heading.kind != "turn":
            continue
        if later and heading.turn >= later:
            break
        start, later = heading.start, heading.turn
        if later == 1:
            break
    return start


def _turn_at(text: str, at: int) -> int:
    for heading in layout.backwards(text):
        if heading.start <= at:
            return heading.turn
    return 0


def _command(title: str, state: State, *, how: str) -> dict[str, Any]:
    arguments = [{"uri": state.uri, "how": how}]
    return {"title": title, "command": "indwell.send", "arguments": arguments}
