"""``python -m indwell``: the same as the command ``indwell``."""

from __future__ import annotations

import sys

# Python looks into the working folder first, which is that of a workspace.
if not sys.flags.safe_path and "-m" in sys.orig_argv:
    del sys.path[0]

from indwell.cli import main

sys.exit(main())
