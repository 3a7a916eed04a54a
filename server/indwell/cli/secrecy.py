"""Which secrets a session keeps from the model: those of known forms, and those of this process."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from indwell.secrets.hiding import Hider
from indwell.secrets.names import secrets_of
from indwell.settings.model import Settings
from indwell.settings.secret import Secret


def hiding(
    settings: Callable[[], Settings], key: Secret | None, environment: Mapping[str, str]
) -> Callable[[str], str]:
    """What takes secrets out of a text; the endpoint's key whatever the settings say (INJ-17)."""
    keys = {one.reveal() for one in (key, settings().api_key) if one is not None}
    by_form = Hider(own=keys, known=secrets_of(environment))
    ours = Hider(own=keys, knows_forms=False)

    def hide(text: str) -> str:
        return (by_form if settings().redact_secrets else ours).hide(text)

    return hide


def also_hiding(hide: Callable[[str], str], key: Secret | None) -> Callable[[str], str]:
    """``hide``, and the key of another endpoint as well."""
    if key is None:
        return hide
    ours = Hider(own=[key.reveal()], knows_forms=False)

    def both(text: str) -> str:
        return hide(ours.hide(text))

    return both
