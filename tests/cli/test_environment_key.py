"""The environment's key is OpenAI's, unless the environment also names the endpoint."""

from __future__ import annotations

import json

import pytest

from indwell.service.stored_keys import foreign_key_notice, is_foreign_key
from indwell.settings.credentials import Secret
from indwell.settings.keys import KeyStore, Ring
from indwell.settings.model import Settings
from support.editing import Home
from support.loopback_endpoint import LoopbackEndpoint, say
from support.model_server import answering, listed
from support.terminal import indwell

KEY = "sk-canary-of-openai"
ELSEWHERE = "https://models.example/v1"
ALONE = {"OPENAI_API_KEY": KEY}


@pytest.mark.parametrize(
    ("base_url", "environment", "is_foreign"),
    [
        (None, ALONE, False),
        ("https://api.openai.com/v1", ALONE, False),
        ("https://eu.api.openai.com/v1", ALONE, False),
        ("http://api.openai.com/v1", ALONE, True),
        ("https://api.openai.com.evil.example/v1", ALONE, True),
        (ELSEWHERE, ALONE, True),
        (ELSEWHERE, {**ALONE, "OPENAI_BASE_URL": ELSEWHERE}, False),
        (ELSEWHERE, {"OPENAI_API_KEY": " "}, False),
    ],
)
def test_the_endpoint_of_the_environments_key_is_determined(
    base_url, environment, is_foreign
) -> None:
    assert is_foreign_key(Settings(base_url=base_url), environment) == is_foreign


def no_ring() -> Ring:
    raise AssertionError("no keyring is asked")


def test_a_key_that_is_not_sent_to_another_endpoint_is_reported(tmp_path) -> None:
    store = KeyStore(tmp_path / "keys.json", no_ring)
    elsewhere = Settings(base_url=ELSEWHERE)
    assert foreign_key_notice(elsewhere, store) == (
        "OPENAI_API_KEY is not sent to https://models.example: without OPENAI_BASE_URL it is "
        "OpenAI's; `indwell login https://models.example/v1` keeps a key for that endpoint, or set "
        "OPENAI_BASE_URL, too"
    )
    assert foreign_key_notice(Settings(base_url=ELSEWHERE, api_key=Secret("own")), store) == ""
    assert foreign_key_notice(Settings(base_url="http://127.0.0.1:9/v1"), store) == ""
    store.put("https://models.example", None)
    assert foreign_key_notice(elsewhere, store) == ""


async def test_the_environments_key_is_not_sent_to_the_address_in_config_toml(tmp_path) -> None:
    home = Home(tmp_path)
    async with LoopbackEndpoint(lambda _seen: say("Well.")) as endpoint:
        home.configure(f'model = "m"\nbase_url = "{endpoint.base_url}"\n')
        environment = home.environment(**ALONE)
        ended = await indwell("run", "hi", environment=environment, folder=home.workspace)
        assert (ended.code, KEY in repr([one.headers for one in endpoint.seen])) == (0, False)


async def test_the_key_in_config_toml_is_sent_to_its_own_endpoint(tmp_path) -> None:
    home = Home(tmp_path)
    async with LoopbackEndpoint(answering(listed("m"), key="own-key-1")) as endpoint:
        home.configure(f'model = "m"\nbase_url = "{endpoint.base_url}"\napi_key = "own-key-1"\n')
        environment = home.environment(**ALONE)
        ended = await indwell("models", "--json", environment=environment, folder=home.workspace)
        assert [one["name"] for one in json.loads(ended.stdout)] == ["m"]


async def test_the_doctor_names_the_host_that_gets_no_key(tmp_path) -> None:
    home = Home(tmp_path)
    home.configure(f'model = "m"\nbase_url = "{ELSEWHERE}"\n')
    environment = home.environment(**ALONE)
    ended = await indwell("doctor", "--offline", environment=environment, folder=home.workspace)
    assert "settings: OPENAI_API_KEY is not sent to https://models.example:" in ended.stdout
