"""Runs Indwell by ``python -m indwell``, which is the same as the command ``indwell``."""

from __future__ import annotations

import sys

# Python would first search the working folder, which is a folder of the workspace.
if not sys.flags.safe_path and "-m" in sys.orig_argv:
    del sys.path[0]

from indwell.cli import main

sys.exit(main())
