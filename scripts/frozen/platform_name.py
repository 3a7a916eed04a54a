"""Print this machine's platform by the name that VS Code's marketplaces have for it.

The package's Python determines the name: its C library, and its processor under emulation.
"""

from __future__ import annotations

import platform
import sys
import sysconfig

_PROCESSORS = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}


def platform_name() -> str:
    """Return the name for ``vsce package --target``."""
    system = sys.platform
    if system == "linux" and "musl" in (sysconfig.get_config_var("HOST_GNU_TYPE") or ""):
        system = "alpine"
    machine = platform.machine().lower()
    return f"{system}-{_PROCESSORS.get(machine, machine)}"


if __name__ == "__main__":
    sys.stdout.write(platform_name() + "\n")
