"""Runs ``indwell`` and records each child process in the file that the first argument names."""

from __future__ import annotations

import os
import sys

STARTS = {"subprocess.Popen", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.system"}


def main() -> int:
    """Run the command line that follows the record's path."""
    record = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    sys.argv[:] = [sys.argv[0], *sys.argv[2:]]

    def listen(event: str, arguments: tuple[object, ...]) -> None:
        if event in STARTS:
            os.write(record, f"{event} {arguments!r}\n".encode())

    sys.addaudithook(listen)
    from indwell.cli import main as indwell  # noqa: PLC0415 - heard from its first import on

    return indwell()


if __name__ == "__main__":
    sys.exit(main())
