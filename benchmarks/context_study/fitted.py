"""Writes the list of sessions that numbers of compaction were fitted or chosen on.

    .venv/bin/python benchmarks/context_study/fitted.py entire packmind:0,1,2 codex:0,1,2 ...

Each argument is an agent, perhaps with the folds that were used; without folds, all of the agent's
sessions were used. ``indwell replay --leave-out`` leaves out the listed sessions. Run the script
after each change of a number in ``line_choice.py``, ``digest.py`` or the preset ``default``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from recordings import sessions

from indwell.context.compaction.digesting import line_choice
from indwell.replay import fitted_sessions
from indwell.replay.fitted_sessions import FOLDS, fingerprint, fold, numbers_print


def used(agents: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the id and the fingerprint of each session that was used."""
    for one in agents:
        agent, _, given = one.partition(":")
        folds = {int(number) for number in given.split(",")} if given else set(range(FOLDS))
        for session in sessions(agent):
            if fold(session.id) in folds:
                yield session.id, fingerprint(session)


def main() -> None:
    """Write the file, and print the number of sessions."""
    if len(sys.argv) == 1:
        sys.exit("name the agents: entire packmind:0,1,2")
    sessions = dict(sorted(used(sys.argv[1:])))
    modules = (Path(line_choice.__file__), Path(line_choice.__file__).with_name("digest.py"))
    numbers = numbers_print([module.read_text("utf-8") for module in modules])
    path = Path(fitted_sessions.__file__).with_suffix(".json")
    lines = ",\n    ".join(f"{json.dumps(one)}: {json.dumps(of)}" for one, of in sessions.items())
    path.write_text(
        f'{{\n  "numbers": {json.dumps(numbers)},\n  "sessions": {{\n    {lines}\n  }}\n}}\n',
        "utf-8",
    )
    print(f"{len(sessions)} sessions in {path.name}")


if __name__ == "__main__":
    main()
