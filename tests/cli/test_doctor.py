"""The doctor reports what works, what fails and how to fix it; bug reports have no private data."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indwell.cli.doctor.check import DoctorCheck, DoctorFinding, blocking, run_checks
from indwell.cli.doctor.command import endpoint_findings, proxies
from indwell.cli.doctor.machine import editors
from indwell.cli.doctor.report import (
    LINE_LIMIT,
    Diagnosis,
    Private,
    bundle,
    redacted,
    timing_lines,
)
from indwell.errors import SettingsError
from indwell.sandbox.confine.strength import strength
from indwell.sessions.storage.store import SessionStore
from indwell.settings.keys import KeyringUnusable, KeyStore, Ring
from support import file_keyring
from support.editing import Home
from support.loopback_endpoint import HANG, Answer, LoopbackEndpoint
from support.model_server import answering, listed
from support.terminal import Ended, indwell

CANARY = "sk-canary-9b41"


@pytest.fixture
def home(tmp_path) -> Home:
    return Home(tmp_path)


async def doctor(home: Home, *arguments: str, **variables: str) -> Ended:
    environment = {**home.environment(), **file_keyring.variables(home.folder), **variables}
    return await indwell("doctor", *arguments, environment=environment, folder=home.workspace)


def states(ended: Ended) -> dict[str, str]:
    return {one["name"]: one["state"] for one in json.loads(ended.stdout)["findings"]}


async def test_the_doctor_passes_every_check_of_a_working_setup(home) -> None:
    async with LoopbackEndpoint(answering(listed("q"), key=CANARY)) as server:
        home.configure(f'model = "q"\nbase_url = "{server.base_url}"\n')
        ended = await doctor(home, "--json", OPENAI_API_KEY=CANARY, OPENAI_BASE_URL=server.base_url)
    found = states(ended)
    names = ["reachable", "key", "models", "model", "streaming", "tools"]
    names += ["settings", "packages", "rg", "git", "bash", "state folder", "open files"]
    assert {name: found[name] for name in names} == dict.fromkeys(names, "ok")
    assert found["shell"] == "warn"
    assert found["sandbox"] in {"ok", "warn"}  # depends on the machine
    assert (ended.code, json.loads(ended.stdout)["ok"], CANARY in ended.stdout) == (0, True, False)


async def test_a_failed_check_says_how_to_fix_it(home) -> None:
    ended = await doctor(home, "--offline")
    assert ended.code == 1
    assert "✗ model: no model is set; run `indwell login`" in ended.stdout
    assert "\n    → indwell login\n" in ended.stdout
    assert " sandbox: commands are " in ended.stdout


async def test_an_endpoint_that_refuses_the_key_says_where_to_create_a_key(home) -> None:
    async with LoopbackEndpoint(answering(listed("q"), key="another")) as server:
        home.configure(f'model = "q"\nbase_url = "{server.base_url}"\napi_key = "{CANARY}"\n')
        ended = await doctor(home)
    assert ended.code == 1
    assert f"✗ key: the key is not accepted at {server.base_url}" in ended.stdout


async def test_a_model_that_is_not_offered_is_reported(home) -> None:
    async with LoopbackEndpoint(answering(listed("q"))) as server:
        home.configure(f'model = "r"\nbase_url = "{server.base_url}"\n')
        ended = await doctor(home)
    assert "! model: 'r' is not in its list\n    → `indwell models` shows the list" in ended.stdout


async def test_a_settings_file_with_a_key_that_others_may_read_fails(home) -> None:
    path = home.configure(f'model = "q"\napi_key = "{CANARY}"\nmodle = "x"\n')
    path.chmod(0o644)
    ended = await doctor(home, "--offline")
    assert (ended.code, CANARY in ended.stdout) == (1, False)
    sentence = f"{path} holds a key, and others on this machine may read it (mode 644)"
    assert f"✗ permissions: {sentence}" in ended.stdout
    assert f"→ chmod 600 {path}" in ended.stdout
    assert "! settings: unknown setting 'modle'" in ended.stdout
    path.chmod(0o600)
    assert "chmod" not in (await doctor(home, "--offline")).stdout


async def test_a_broken_settings_file_and_an_unwritable_state_folder_fail(home) -> None:
    home.configure("mode = \n")
    (home.folder / "stone").write_bytes(b"")
    ended = await doctor(home, "--offline", "--json", INDWELL_STATE=str(home.folder / "stone"))
    found = states(ended)
    assert (ended.code, found["settings"], found["state folder"]) == (1, "fail", "fail")
    fixes = {one["name"]: one["fix"] for one in json.loads(ended.stdout)["findings"]}
    path = home.config / "indwell" / "config.toml"
    assert fixes["settings"].startswith(
        f"correct that line of {path}; until then Indwell does not run"
    )
    assert (found["key"], fixes["key"]) == ("skipped", "")


@pytest.mark.parametrize(("told", "is_assumed"), [({}, True), ({"max_model_len": 40_000}, False)])
async def test_a_window_that_the_endpoint_does_not_report_is_shown_as_assumed(
    home, told, is_assumed
) -> None:
    async with LoopbackEndpoint(answering(listed("q", **told))) as server:
        home.configure(f'model = "q"\nbase_url = "{server.base_url}"\n')
        ended = await doctor(home)
    assert ("! window: the window of 'q' is not known; " in ended.stdout) == is_assumed
    assert ("    → write window = … in " in ended.stdout) == is_assumed


async def test_the_doctor_leaves_the_state_folder_unchanged(home) -> None:
    await doctor(home, "--offline")
    assert [path.name for path in home.state.rglob("*")] == []


async def test_an_endpoint_that_hangs_does_not_hang_the_doctor(tmp_path) -> None:
    def ring() -> Ring:
        raise KeyringUnusable("not here")

    store = KeyStore(tmp_path / "keys.json", ring)
    async with LoopbackEndpoint(lambda _seen: Answer((HANG,)), gets=True) as hanging:
        variables = {"OPENAI_BASE_URL": hanging.base_url, "INDWELL_MODEL": "q"}
        found = await endpoint_findings(variables, store, look_s=0.2, talk_s=30)
        await hanging.gone.wait()
    sentence = f"{hanging.base_url} did not answer in time"
    fix = "check that the server runs on this machine, and its port"
    assert found == (DoctorFinding("reachable", "fail", sentence, fix),)


async def test_a_bug_report_contains_no_key_no_name_and_no_home_folder(home) -> None:
    """Every text that the doctor could repeat contains a canary."""
    home.configure(f'api_key = "{CANARY}-file"\nmodel = "q"\nsecret_{CANARY}-name = 1\n')
    (home.folder / "keyring.json").write_bytes(b"{}")
    secrets = {
        "OPENAI_API_KEY": f"{CANARY}-env",
        "OPENROUTER_API_KEY": f"{CANARY}-router",
        "HTTPS_PROXY": f"http://me:{CANARY}-proxy@127.0.0.1:9/?t={CANARY}",
        "OPENAI_BASE_URL": "http://127.0.0.1:9/v1",
        "LOGNAME": "jane-canary",
    }
    log = home.state / "diagnosis" / "server.log"
    log.parent.mkdir(parents=True)
    told = f"2026-01-01T00:00:00Z ERROR {home.folder}/a.py: {CANARY}-log"
    log.write_text(f'\n{told}\n  File "b.py"\n    password = 1\n', encoding="utf-8")
    ended = await doctor(home, "--report", **secrets)
    assert ended.code == 1
    assert 'ERROR ~/a.py: [key]\n  File "b.py"\n````' in ended.stdout
    assert "model = 'q'\n" in ended.stdout
    assert ended.stdout.startswith("### indwell doctor\n\n| | what | found |\n")
    assert "HTTPS_PROXY is http://127.0.0.1:9/" in ended.stdout
    for private in (CANARY, str(home.folder), "jane-canary", "me:"):
        assert private not in ended.stdout, ended.stdout


async def test_the_timings_of_a_report_say_nothing_twice_and_name_the_sandbox(home) -> None:
    for _ in range(2):
        _, log = SessionStore(home.state, home.workspace).create(model="m", now=datetime.now(UTC))
        await log.close()
    lines = timing_lines(home.environment(), {"model": 0.5, "editor": 1.0})
    assert lines[:2] == (
        "checks: editor 1.00 s, model 0.50 s",
        "turns of a session with m: none ended",
    )
    held = strength()
    words = held.words or "commands are not sandboxed"
    assert lines[2:] == (f"sandbox: {words} (level {held.level})",)


async def test_a_report_is_written_only_after_a_yes(home) -> None:
    path = home.workspace / "report.md"
    asked = await doctor(home, "--offline", "--report", "report.md")
    assert (asked.code, path.exists()) == (2, False)
    assert "to write this to report.md, add --yes" in asked.stderr
    written = await doctor(home, "--offline", "--report", "report.md", "--yes")
    assert (written.code, written.stdout) == (1, path.read_text("utf-8")), "a check failed"
    again = await doctor(home, "--offline", "--report", "report.md", "--yes")
    assert (again.code, again.stderr) == (1, "report.md exists already; name a new file\n")


SECRET = Private(
    secrets=("hunter2-token",),
    homes=("/home/jane", "/home/jane/real"),
    here=("/home/jane/customer",),
    names=("jane", "box7"),
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("key hunter2-token of /home/jane/x", "key [key] of ~/x"),
        ("aHVudGVyMi10b2tlbg== in Base64", "[key]g== in Base64"),
        ("/home/jane/real/a", "~/a"),
        ("/home/jane/customer/a", "[this folder]/a"),
        ("https://jane:pw@host:8/v1?key=1#f is", "https://host:8/v1 is"),
        ("Bearer abcdef123456", "Bearer [key]"),
        ("sk-proj-abcdefghij and sk-or-v1-123456789", "[key] and [key]"),
        ("AIzaSyA1234567890abcdef", "[key]"),
        ("mail jane@box7.example.org", "mail [mail]"),
        ("JANE on Box7, not janet", "[name] on [name], not janet"),
        ("ripgrep 14.1.0", "ripgrep 14.1.0"),
    ],
)
def test_private_text_is_removed_and_the_rest_stays(text, shown) -> None:
    assert redacted(text, SECRET) == shown


@given(before=st.text(max_size=20), after=st.text(max_size=20))
def test_a_secret_is_redacted_in_any_surrounding_text(before, after) -> None:
    assert "hunter2-token" not in redacted(f"{before}hunter2-token{after}", SECRET)


def test_the_text_of_a_finding_cannot_break_the_table() -> None:
    lines = bundle(Diagnosis((DoctorFinding("a", "ok", "x | y\nz"),)), Private()).splitlines()
    assert lines[4] == "| ok | a | x \\| y z |"


async def test_a_check_that_fails_or_hangs_is_a_finding_and_the_others_continue() -> None:
    async def hang() -> tuple[DoctorFinding, ...]:
        await asyncio.Event().wait()
        return ()

    def broken() -> tuple[DoctorFinding, ...]:
        raise SettingsError("it is broken")

    good = DoctorFinding("c", "ok", "fine")
    others = (blocking("b", broken), blocking("c", lambda: (good,)))
    ended = (DoctorFinding("b", "fail", "it is broken"), good)
    assert await run_checks(others, timeout_s=60) == ended
    (hung, *_) = await run_checks((DoctorCheck("a", hang), *others), timeout_s=0.05)
    assert hung == DoctorFinding("a", "fail", "no answer within 0.05 s")


def test_a_proxy_is_shown_without_its_password() -> None:
    assert proxies({"HTTPS_PROXY": "http://me:pw@proxy:3128", "all_proxy": "socks5://h:1"}) == (
        DoctorFinding("proxy", "ok", "HTTPS_PROXY is http://proxy:3128"),
        DoctorFinding(
            "proxy",
            "warn",
            "ALL_PROXY is socks5://h:1",
            "name an http proxy, or install the package socksio beside Indwell",
        ),
    )


async def test_an_editor_with_indwell_in_its_configuration_is_reported_as_ready(
    tmp_path: Path,
) -> None:
    before = {one.name: one for one in await editors(tmp_path)}
    (tmp_path / ".config/nvim/lsp").mkdir(parents=True)
    (tmp_path / ".config/nvim/lsp/indwell.lua").write_bytes(b"return { cmd = { 'indwell' } }")
    after = {one.name: one for one in await editors(tmp_path)}
    assert (before["Neovim"].state, before["Neovim"].fix) == (
        "skipped",
        "`indwell setup nvim` says how",
    )
    assert (after["Neovim"].state, after["Neovim"].fix) == ("ok", "")


def test_a_report_hides_a_secret_at_the_end_of_a_cut_line_and_keeps_its_fences() -> None:
    key = "canary" + "8f3kq0zt" * 5
    records = ("x" * (LINE_LIMIT - 6) + key, "````", "# not a heading")
    told = bundle(Diagnosis((), records=records), Private(secrets=(key,)))
    assert "canary" not in told
    assert told.splitlines().count("````") == 4, "one for each part"
