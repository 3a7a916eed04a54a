"""Translates the sentences of Indwell in an event for one client. Pure."""

from __future__ import annotations

import msgspec

from indwell.agent.core import events
from indwell.translation import Translation


def translated_event(event: events.Event, translation: Translation) -> events.Event:
    """Return an event with the messages of Indwell in the user's language.

    Texts by the user, the model and programs stay as they are, and so do commands and diffs.
    """
    if not translation.language:
        return event
    replace, say = msgspec.structs.replace, translation.of
    match event:
        case events.Notice(message=message):
            return replace(event, message=say(message))
        case events.TurnFinished(message=message, verified=verified):
            return replace(event, message=say(message), verified=say(verified))
        case events.PermissionAsked(title=title, reason=reason):
            return replace(event, title=say(title), reason=say(reason))
        case events.ToolFinished(message=message):
            return replace(event, message=say(message))
        case events.Compacted(note=note):
            return replace(event, note=say(note))
        case events.QueueChanged(held=held):
            return replace(event, held=say(held))
        case _:
            return event
