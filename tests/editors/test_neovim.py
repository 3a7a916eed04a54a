"""Neovim as a user has it: the page's configuration, real keys, and what Neovim itself reports."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from editors.neovim import lua_blocks, play
from indwell.demo.project import Project, make_project

TITLES = [
    "Fix this",
    "Explain this",
    "Document this",
    "Write tests for this",
    "Refactor this…",
    "Ask about this…",
]
KINDS = [
    "quickfix.indwell",
    "source.indwell",
    "refactor.indwell",
    "source.indwell",
    "refactor.indwell",
    "source.indwell",
]


def test_the_configuration_of_the_page_has_ten_lines() -> None:
    lines = [line for line in lua_blocks()[0].splitlines() if line.strip()]
    assert len(lines) <= 10
    assert max(map(len, lines)) <= 130


def test_a_selection_and_a_diagnostic_offer_the_actions(tmp_path: Path) -> None:
    played = play("actions", make_project(1), tmp_path)
    menu = {"kind": "codeaction", "prompt": "Code actions:"}
    everything = {**menu, "titles": TITLES, "kinds": KINDS}
    print(played.report)
    assert played.log_errors == []


@pytest.mark.parametrize("scenario", ["mend", "diagnostic", "refuse", "edited_while_asked", "edited_at_the_same_moment", "ask"])
def test_x(scenario: str, tmp_path: Path) -> None:
    played = play(scenario, make_project(1), tmp_path)
    import json
    print(json.dumps(played.report, indent=1, ensure_ascii=False)); print(played.log); print(played.sessions[-6000:])
    assert 0

def test_c(tmp_path: Path) -> None:
    played = play("cancel", make_project(1), tmp_path, pace_s=0.1)
    import json
    print(json.dumps(played.report, indent=1, ensure_ascii=False)); print(played.log)
    assert 0
