"""What the doctor looks at beyond this machine: proxies, the endpoint, its model, its tools."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from urllib.parse import urlsplit

from indwell.cli.doctor.check import DoctorFinding, Findings
from indwell.errors import SettingsError
from indwell.providers.discovery import find_servers
from indwell.providers.endpoint import EndpointStep, failure, shown
from indwell.service.endpoint.trial import EndpointAnswer, look, talk
from indwell.service.stored_keys import with_stored_key
from indwell.service.user_settings import read_settings
from indwell.settings.credentials import OPENAI_URL
from indwell.settings.keys import KeyStore
from indwell.settings.load import lacking
from indwell.settings.model import Settings
from indwell.settings.places import user_file

LOOK_S = 6.0  # seconds for one question; a list takes up to three
TALK_S = 11.0  # a model that answers later than this is said to be slow, not broken
_PROXIES = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY")


def proxies(environment: Mapping[str, str]) -> Findings:
    """Which proxies are in force, without their passwords."""
    found = []
    for name in _PROXIES:
        value = environment.get(name, "") or environment.get(name.lower(), "")
        if not value:
            continue
        address = shown(value) or "(no address)"
        if urlsplit(value).scheme.startswith("socks"):
            mend = "name an http proxy, or install the package socksio beside Indwell"
            found.append(DoctorFinding("proxy", "warn", f"{name} is {address}", mend))
        else:
            found.append(DoctorFinding("proxy", "ok", f"{name} is {address}"))
    return tuple(found)


async def endpoint(
    environment: Mapping[str, str],
    store: KeyStore,
    *,
    look_s: float = LOOK_S,
    talk_s: float = TALK_S,
) -> Findings:
    """Is the endpoint reachable, the key taken, the model there? Do streams and tools work?"""
    try:
        chosen = await asyncio.to_thread(_settings, environment, store)
    except SettingsError:
        return (DoctorFinding("endpoint", "skipped", "there is no usable model yet"),)
    if chosen.provider == "scripted":
        return (DoctorFinding("endpoint", "ok", "the scripted model needs no network"),)
    url = chosen.base_url or OPENAI_URL
    key = chosen.api_key.reveal() if chosen.api_key is not None else None
    talking = asyncio.create_task(talk(url, key, chosen.model, timeout_s=talk_s))
    try:
        looked = await look(url, key, timeout_s=look_s)
        steps = looked.steps
        if failure(steps) is None:
            window = await asyncio.to_thread(_window, looked, chosen)
            steps = (*steps, *_exists(looked, chosen.model), *window, *await talking)
    finally:
        talking.cancel()  # an answer is of no use where the list already failed
        await asyncio.wait({talking})
    return tuple(_finding(step) for step in steps)


async def local(environment: Mapping[str, str]) -> Findings:
    """Model servers that run here, and what is wrong with them."""
    findings = []
    for server in await find_servers(environment=environment):
        number = len(server.models)
        sentence = f"{server.title} runs at {server.base_url} with {number} models"
        if server.warning:
            findings.append(DoctorFinding("local model", "warn", server.warning))
        else:
            findings.append(DoctorFinding("local model", "ok", sentence))
    return tuple(findings)


def _settings(environment: Mapping[str, str], store: KeyStore) -> Settings:
    chosen = with_stored_key(read_settings(environment).settings, store)
    problem = lacking(chosen)
    if problem:
        raise SettingsError(problem)
    return chosen


def _exists(looked: EndpointAnswer, model: str) -> tuple[EndpointStep, ...]:
    if not looked.models:
        return ()
    if any(one.name == model for one in looked.models):
        return (EndpointStep("model", "ok", f"it offers {model}"),)
    return (
        EndpointStep(
            "model", "warn", f"{model!r} is not in its list", "`indwell models` shows the list"
        ),
    )


def _window(looked: EndpointAnswer, chosen: Settings) -> tuple[EndpointStep, ...]:
    """Is the model's window known, or will one be assumed?"""
    from indwell.providers.facts import facts_for

    facts = facts_for(chosen.model, chosen.base_url, now=datetime.now(UTC))
    if facts.known or chosen.window is not None:
        return ()
    said = next((one.window for one in looked.models if one.name == chosen.model), None)
    sentence = f"the window of {chosen.model!r} is not known; {facts.window:,} tokens are assumed"
    mend = f"write window = {said or '…'} in {user_file()}"
    return (EndpointStep("window", "warn", sentence, mend),)


def _finding(step: EndpointStep) -> DoctorFinding:
    return DoctorFinding(step.name, step.state, step.sentence, step.mend)
