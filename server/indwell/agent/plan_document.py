"""The document of a plan, in which the user may edit it: what stands in its file. Blocks."""

from __future__ import annotations

from pathlib import Path

from indwell.context.plan import MOST_CHARACTERS, Plan
from indwell.errors import ToolError
from indwell.files import read_bytes

LIMIT_B = 8 * MOST_CHARACTERS  # a longer file is no plan


def written_plan(plan: Plan) -> str:
    """The plan as its file has it now; as it is known where there is none any more."""
    if not plan.path:
        return plan.text
    path = Path(plan.path)
    try:
        return read_bytes(path, [path.parent], LIMIT_B).decode("utf-8", "replace")
    except ToolError:
        return plan.text
