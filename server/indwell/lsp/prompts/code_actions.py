"""Chooses the code actions to offer, each with a command. Pure.

No model is called to offer actions. Each command contains its whole input as plain JSON.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from indwell.lsp.messages.features import ACTION_KINDS, FIX_ALL, TASK_OFFERS, ActionOffer
from indwell.lsp.messages.lsprotocol_types import types
from indwell.lsp.prompts.attention import is_hint
from indwell.lsp.wire import sync
from indwell.lsp.wire.conversion import as_json
from indwell.translation import Translation

AUTOMATIC = 2  # the value of LSP's CodeActionTriggerKind


class ActionPlace(msgspec.Struct, frozen=True):
    """What the server knows when an editor requests code actions.

    Attributes:
        uri: The URI of the document.
        version: The document's present version.
        can_ask: Whether the editor can ask the user for a line of text.
        running: Whether a turn runs.
        interrupted: Whether Indwell ended during the last turn, which can be continued.
        known: Problems of the whole document that the editor reported before. Neovim's request to a
            server contains only that server's problems.
    """

    uri: str
    version: int
    can_ask: bool
    running: bool
    interrupted: bool = False
    known: tuple[types.Diagnostic, ...] = ()


STOP_TITLE = "Stop the running turn"
_CANCEL = ActionOffer(STOP_TITLE, "indwell.cancel", ACTION_KINDS[2])
_CONTINUE = ActionOffer("Continue the interrupted turn", "indwell.continue", ACTION_KINDS[2])


def offer(
    place: ActionPlace, range_: sync.Range, context: sync.ActionContext
) -> list[dict[str, Any]]:
    """Return the actions for a range as JSON; on an automatic trigger, only at a problem."""
    automatic = context.trigger_kind == AUTOMATIC
    given = [
        one for one in context.diagnostics if not is_hint(one.get("source"), one.get("message"))
    ]
    problems = given or [as_json(one) for one in _touching(place.known, range_)]
    if automatic:
        offers = list(TASK_OFFERS[:1]) if problems else []
    else:
        offers = [one for one in TASK_OFFERS if place.can_ask or not one.needs_words]
        offers += [FIX_ALL] if problems or place.known else []
        offers += [_CANCEL] if place.running else []
        offers += [_CONTINUE] if place.interrupted and not place.running else []
    return [
        _action(one, place, range_, problems) for one in offers if is_wanted(one.kind, context.only)
    ]


MOST_SHOWN = 8  # the limit of entries in a menu that is not limited to one kind
_VERDICTS = frozenset({"indwell.accept", "indwell.reject"})
_CONTROLS = frozenset({_CANCEL.command, _CONTINUE.command})


def menu(
    tasks: Sequence[dict[str, Any]], verdicts: Sequence[dict[str, Any]], only: Sequence[str] | None
) -> list[dict[str, Any]]:
    """Return the actions in the order of the menu: accept and reject of the change here come first.

    A menu for all kinds has at most ``MOST_SHOWN`` actions; a menu for one kind has all of that
    kind.

    Args:
        tasks: The actions of ``offer``.
        verdicts: The actions of the review, from the change at the place to all pending changes.
        only: The requested kinds.
    """
    here = [one for one in verdicts if one["kind"] == ACTION_KINDS[0]]
    wider = [one for one in verdicts if one not in here]
    controls = [one for one in tasks if one["command"]["command"] in _CONTROLS]
    rest = [one for one in tasks if one not in controls]
    if only:
        return [*here, *controls, *rest, *wider]
    room = MOST_SHOWN - len(here) - len(controls)
    if here:
        # Accept and Reject of the smallest and largest scope stay, and there is room for "Fix
        # this".
        verdicts = [one for one in wider if one["command"]["command"] in _VERDICTS]
        most = verdicts if len(wider) < room else [*verdicts[:2], *verdicts[2:][-2:]]
        views = [one for one in wider if one not in verdicts][: room - 1 - len(most)]
        return [*here, *controls, *most, *views, *rest][:MOST_SHOWN]
    n_wider = min(2, len(wider))
    return [*controls, *rest[: room - n_wider], *wider][:MOST_SHOWN]


def _touching(
    problems: Sequence[types.Diagnostic], range_: sync.Range
) -> Sequence[types.Diagnostic]:
    first, last = range_.start.line, range_.end.line
    return [one for one in problems if one.range.start.line <= last and one.range.end.line >= first]


def is_wanted(kind: str, only: Sequence[str] | None) -> bool:
    """Return whether a kind is requested; ``quickfix`` also requests ``quickfix.indwell``."""
    if not only:  # an empty list counts as no list, as in gopls
        return True
    return any(not one or kind == one or kind.startswith(one + ".") for one in only)


def _action(
    offered: ActionOffer, place: ActionPlace, range_: sync.Range, problems: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    command: dict[str, Any] = {"title": offered.title, "command": offered.command}
    if offered not in {_CANCEL, _CONTINUE}:
        command["arguments"] = [
            {
                "uri": place.uri,
                "version": place.version,
                "range": msgspec.to_builtins(range_),
                "diagnostics": list(problems),
            }
        ]
    action: dict[str, Any] = {"title": offered.title, "kind": offered.kind, "command": command}
    if offered.command == "indwell.fix" and problems:
        action["diagnostics"] = list(problems)
    return action


def titled(found: Sequence[dict[str, Any]], translation: Translation) -> msgspec.Raw:
    """Return code actions or code lenses as JSON, with titles in the user's language."""
    if translation.language:
        found = [_titled(one, translation) for one in found]
    return msgspec.Raw(msgspec.json.encode(found))


def _titled(one: dict[str, Any], translation: Translation) -> dict[str, Any]:
    command = {**one["command"], "title": translation.of(one["command"]["title"])}
    title = {"title": translation.of(one["title"])} if "title" in one else {}  # a lens has no title
    return {**one, **title, "command": command}
