"""``indwell doctor``: runs all checks at once, and prints the findings or a bug report.

This module checks the endpoint and the prompt's size. Other modules check the machine, the project
and the user's files.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import msgspec
from rich.console import Console

from indwell.cli.connections.login import MARKS, PLAIN_MARKS
from indwell.cli.doctor import machine, own_files, project
from indwell.cli.doctor.check import (
    DoctorCheck,
    DoctorFinding,
    Findings,
    blocking,
    run_checks,
    timed,
)
from indwell.cli.doctor.report import (
    Diagnosis,
    Private,
    bundle,
    editor_lines,
    last_records,
    private_of,
    redacted,
    settings_lines,
    timing_lines,
    write_report,
)
from indwell.cli.terminal.front_door import TerminalApprover
from indwell.cli.terminal.interruptible_work import wait_for
from indwell.cli.terminal.json_line import json_line
from indwell.cli.terminal.telling import told
from indwell.context.conversation import Conversation
from indwell.context.tokens import estimate_tokens, tools_tokens
from indwell.context.untrusted_text import visible
from indwell.errors import SettingsError
from indwell.files.private import remove_scratch, scratch_folder
from indwell.providers.discovery import find_servers
from indwell.providers.endpoint import EndpointStep, failure, shown
from indwell.service.endpoint.connection_test import EndpointAnswer, look, talk
from indwell.service.endpoint.model_list import ask_for_facts, facts_of
from indwell.service.stored_keys import extras_of, with_stored_key
from indwell.service.user_settings import read_settings
from indwell.sessions.ids import RANDOM_B, new_id
from indwell.sessions.storage.writer import MemoryLog
from indwell.settings.credentials import OPENAI_URL
from indwell.settings.endpoints import in_force, is_editors, split_name
from indwell.settings.keys import FILE_NAME, KeyStore, Ring, known_secrets
from indwell.settings.load import lacking
from indwell.settings.model import Settings
from indwell.settings.paths import user_file
from indwell.wiring.compose import SessionPlace, make_session
from indwell.wiring.conversation import standing_instructions
from indwell.wiring.model import dialect_of, make_model, why_lean
from indwell.workspace.disk import DiskWorkspace

# the time limit, in seconds, for the keyring, because a locked keyring must not delay the doctor
RING_S = 5.0
LOOK_S = 6.0  # the time limit for one request in seconds; listing models takes up to three
# the time limit in seconds; a model that answers later is reported as slow, not as broken
TALK_S = 11.0
_PROXIES = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY")
# the limit of tokens for the system prompt and the tools, without the user's instructions
MOST = 2_200
# the limit of tokens for the short system prompt of a small model, with its tools
MOST_LEAN = 1_100


class DoctorOptions(msgspec.Struct, frozen=True):
    """The options of ``indwell doctor``; ``report`` is None, ``-`` for stdout, or a path."""

    report: str | None = None
    yes: bool = False
    json: bool = False
    offline: bool = False


def doctor(options: DoctorOptions) -> int:
    """Run all checks; return 0 if no check failed, 1 if one did, 2 if a report needs ``--yes``."""
    environment = dict(os.environ)
    store = KeyStore(user_file().parent / FILE_NAME, _open_ring)
    seconds: dict[str, float] = {}
    checks = _checks(environment, store, offline=options.offline)
    findings = wait_for(run_checks([timed(check, seconds) for check in checks]))
    code = 1 if any(one.state == "fail" for one in findings) else 0
    if options.report is not None:
        text = bundle(
            Diagnosis(
                findings,
                settings_lines(environment),
                editor_lines(environment),
                last_records(environment),
                timing_lines(environment, seconds),
            ),
            private_of(environment, store),
        )
        return write_report(text, options.report, is_sure=options.yes) or code
    if options.json:
        plain = _plain(findings, environment, store)
        ok = not any(one.state == "fail" for one in findings)
        sys.stdout.write(json_line({"ok": ok, "findings": plain}) + "\n")
    else:
        _show(_plain(findings, environment, store))
    return code


def _checks(
    environment: Mapping[str, str], store: KeyStore, *, offline: bool
) -> tuple[DoctorCheck, ...]:
    checks = [
        blocking("Indwell", machine.versions),
        blocking("settings", lambda: own_files.settings(environment)),
        blocking("key", lambda: own_files.key(environment, store)),
        blocking("proxy", lambda: proxies(environment)),
        DoctorCheck("programs", lambda: machine.programs(Path.cwd())),
        blocking("own place", lambda: machine.installation(Path.cwd())),
        blocking("sandbox", lambda: project.sandbox(environment, Path.cwd())),
        blocking("trust", lambda: project.trust(environment, Path.cwd())),
        blocking("folder", lambda: project.writers(environment, Path.cwd())),
        blocking("permissions", lambda: project.permissions(environment, Path.cwd())),
        blocking("skills", lambda: project.skills(environment, Path.cwd())),
        blocking("sub-agents", lambda: project.agents(environment, Path.cwd())),
        blocking("hooks", lambda: project.hooks(environment, Path.cwd())),
        blocking("MCP servers", lambda: project.mcp_servers(environment, Path.cwd())),
        blocking("language servers", lambda: project.language_servers(environment, Path.cwd())),
        DoctorCheck("prompt size", lambda: size_findings(environment, Path.cwd())),
        blocking("state folder", lambda: own_files.state(environment)),
        blocking("sessions", lambda: own_files.kept(environment)),
        blocking("clock", own_files.clock),
        blocking("limits", machine.limits),
        blocking("text", machine.text),
        DoctorCheck("editors", lambda: machine.editors(Path.home(), Path.cwd())),
    ]
    if not offline:
        checks[4:4] = [
            DoctorCheck("endpoint", lambda: endpoint_findings(environment, store)),
            DoctorCheck("other endpoints", lambda: other_endpoints(environment, store)),
            DoctorCheck("local model", lambda: local(environment)),
        ]
    return tuple(checks)


def _plain(findings: Findings, environment: Mapping[str, str], store: KeyStore) -> Findings:
    """Return the findings without keys, for a screen that others may see."""
    private = Private(secrets=known_secrets(environment, store))
    return tuple(
        msgspec.structs.replace(
            one, sentence=redacted(one.sentence, private), fix=redacted(one.fix, private)
        )
        for one in findings
    )


def _show(findings: Findings) -> None:
    console = Console(highlight=False)
    marks = MARKS if console.encoding.lower().startswith("utf") else PLAIN_MARKS
    arrow = "→" if marks is MARKS else "->"
    for one in findings:
        line = visible(f"{marks[one.state]} {told(one.name)}: {told(one.sentence)}")
        console.print(line, markup=False, soft_wrap=True)
        if one.fix:
            console.print(visible(f"    {arrow} {told(one.fix)}"), markup=False, soft_wrap=True)
    console.print(told(_sum(findings)), markup=False, soft_wrap=True)


def _sum(findings: tuple[DoctorFinding, ...]) -> str:
    n_failed = sum(one.state == "fail" for one in findings)
    n_warned = sum(one.state == "warn" for one in findings)
    if n_failed:
        return f"{n_failed} of {len(findings)} failed. Fix the first one first"
    return "nothing failed" + (f", {n_warned} to look at" if n_warned else "")


def _open_ring() -> Ring:
    from indwell.settings.system_keyring import system_ring

    return system_ring(answer_s=RING_S)


def proxies(environment: Mapping[str, str]) -> Findings:
    """Return the proxies in use, without their passwords."""
    found = []
    for name in _PROXIES:
        value = environment.get(name, "") or environment.get(name.lower(), "")
        if not value:
            continue
        address = shown(value) or "(no address)"
        if urlsplit(value).scheme.startswith("socks"):
            fix = "name an http proxy, or install the package socksio beside Indwell"
            found.append(DoctorFinding("proxy", "warn", f"{name} is {address}", fix))
        else:
            found.append(DoctorFinding("proxy", "ok", f"{name} is {address}"))
    return tuple(found)


async def endpoint_findings(
    environment: Mapping[str, str],
    store: KeyStore,
    *,
    look_s: float = LOOK_S,
    talk_s: float = TALK_S,
) -> Findings:
    """Check that the endpoint is reachable, accepts the key, lists the model, and answers."""
    try:
        chosen = await asyncio.to_thread(_settings, environment, store)
    except SettingsError:
        return (DoctorFinding("endpoint", "skipped", "there is no usable model yet"),)
    if chosen.provider == "scripted":
        return (DoctorFinding("endpoint", "ok", "the scripted model needs no network"),)
    if is_editors(chosen.model):
        words = f"{chosen.model} is a model of VS Code's own, which only VS Code can ask"
        return (DoctorFinding("endpoint", "skipped", words),)
    url = chosen.base_url or OPENAI_URL
    key = chosen.api_key.reveal() if chosen.api_key is not None else None
    name, _ = split_name(chosen.model, chosen.endpoints)
    extras, dialect = extras_of(chosen), dialect_of(chosen, chosen.model)
    talking = asyncio.create_task(
        talk(url, key, name, timeout_s=talk_s, extras=extras, dialect=dialect)
    )
    try:
        looked = await look(url, key, timeout_s=look_s, extras=extras)
        steps = looked.steps
        if failure(steps) is None:
            window = await asyncio.to_thread(_window, chosen)
            steps = (*steps, *_exists(looked, name), *window, *await talking)
    finally:
        talking.cancel()  # a test request is pointless if the list of models failed
        await asyncio.wait({talking})
    return tuple(_finding(step) for step in steps)


async def other_endpoints(
    environment: Mapping[str, str], store: KeyStore, *, look_s: float = LOOK_S
) -> Findings:
    """Check that the other endpoints are reachable, accept the key, and list models."""
    try:
        settings = await asyncio.to_thread(lambda: read_settings(environment).settings)
        own = split_name(settings.model, settings.endpoints)[1]
    except SettingsError:
        return ()  # the check of the settings reports the error
    names = [name for name in settings.endpoints if name != own]
    return tuple(
        await asyncio.gather(*(_other_endpoint(settings, name, store, look_s) for name in names))
    )


async def _other_endpoint(
    settings: Settings, name: str, store: KeyStore, look_s: float
) -> DoctorFinding:
    called = f"endpoint {name}"
    here = msgspec.structs.replace(settings, model=f"any@{name}")
    try:
        if problem := lacking(here):
            return DoctorFinding(called, "warn", problem)
        with_key = await asyncio.to_thread(with_stored_key, here, store)
    except SettingsError as error:
        return DoctorFinding(called, "warn", str(error))
    key = with_key.api_key.reveal() if with_key.api_key is not None else None
    looked = await look(
        with_key.base_url or OPENAI_URL, key, timeout_s=look_s, extras=extras_of(with_key)
    )
    bad = next((step for step in looked.steps if step.state != "ok"), None)
    if bad is not None:  # the finding is only a warning, because the endpoint may never be used
        return DoctorFinding(called, "warn", bad.sentence, bad.fix)
    return DoctorFinding(called, "ok", ", ".join(step.sentence for step in looked.steps))


async def local(environment: Mapping[str, str]) -> Findings:
    """Return the model servers that run on this machine, and their problems."""
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


def _window(chosen: Settings) -> tuple[EndpointStep, ...]:
    """Check that the model's context window is known, after asking the endpoint."""
    ask_for_facts((chosen,))
    facts = facts_of(chosen)
    if facts.known or chosen.window is not None:
        return ()
    sentence = f"the window of {chosen.model!r} is not known; {facts.window:,} tokens are assumed"
    fix = f"write window = … in {user_file()}"
    return (EndpointStep("window", "warn", sentence, fix),)


