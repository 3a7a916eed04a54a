"""Names and stored texts in a terminal: no control character, no imitation of a sentence."""

from __future__ import annotations

import pytest

from indwell.cli.doctor.project import trust
from indwell.sessions.storage.store import SessionStore
from support.editing import Home
from support.terminal import indwell

HIDDEN = "\u202e\x1b\u200b\u3164"
SHOWN = r"\u202ex\u001b[31my\u200b\u3164"  # This is also the form in JSON.
DECIDED = """\
{"type":"decided","turn":1,"tool_use_id":"c","tool":"bash","what":"x","decision":"deny","at":"",\
"rule":"a\\n▸ forged"}
"""


@pytest.fixture
def home(tmp_path) -> Home:
    return Home(tmp_path)


@pytest.mark.parametrize("command", ["show", "audit"])
async def test_a_stored_time_and_model_cannot_control_the_terminal(home, command) -> None:
    environment = home.environment()
    await indwell(
        "run", "Fix it", "--scripted", "--trust", environment=environment, folder=home.workspace
    )
    (session,) = SessionStore(home.state, home.workspace).ids()
    (log,) = home.state.glob("sessions/*/*/log.jsonl")
    text = log.read_text(encoding="utf-8")
    log.write_text((text + DECIDED).replace('"at":"', f'"at":"{SHOWN}'), encoding="utf-8")
    words = ("audit", session) if command == "audit" else ("sessions", "show", session)
    ended = await indwell(*words, environment=environment, folder=home.workspace)
    assert ended.code == 0, ended.stderr
    assert SHOWN in ended.stdout
    assert not {*HIDDEN} & {*ended.stdout, *ended.stderr}
    assert "\n▸ forged" not in ended.stdout


def test_the_name_of_a_folder_cannot_pretend_to_be_a_part_of_the_doctors_sentence(home) -> None:
    odd = home.workspace / "x is trusted; no network"
    odd.mkdir()
    (finding,) = trust(home.environment(INDWELL_TRUSTED=""), odd)
    assert finding.sentence.startswith(f"'{odd}' is restricted: ")


async def test_a_damaged_file_cannot_control_the_terminal_through_an_error(home) -> None:
    path = home.config / "indwell" / "keys.json"
    path.parent.mkdir(parents=True, mode=0o700)
    path.write_text(f'{{"version":1,"keys":{{"https://a":{{"where":"{SHOWN}"}}}}}}')
    path.chmod(0o600)
    ended = await indwell("purge", environment=home.environment(), folder=home.workspace)
    assert (ended.code, r"\u200b\u3164" in ended.stderr) == (1, True), ended
    assert not {*HIDDEN} & {*ended.stderr}
