"""Plays the reference solutions of the shipped suite, as a model behind a loopback endpoint."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from indwell.evaluation.tasks import CHECK_FOLDER, EvalTask
from support.loopback_endpoint import Answer, Seen, say

IDLE = "idle"
"""The model of this name answers without a change."""


def reference_player(
    tasks: Sequence[EvalTask],
    knows: Callable[[str, EvalTask], bool] = lambda model, _: model != IDLE,
) -> Callable[[Seen], Answer]:
    """Return a script that reads the files of the task, and writes the reference solution.

    The reported tokens are an estimate, 4 bytes of the request or reply for each token.

    Args:
        tasks: The tasks that may be asked for.
        knows: Whether a model of this name solves a task.
    """

    def calls_for(body: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
        text = "\n".join(_texts(body["messages"]))
        asked = [one for one in tasks if one.prompt in text]
        n_replies = sum(one["role"] == "assistant" for one in body["messages"])
        if n_replies == 0:
            paths = dict.fromkeys(path for task in asked for path in task.files)
            return [_call("read_file", path=path) for path in paths]
        # Tasks may share a prompt, so the files decide.
        task = max(asked, key=lambda one: _n_lines_shown(one, text))
        if n_replies > 1 or not knows(body["model"], task):
            return []
        edits = task.reference.items()
        return [_call("write_file", path=path, content=content) for path, content in edits]

    def answer(seen: Seen) -> Answer:
        assert CHECK_FOLDER.encode() not in seen.raw, "the model saw the hidden check"
        calls = calls_for(seen.body)
        n_out = sum(len(part) for call in calls for part in call)
        usage = {"prompt_tokens": len(seen.raw) // 4, "completion_tokens": n_out // 4 + 1}
        return say("" if calls else "Done.", calls=calls, usage=usage)

    return answer


def _texts(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    contents = [one.get("content") or "" for one in messages]
    return [
        one if isinstance(one, str) else "\n".join(part.get("text", "") for part in one)
        for one in contents
    ]


def _n_lines_shown(task: EvalTask, text: str) -> tuple[bool, int]:
    """Return whether the text has each line of the task's files, and how long the lines are."""
    lines = [line for content in task.files.values() for line in content.splitlines()]
    return all(line in text for line in lines), sum(map(len, lines))


def _call(name: str, **arguments: str) -> tuple[str, str]:
    return name, json.dumps(arguments)
