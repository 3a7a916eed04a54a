"""Every editor plays the same scenarios; the table gives a reason for each unsupported scenario."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from editors.clients import CLIENTS, play
from editors.scenarios import RUNS, SCENARIOS, Model
from editors.table import read
from support.loopback_endpoint import endpoint_in_thread

Playing = Callable[[str, str], tuple[dict[str, Any], Model]]


@pytest.fixture(scope="module")
def playing(tmp_path_factory: pytest.TempPathFactory) -> Playing:
    """Plays each run of an editor once, when its first scenario is checked."""
    played: dict[tuple[str, str], tuple[dict[str, Any], Model]] = {}

    def once(editor: str, run: str) -> tuple[dict[str, Any], Model]:
        if (editor, run) not in played:
            folder = tmp_path_factory.mktemp(f"{editor}-{run}") / "user"
            model = Model(RUNS[run].replies)
            with endpoint_in_thread(model) as endpoint:
                played[editor, run] = play(CLIENTS[editor], run, folder, endpoint), model
        return played[editor, run]

    return once


@pytest.mark.parametrize(
    ("editor", "scenario"),
    [
        (name, scenario)
        for name, client in CLIENTS.items()
        for scenario, run in SCENARIOS.items()
        if run in client.runs
    ],
)
def test_each_editor_passes_its_scenarios_or_the_table_names_the_reason(
    editor: str, scenario: str, playing: Playing
) -> None:
    run = SCENARIOS[scenario]
    report, model = playing(editor, run)
    assert "failed" not in report, report["failed"]
    check = RUNS[run].checks[scenario]
    if read()[scenario][CLIENTS[editor].column].works:
        check(report, model)
    else:
        with pytest.raises(AssertionError):  # if the scenario works, the table has to be updated
            check(report, model)