def _finding(step: EndpointStep) -> DoctorFinding:
    return DoctorFinding(step.name, step.state, step.sentence, step.fix)


class PromptSizes(msgspec.Struct, frozen=True):
    """The estimated tokens of a prompt's parts; the estimate is a little too high.

    Attributes:
        system: The tokens of the system prompt, without the user's instructions.
        own: The tokens of the user's instructions.
        tools: The tokens of each tool, by name.
        lean: The reason why the model gets a short prompt, or empty for the full prompt.
    """

    system: int
    own: int
    tools: Mapping[str, int]
    lean: str = ""

    @property
    def together(self) -> int:
        """The tokens of the system prompt and the tools together."""
        return self.system + sum(self.tools.values())

    @property
    def most(self) -> int:
        """The limit for ``together``, which depends on the kind of prompt."""
        return MOST_LEAN if self.lean else MOST


class Beginning(NamedTuple):
    """The start of a session: conversation, settings, and why the model gets a short prompt."""

    conversation: Conversation
    settings: Settings
    lean: str = ""


async def beginning(environment: Mapping[str, str], folder: Path) -> Beginning:
    """Return the start of a session in ``folder`` with every feature on; no session is created.

    Raises:
        SettingsError: The settings cannot be used.
    """
    chosen = await asyncio.to_thread(lambda: read_settings(environment).settings)
    lean = await asyncio.to_thread(_why_lean, chosen)
    chosen = msgspec.structs.replace(chosen, provider="scripted", memory=True)
    scratch = await asyncio.to_thread(scratch_folder)
    place = SessionPlace(new_id(datetime.now(UTC), os.urandom(RANDOM_B)), MemoryLog(), scratch)
    session = make_session(
        place,
        DiskWorkspace([folder]),
        TerminalApprover(Console(stderr=True)),
        lambda: chosen,
        make_model(chosen),
        environment=environment,
        lean=bool(lean),
    )
    await session.close()
    await asyncio.to_thread(remove_scratch, scratch)
    return Beginning(session.conversation, chosen, lean)


