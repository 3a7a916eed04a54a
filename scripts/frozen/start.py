"""Starts the frozen server: the command ``indwell``, or Python code for a child process.

A frozen program has no separate ``python``. Indwell starts its own interpreter again as ``python -I
-S -c CODE``, as ``python -m MODULE`` and for workers of ``multiprocessing``. This file handles all
three; the callers need no change.
"""

from __future__ import annotations

import os
import sys

# The flags have no effect, because a frozen Python is always isolated.
_FLAGS = frozenset(["-B", "-E", "-I", "-S", "-s", "-u"])


def _forget_the_bundle() -> None:
    """Restore the variables that PyInstaller's start program has set, for the child processes."""
    for name in [one for one in os.environ if one.startswith("_PYI_")]:
        del os.environ[name]
    before = os.environ.pop("LD_LIBRARY_PATH_ORIG", None)
    if before is not None:
        os.environ["LD_LIBRARY_PATH"] = before
    elif os.environ.get("LD_LIBRARY_PATH") == sys.prefix:
        del os.environ["LD_LIBRARY_PATH"]


def _main() -> int:
    words = sys.argv[1:]
    if words[:1] == ["--multiprocessing-fork"]:
        from multiprocessing.spawn import freeze_support  # noqa: PLC0415 - no other start needs it

        freeze_support()  # The call ends the process of a worker.
    while words and words[0] in _FLAGS:
        del words[0]
    if words[:1] == ["-c"]:
        sys.argv = ["-c", *words[2:]]
        exec(compile(words[1], "<string>", "exec"), {"__name__": "__main__"})  # noqa: S102
        return 0
    if words[:1] == ["-m"] and words[1] != "indwell":
        import runpy  # noqa: PLC0415 - no other start needs it

        sys.argv[1:] = words[2:]
        sys.path.insert(0, os.getcwd())  # noqa: PTH109 - as `python -m` does
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
        return 0
    if words[:1] == ["-m"]:
        sys.argv[1:] = words[2:]
    from indwell.cli import main  # noqa: PLC0415 - after the environment is restored

    return main()


if __name__ == "__main__":
    _forget_the_bundle()
    sys.exit(_main())
