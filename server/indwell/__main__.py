"""``python -m indwell``: the same as the command ``indwell``."""

from __future__ import annotations

import sys

from indwell.cli import main

sys.exit(main())
