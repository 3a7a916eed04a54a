"""``indwell acp`` driven by the client of the TypeScript SDK, an independent implementation.

``npm ci --prefix tests/acp/typescript`` installs it, as CI does.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest

from support.acp_client import INDWELL
from support.editing import EDIT, MENDED, READ, Home, bash
from support.loopback_endpoint import LoopbackEndpoint, say
from support.reference_servers import node

FOLDER = Path(__file__).parent / "typescript"


@pytest.mark.skipif(
    not (os.environ.get("CI") or ((FOLDER / "node_modules").is_dir() and node())),
    reason="issue 24: the TypeScript SDK is not installed; see tests/acp/test_typescript.py",
)
async def test_the_typescript_client_gets_an_edit_a_question_and_the_end(tmp_path: Path) -> None:
    home = Home(tmp_path)
    script = [
        say(calls=[READ]),
        say(calls=[EDIT]),
        bash("touch made; rm -f made-too"),
        say("It is mended."),
    ]
    async with LoopbackEndpoint(script) as endpoint:
        told = {"ACP_FOLDER": str(home.workspace), "ACP_WORDS": "Mend it"}
        process = await asyncio.create_subprocess_exec(
            node(),
            str(FOLDER / "client.mjs"),
            *(sys.executable, "-c", INDWELL, "acp"),
            env={**home.environment(endpoint.base_url), **told},
            stdout=asyncio.subprocess.PIPE,
        )
        output, _ = await process.communicate()
    seen = json.loads(output)
    assert (seen["agent"], seen["stopReason"], seen["code"]) == ("indwell", "end_turn", 0)
    assert home.shop.read_text() == MENDED
    assert (home.workspace / "made").exists()
    assert len(seen["asked"]) == 1
    texts = [
        one["content"]["text"]
        for one in seen["updates"]
        if one["sessionUpdate"] == "agent_message_chunk"
    ]
    assert "It is mended." in "".join(texts)
    kinds = {one["sessionUpdate"] for one in seen["updates"]}
    assert {"tool_call", "tool_call_update", "usage_update", "session_info_update"} <= kinds
    assert (seen["titles"], seen["left"]) == (["Mend it"], 0)
