"""``indwell serve``: the language server on stdin and stdout."""

from __future__ import annotations

import logging
import os
import sys

from indwell.cli.backend import EditorBackend
from indwell.lsp.server import make_server


def serve(*, scripted: bool, pace_s: float) -> int:
    """Serve one editor until it says goodbye (0) or hangs up without (1)."""
    # stdout is the wire; whatever is logged goes to stderr, where editors keep it.
    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(message)s"
    )
    server = make_server(EditorBackend(os.environ, scripted=scripted, pace_s=pace_s))
    server.start_io()
    return 0 if server.was_shut_down else 1
