# ruff: noqa: SLF001 - it tries the parts of the sandbox one by one
"""Find out what a real Windows offers for confining commands, for docs/decisions/0025.

    python scripts/windows_probe.py

The script needs Windows and an installed Indwell, but no administrator permissions. The script
takes some seconds. It creates temporary folders and removes them. It also creates an AppContainer
profile without permissions, which is kept. Please send us the output: it names the version of
Windows and the paths of shells, nothing else.
"""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path


def shells() -> Iterator[tuple[str, ...]]:
    """Return the arguments before the text of a command, for each installed shell."""
    root = Path(os.environ.get("SYSTEMROOT", r"C:\Windows"), "System32")
    yield str(root / "cmd.exe"), "/d", "/c"
    powershell = root / "WindowsPowerShell" / "v1.0" / "powershell.exe"
    for found in (str(powershell) if powershell.exists() else None, shutil.which("pwsh")):
        if found:
            yield found, "-NoProfile", "-NonInteractive", "-Command"
    git = shutil.which("git")
    beside = Path(git).resolve().parents[1] / "bin" / "bash.exe" if git else None
    if beside and beside.exists():
        yield str(beside), "--norc", "--noprofile", "-c"


if sys.platform == "win32":
    from indwell.sandbox.confine import restricted_token as tokens
    from indwell.sandbox.confine.cages import CAGES
    from indwell.sandbox.confine.trial import STARTED, effects_of

    def main() -> int:
        print(f"Windows {platform.version()}, {platform.machine()}, {platform.python_version()}")
        free = effects_of(lambda place, script: tokens._in_python(place, script, None), "python")
        print(f"unconfined: achieves {', '.join(sorted(free.done)) or 'nothing'} {free.said!r}")
        for cage in ("container", *CAGES):
            found = tokens._tried(cage, free, ())
            held = f"holds {', '.join(sorted(found.held)) or 'nothing'}"
            print(f"{cage}: {held}" + (f" ({found.reason})" if found.reason else ""))
            for shell in shells():
                fit = tokens._starts(cage, (*shell, f"echo {STARTED}"))
                print(f"  {shell[0]}: {'starts' if fit else 'does not start'}")
        return 0

else:

    def main() -> int:
        print("This script needs Windows.")
        return 1


if __name__ == "__main__":
    sys.exit(main())
