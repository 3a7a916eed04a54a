"""Change the process id again and again: ``python comet.py SECONDS FILE``.

The process forks and ends, and the child leads a session. The last process writes the time to the
file.
"""

from __future__ import annotations

import os
import sys
import time

END = time.monotonic() + float(sys.argv[1])
while time.monotonic() < END:
    if os.fork():
        os._exit(0)
    os.setsid()
with open(sys.argv[2], "w") as file:  # noqa: PTH123 - quicker to start without pathlib
    file.write("lived")
