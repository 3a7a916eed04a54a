"""Which secrets a session keeps from the model: those of known forms, and those of this process."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from indwell.secrets.hiding import Hider
from indwell.secrets.names import secrets_of
from indwell.settings.model import Settings
from indwell.settings.secret import Secret


class Secrecy:
    """What takes secrets out of a text: one for all parts of a session, so none knows fewer keys.

    Args:
        settings: Those of the moment; they may turn off all but the keys (INJ-17).
        key: Of the endpoint.
        environment: Variables of the process.
    """

    def __init__(
        self, settings: Callable[[], Settings], key: Secret | None, environment: Mapping[str, str]
    ) -> None:
        self._settings = settings
        self._known = secrets_of(environment)
        self._keys = frozenset(one.reveal() for one in (key, settings().api_key) if one is not None)
        self._learn(self._keys)

    def hide(self, text: str) -> str:
        """The text without them; the same object if there are none."""
        by_form, ours = self._hiders
        return (by_form if self._settings().redact_secrets else ours).hide(text)

    def also_hide(self, key: str) -> None:
        """Hide the key of another endpoint, too."""
        if key not in self._keys:
            self._learn(self._keys | {key})

    def _learn(self, keys: frozenset[str]) -> None:
        self._keys = keys
        by_form = Hider(own=keys, known=self._known)
        self._hiders = by_form, Hider(own=keys, knows_forms=False)
