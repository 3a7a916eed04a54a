"""Sends a client's requests about plans, and creates a reply that proposes a plan."""

from __future__ import annotations

import json
from typing import Any

from indwell.lsp.messages import methods as protocol
from indwell.lsp.messages.views import PlanParams, PlanResult
from support.editing import USAGE, Editor
from support.loopback_endpoint import say

STEPS = "1. Take one off the total\n2. Look at it"


def propose(text: str = STEPS) -> Any:
    return say("I looked.", calls=[("plan", json.dumps({"text": text}))], usage=USAGE)


async def asked(editor: Editor, action: str = "show", **more: Any) -> PlanResult:
    params = PlanParams(action, **more)  # type: ignore[arg-type] # the table of actions
    result: PlanResult = await editor.client.protocol.send_request_async("indwell/plan", params)
    return result


async def in_plan_mode(editor: Editor, text: str = "mend it") -> Any:
    params = protocol.PromptParams(text, None, "plan")
    return await editor.client.protocol.send_request_async("indwell/prompt", params)


async def ended(editor: Editor, number: int) -> None:
    await editor.wait_until(
        lambda: sum(one["type"] == "turnFinished" for one in editor.events) >= number
    )


def states(editor: Editor) -> list[str]:
    return [one["state"] for one in editor.events if one["type"] == "planChanged"]
