"""The document of a plan, in which the user may edit it: what stands in its file. Blocks."""

from __future__ import annotations

from pathlib import Path

from indwell.context.plan import MOST_BYTES, Plan
from indwell.errors import ToolError, UserError
from indwell.files import exists, read_bytes


def written_plan(plan: Plan) -> str:
    """The plan as its file has it now; as it is known where there is none any more.

    Raises:
        UserError: It cannot be read, so nobody knows what the user made of it.
    """
    if not plan.path:
        return plan.text
    path = Path(plan.path)
    try:
        return read_bytes(path, [path.parent], MOST_BYTES).decode("utf-8", "replace")
    except ToolError as error:
        if not exists(path):
            return plan.text
        raise UserError(f"the plan's document cannot be read ({error}); mend it") from error
