"""``indwell serve``: the language server on stdin and stdout."""

from __future__ import annotations

import gc
import os

from indwell.lsp.stdio import OpenLine, claim_stdio, open_line


def serve(*, scripted: bool, pace_s: float) -> int:
    """Serve one editor until it says goodbye (0) or hangs up without (1).

    ``initialize`` is answered before the rest of the server is loaded.
    """
    try:
        opened = open_line(claim_stdio())
    except KeyboardInterrupt:
        return 130
    if isinstance(opened, int):
        return opened
    return serve_opened(opened, scripted=scripted, pace_s=pace_s)


def serve_opened(opened: OpenLine, *, scripted: bool, pace_s: float) -> int:
    """Serve a line after ``initialize``."""
    # Nothing that is made while modules load is garbage; looking for it costs a tenth of the time.
    gc.disable()
    from indwell.cli.backend import EditorBackend
    from indwell.cli.logs import log_to_stderr
    from indwell.lsp.server import make_server
    from indwell.lsp.serving import serve_line

    gc.freeze()
    gc.enable()
    log_to_stderr(os.environ)
    backend = EditorBackend(os.environ, scripted=scripted, pace_s=pace_s)
    server, host = make_server(backend, opened.opened)
    return serve_line(opened, server, host.stop)
