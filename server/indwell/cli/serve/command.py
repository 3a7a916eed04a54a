"""``indwell serve`` and ``indwell acp``: serves an editor on stdin and stdout, or on a port."""

from __future__ import annotations

import gc
import os
import sys
import time
from functools import partial

from indwell.lsp.wire.stdio import NoLine, OpenLine, claim_stdio, open_line

# the time, in seconds, after which an importing thread yields to the editor's messages
SWITCH_S = 0.001


def serve(*, scripted: bool, pace_s: float, editor_asks_trust: bool) -> int:
    """Serve one editor; return 0 after the message ``exit``, 1 if the editor just disconnects.

    ``initialize`` is answered before the rest of the server is loaded. For ``editor_asks_trust``
    see ``Composition``.
    """
    try:
        if sys.stdin is not None and sys.stdin.isatty():
            sys.stderr.write(
                "indwell: waiting for an editor on stdin. Press Ctrl-C to stop; `indwell --help` "
                "lists the commands for the terminal\n"
            )
        opened = open_line(claim_stdio())
    except NoLine as error:
        sys.stderr.write(f"indwell: {error}\n")
        return 1
    except KeyboardInterrupt:
        return 130
    if isinstance(opened, int):
        return opened
    return serve_opened(
        opened, scripted=scripted, pace_s=pace_s, editor_asks_trust=editor_asks_trust
    )


def serve_tcp(address: str, *, scripted: bool, pace_s: float) -> int:
    """Serve the one editor that connects to a local port with the token.

    Raises:
        WrongAddress: The address or the token is invalid.
    """
    import secrets

    from indwell.lsp.wire.tcp import accept_editor, address_of, check_token, listening

    host, port = address_of(address)
    given = os.environ.pop("INDWELL_TOKEN", "")  # the agent's commands must not inherit the token
    token = check_token(given) if given else secrets.token_urlsafe(32)
    with listening(host, port) as listener:
        shown_host = f"[{host}]" if ":" in host else host
        at = f"{shown_host}:{listener.getsockname()[1]}"
        shown = "of INDWELL_TOKEN" if given else token
        sys.stderr.write(f"indwell: listening on {at}, token {shown}\n")
        sys.stderr.flush()
        try:
            opened = accept_editor(listener, token)
        except KeyboardInterrupt:
            return 130
    return serve_opened(opened, scripted=scripted, pace_s=pace_s)


def serve_acp(*, scripted: bool, worktree: bool = False) -> int:
    """Serve a client of the Agent Client Protocol until it closes stdin, or stops the process."""
    from indwell.acp.serving import serve_client
    from indwell.cli import code_of_stop
    from indwell.cli.serve.logs import log_to_stderr
    from indwell.cli.terminal.interruptible_work import wait_for
    from indwell.sandbox.environment import own_environment
    from indwell.wiring.service import Composition

    if sys.stdin is not None and sys.stdin.isatty():
        sys.stderr.write(
            "indwell acp: waiting for a client on stdin, such as Zed. Press Ctrl-C to stop\n"
        )
    environment = own_environment()
    log_to_stderr(environment)
    try:
        read_fd, write_fd = claim_stdio()
        new_maker = partial(Composition, environment, scripted=scripted, in_worktrees=worktree)
        return wait_for(serve_client(new_maker, read_fd, write_fd))
    except NoLine as error:
        sys.stderr.write(f"indwell: {error}\n")
        return 1
    except KeyboardInterrupt as stop:
        return code_of_stop(stop)


def serve_opened(
    opened: OpenLine, *, scripted: bool, pace_s: float, editor_asks_trust: bool = False
) -> int:
    """Serve a connection after ``initialize``."""
    # Modules create no garbage while they load, so garbage collection would waste 30 ms.
    gc.disable()
    began_s = time.monotonic()
    from indwell.cli.serve.logs import log_to_stderr
    from indwell.cli.serve.server_log import note_editor
    from indwell.lsp.server import make_server
    from indwell.lsp.wire.serving import serve_line
    from indwell.sandbox.environment import own_environment
    from indwell.wiring.service import Composition

    sys.setswitchinterval(SWITCH_S)
    environment = own_environment()
    log_to_stderr(environment)
    composition = Composition(
        environment, scripted=scripted, pace_s=pace_s, editor_asks_trust=editor_asks_trust
    )
    server, host = make_server(composition, opened.opened)
    note_editor(environment, opened.opened, began_s)
    gc.freeze()
    gc.enable()
    return serve_line(opened, server, host.service.stop)
