"""Creates recordings for replays in the formats of other agents."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from indwell.sessions.imports import Recorded, recorded


def entries(n: int = 40, *, lines: int = 120) -> list[dict[str, Any]]:
    """Return entries: reads, an edit of the file read first, and some prompts of the user."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "mend parse_header in src/a.py"}]
    for number in range(n):
        path = f"src/part_{number}.py"
        arguments = {"file_path": path}
        name = "Read"
        if number == n - 1:
            name = "Edit"
            arguments = {"file_path": "src/part_0.py", "old_string": "value_0_7 = compute_total(7)"}
        text = "\n".join(f"value_{number}_{at} = compute_total({at})" for at in range(lines))
        messages += called(f"c{number}", name, arguments, text)
        if number % 10 == 9:
            messages.append({"role": "assistant", "content": f"I looked at {path}."})
            messages.append({"role": "user", "content": f"go on with step {number}"})
    messages.append({"role": "assistant", "content": "done"})
    return messages


def session(n: int = 40, *, lines: int = 120) -> Recorded:
    """Return these entries as ``indwell replay`` reads them."""
    return recorded({"id": "made-up", "messages": entries(n, lines=lines)})


def called(
    identifier: str, name: str, arguments: Mapping[str, object], result: str
) -> list[dict[str, Any]]:
    """Return a call and its result."""
    call = {"id": identifier, "function": {"name": name, "arguments": json.dumps(arguments)}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": identifier, "content": result},
    ]


def record(name: str, messages: Sequence[Mapping[str, Any]]) -> str:
    """Return a line of a file with several recordings."""
    return json.dumps({"id": name, "messages": list(messages)}) + "\n"
