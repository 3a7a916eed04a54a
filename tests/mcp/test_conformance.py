"""The official MCP conformance suite for clients: every scenario for the declared features.

Left out, and why:

- ``auth/basic-cimd``: the client id would be a public address at which Indwell's own description
  is found; Indwell has no such address, and a user's own one would need the port of each login.
- ``auth/client-credentials-jwt``: Indwell signs nothing, because it keeps no private key of a
  user; a client secret does the same for these servers.
- ``auth/2025-03-26-oauth-metadata-backcompat``: the SDK refuses an issuer that differs from the
  address, which protects users of newer servers.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from support.reference_servers import needs_reference_servers, node, program

pytestmark = needs_reference_servers
CLIENT = Path(__file__).parents[1] / "support" / "mcp_conformance_client.py"
SCENARIOS = (
    "initialize",
    "tools_call",
    "elicitation-sep1034-client-defaults",
    "sse-retry",
    "auth/metadata-default",
    "auth/metadata-var1",
    "auth/metadata-var2",
    "auth/metadata-var3",
    "auth/scope-from-www-authenticate",
    "auth/scope-from-scopes-supported",
    "auth/scope-omitted-when-undefined",
    "auth/scope-retry-limit",
    "auth/scope-step-up",
    "auth/pre-registration",
    "auth/client-credentials-basic",
    "auth/token-endpoint-auth-basic",
    "auth/token-endpoint-auth-post",
    "auth/token-endpoint-auth-none",
    "auth/2025-03-26-oauth-endpoint-fallback",
    "auth/resource-mismatch",
    "auth/offline-access-scope",
    "auth/offline-access-not-supported",
)


@pytest.mark.parametrize("scenario", SCENARIOS)
async def test_a_scenario_of_the_conformance_suite_passes(tmp_path: Path, scenario: str) -> None:
    process = await asyncio.create_subprocess_exec(
        node(),
        program("conformance"),
        "client",
        *("--command", f"{sys.executable} {CLIENT}"),
        *("--scenario", scenario, "--timeout", "120000", "-o", str(tmp_path)),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        cwd=tmp_path,
    )
    said, _ = await process.communicate()
    text = said.decode("utf-8", "replace")
    assert "OVERALL: PASSED" in text, text[-4_000:]
