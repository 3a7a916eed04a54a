"""State of a feature in the session's log, for features that need no record of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import msgspec

from indwell.agent.core.feature import Moment
from indwell.agent.core.session import Session
from indwell.sessions.display_records import FeatureState
from indwell.sessions.records import Record

T = TypeVar("T")


def save(moment: Moment[Session], feature: str, state: object) -> None:
    """Write the whole state of a feature to the log."""
    session = moment.session
    data = msgspec.Raw(msgspec.json.encode(state))
    session.parts.log.append(FeatureState(moment.turn, feature, data, session.timestamp()))


def saved(branch: Sequence[Record], feature: str, empty: T) -> T:
    """The state that ``save`` wrote last, in the type of ``empty``. Pure.

    ``empty`` is the result where nothing was saved, or where the log holds a state of another
    shape, such as one of an older version of the feature.
    """
    for record in reversed(branch):
        if isinstance(record, FeatureState) and record.feature == feature:
            try:
                return msgspec.json.decode(record.state, type=type(empty))
            except msgspec.DecodeError:
                return empty
    return empty
