"""The command line: reads arguments and puts the parts together; heavy imports stand in here."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

DONE, FAILED, USAGE = 0, 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; 0 done, 1 the task failed, 2 the command line was wrong."""
    os.environ.pop("OPENAI_LOG", None)  # other programs' switch: it would log prompts on our stderr
    given = sys.argv[1:] if arguments is None else list(arguments)
    if given in ([], ["serve"], ["serve", "--stdio"]):  # what editors start: nothing else is loaded
        from indwell.cli.serve import serve

        return serve(scripted=False, pace_s=0.0)
    from indwell.cli.commands import run_command

    try:
        try:
            return run_command(given)
        finally:
            sys.stdout.flush()
    except KeyboardInterrupt:
        sys.stderr.write("stopped\n")
        return FAILED
    except BrokenPipeError:
        from indwell.cli.closed_output import hush

        hush()
        return FAILED
