"""Plays the reference solutions of the shipped suite, as a model behind a loopback endpoint."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from indwell.evaluation.tasks import CHECK_FOLDER, EvalTask
from support.editing import USAGE
from support.loopback_endpoint import Answer, Seen, say

IDLE = "idle"
"""The model of this name answers without a change."""


def reference_player(
    tasks: Sequence[EvalTask],
    knows: Callable[[str, EvalTask], bool] = lambda model, _: model != IDLE,
) -> Callable[[Seen], Answer]:
    """Return a script that reads the files of the task, and writes the reference solution.

    Args:
        tasks: The tasks that may be asked for.
        knows: Whether a model of this name solves a task.
    """

    def answer(seen: Seen) -> Answer:
        assert CHECK_FOLDER.encode() not in seen.raw, "the model saw the hidden check"
        n_calls = sum(one["role"] == "tool" for one in seen.body["messages"])
        # Variants may share a prompt; the workspace's path contains the task's id.
        task = next(one for one in tasks if f"{one.id}.a".encode() in seen.raw)
        if not knows(seen.body["model"], task):
            return say("Done.", usage=USAGE)
        known = [path for path in task.reference if path in task.files]
        if n_calls < len(known):
            return say("", calls=[_call("read_file", path=path) for path in known], usage=USAGE)
        if n_calls == len(known):
            edits = task.reference.items()
            calls = [_call("write_file", path=path, content=text) for path, text in edits]
            return say("", calls=calls, usage=USAGE)
        return say("Done.", usage=USAGE)

    return answer


def _call(name: str, **arguments: str) -> tuple[str, str]:
    return name, json.dumps(arguments)
