"""Runs ``python -m indwell``, which is the same as the command ``indwell``."""

from __future__ import annotations

import sys

# Python searches the working folder first, which is a folder of the workspace.
if not sys.flags.safe_path and "-m" in sys.orig_argv:
    del sys.path[0]

from indwell.cli import main

sys.exit(main())
