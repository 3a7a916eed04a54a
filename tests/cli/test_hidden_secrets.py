"""The current settings decide which values a session hides; the endpoint's key is always hidden."""

from __future__ import annotations

import msgspec
import pytest

from indwell.secrets import Secrecy
from indwell.settings.credentials import Secret
from indwell.settings.load import load
from indwell.settings.model import Settings
from support.made_secrets import made_secrets

KEY = Secret("own-key-8f31")
TEXT, SECRET = made_secrets()["github"]
ENVIRONMENT = {"SERVICE_TOKEN": "n0-C4nary-8f31", "HOME": "/home/u"}
ALL = f"{TEXT} own-key-8f31 n0-C4nary-8f31 /home/u"


@pytest.mark.parametrize("is_on", [True, False])
def test_inj_17_the_endpoints_key_is_hidden_whatever_the_settings_say(is_on: bool) -> None:  # noqa: FBT001
    settings = Settings(redact_secrets=is_on)
    hidden = Secrecy(lambda: settings, (KEY.reveal(),), ENVIRONMENT).hide(ALL)
    assert KEY.reveal() not in hidden
    assert "/home/u" in hidden
    assert [one in hidden for one in (SECRET, "n0-C4nary-8f31")] == [not is_on] * 2


def test_a_changed_redaction_setting_takes_effect_at_once() -> None:
    settings = [Settings(redact_secrets=False)]
    hide = Secrecy(lambda: settings[0], (), ENVIRONMENT).hide
    assert SECRET in hide(TEXT)
    settings[0] = msgspec.structs.replace(settings[0], redact_secrets=True)
    assert SECRET not in hide(TEXT)


def test_the_settings_api_key_and_a_later_key_are_hidden() -> None:
    secrecy = Secrecy(lambda: Settings(api_key=KEY, redact_secrets=False), (), {})
    hide = secrecy.hide  # a part of the session keeps this function
    assert KEY.reveal() not in hide(ALL)
    secrecy.also_hide("another-key-2b")
    assert hide("own-key-8f31 another-key-2b").count("[secret hidden:") == 2


@pytest.mark.parametrize("options", [{"redact_secrets": False}, {"redact": {"secrets": False}}])
def test_only_the_user_settings_can_turn_off_secret_redaction(options: dict[str, object]) -> None:
    loaded = load({}, None, "config.toml", options, "redact_secrets = false")
    assert loaded.settings.redact_secrets
    assert any("may only be turned on" in one for one in loaded.notices)
    by_user = load({}, "redact_secrets = false", "config.toml", {"redact_secrets": True}, None)
    assert by_user.settings.redact_secrets
    assert not load({}, "redact_secrets = false", "config.toml", None, None).settings.redact_secrets
