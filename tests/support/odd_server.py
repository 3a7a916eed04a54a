"""Runs a server with built-in faults, for tests of clients.

The composition raises an error like a bug of Indwell, and the server has three methods that fail.
After ``SIGUSR1`` the server writes to stdout in every way that a library might. After ``SIGUSR2``
it floods the log.
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
from typing import Any

from indwell.agent.core.session import Session
from indwell.cli.serve.logs import log_to_stderr
from indwell.lsp.server import make_server
from indwell.lsp.wire.serving import serve_line
from indwell.lsp.wire.stdio import claim_stdio, open_line
from indwell.wiring.service import Composition

SECRET = "sk-secret-0123456789abcdef"  # noqa: S105 - made up
FLOOD = 10_000


class Failing(Composition):
    """A composition that raises an error, like a bug."""

    async def begin(self, *_arguments: Any, **_named: Any) -> Session:
        raise RuntimeError(f"a bug that knows {SECRET}")


def stray(*_: object) -> None:
    """Write to stdout in every possible way, also from a child process."""
    print("stray print", flush=True)  # noqa: T201 - what the test is about
    sys.stdout.write("stray write\n")
    sys.stdout.flush()
    os.write(1, b"stray descriptor\n")
    subprocess.run(["echo", "stray child"], check=True)


def flood(*_: object) -> None:
    """Log endlessly, like a library in a loop, with a key in each line."""
    for number in range(FLOOD):
        logging.getLogger("library").error("%d: Authorization: Bearer %s", number, SECRET)


def main() -> int:
    """Run the server with the faults."""
    signal.signal(signal.SIGUSR1, stray)
    signal.signal(signal.SIGUSR2, flood)
    opened = open_line(claim_stdio())
    if isinstance(opened, int):
        return opened
    log_to_stderr(os.environ)
    server, host = make_server(Failing(os.environ, scripted=True), opened.opened)

    @server.feature("odd/raises")
    def raises(_params: None) -> None:
        raise KeyError(SECRET)

    @server.feature("odd/raisesLater")
    async def raises_later(_params: None) -> None:
        raise ValueError(SECRET)

    @server.feature("odd/noJson")
    def no_json(_params: None) -> object:
        return {"x": object()}

    return serve_line(opened, server, host.service.stop)


if __name__ == "__main__":
    sys.exit(main())
