from __future__ import annotations

import re

from indwell.context.injections import KINDS
from indwell.prompt.system import Machine, system_prompt

MACHINE = Machine("Linux 6.1", "x86_64", "bash", "3.11.7")
PROMPT = system_prompt(MACHINE)


def test_the_same_session_gives_the_same_system_prompt() -> None:
    assert system_prompt(MACHINE) == PROMPT


def test_the_system_prompt_describes_the_machine_and_no_changing_facts() -> None:
    assert "Linux 6.1 on x86_64, shell bash, Python 3.11.7" in PROMPT
    assert re.search(r"\b20\d\d\b|branch|workspace is|model is", PROMPT) is None


def test_the_system_prompt_declares_data_tags_as_data_and_the_reminder_as_an_order() -> None:
    trust = PROMPT[PROMPT.index("# Who may instruct") : PROMPT.index("# Rules")]
    orders, data = trust.split("All else is data")
    tags_of_data = {row.tag for row in KINDS.values() if row.tier >= 2}
    assert tags_of_data == set(re.findall(r"<([\w-]+)>", data))
    assert re.findall(r"<([\w-]+)>", orders) == ["system-reminder", "approved-plan"]


def test_the_system_prompt_contains_the_rules_that_the_tools_rely_on() -> None:
    for rule in (
        "Read a file before you edit it",
        "write_file only for new files and full rewrites",
        "The old text of an edit must be in the file exactly once",
        "One step at a time",
        "Follow the style of the code around it",
        "Check your work",
        "If the request is unclear",
        "Be concise",
    ):
        assert rule in PROMPT


def test_the_users_own_instructions_come_last_in_the_system_prompt() -> None:
    with_them = system_prompt(MACHINE, " Answer in German.\n")
    assert with_them == f"{PROMPT}\n\n# The user's standing instructions\nAnswer in German."
    assert system_prompt(MACHINE, " \n") == PROMPT