def _why_lean(settings: Settings) -> str:
    """Return the reason why the user's model gets a short prompt; takes a third of a second."""
    if settings.provider == "scripted" or (not settings.model and settings.profile == "auto"):
        return ""
    here = in_force(settings)
    return why_lean(here, here.window or facts_of(here).window)


async def sizes(environment: Mapping[str, str], folder: Path) -> PromptSizes:
    """Return the tokens of each part of a session's start.

    Raises:
        SettingsError: The settings cannot be used.
    """
    talk, chosen, lean = await beginning(environment, folder)
    own = estimate_tokens(standing_instructions(chosen)[0])
    system = sum(block.meta.tokens for block in talk.system) - own
    return PromptSizes(system, own, {one.name: tools_tokens((one,)) for one in talk.tools}, lean)


async def size_findings(environment: Mapping[str, str], folder: Path) -> Findings:
    """Return findings about the sizes of the prompt's parts."""
    try:
        found = await sizes(environment, folder)
    except SettingsError:
        return ()  # the check of the settings reports the error
    parts = [f"system prompt {found.system:,}"]
    parts += [f"{name} {tokens:,}" for name, tokens in found.tools.items()]
    own = f"; your own instructions {found.own:,} more" if found.own else ""
    lean = f"lean, because {found.lean} (`profile`): " if found.lean else ""
    sentence = (
        f"{lean}about {found.together:,} tokens before your first word, of at most "
        f"{found.most:,}: {', '.join(parts)}{own}"
    )
    if found.together > found.most:
        return (
            DoctorFinding("prompt size", "warn", sentence, "remove skills that you do not use"),
        )
    return (DoctorFinding("prompt size", "ok", sentence),)
