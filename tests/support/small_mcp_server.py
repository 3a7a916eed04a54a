"""Runs a small MCP server with 20 tools, without the SDK, which starts quickly."""

from __future__ import annotations

import json
import sys

SCHEMA = {"type": "object", "properties": {f"field_{i}": {"type": "string"} for i in range(8)}}
TOOLS = [
    {"name": f"tool_{i}", "description": "Does something useful. " * 10, "inputSchema": SCHEMA}
    for i in range(20)
]
GREETING = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "small", "version": "1"},
}

for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    reply = {"jsonrpc": "2.0", "id": message["id"]}
    match message["method"]:
        case "initialize":
            reply["result"] = GREETING
        case "tools/list":
            reply["result"] = {"tools": TOOLS}
        case "tools/call":
            reply["result"] = {"content": [{"type": "text", "text": "done"}]}
        case _:
            reply["error"] = {"code": -32601, "message": "Method not found"}
    sys.stdout.write(json.dumps(reply) + "\n")
    sys.stdout.flush()
