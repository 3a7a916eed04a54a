"""Counts the tokens of the system prompt and the tool schemas, which each session sends first.

    python benchmarks/prompt_size.py [--lean]     with --lean for a small model

The script counts the JSON of the request with o200k, the real vocabulary (``pip install
bpe-openai==0.1.4``), with all optional tools on. The first requests of other agents have 1,292 (pi)
to 19,346 (Claude Code) tokens. ``indwell doctor`` prints an estimate of this count.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from pathlib import Path

from indwell.cli.doctor.command import beginning
from indwell.context.tokens import estimate_tokens

MOST = 1_800  # most tokens of o200k
MOST_LEAN = 1_100  # most tokens for a small model


def main() -> None:
    """Print the parts and their sum; return 1 if the sum is over the limit."""
    try:
        import bpe_openai  # noqa: PLC0415 -- only benchmarks have it
    except ImportError:
        sys.exit("install the vocabulary first: pip install bpe-openai==0.1.4")
    encode = bpe_openai.get_encoding("o200k_base").encode
    is_lean = "--lean" in sys.argv
    most = MOST_LEAN if is_lean else MOST
    with tempfile.TemporaryDirectory() as empty:
        os.environ["XDG_CONFIG_HOME"] = empty  # excludes the user's own settings
        if is_lean:
            settings = Path(empty) / "indwell" / "config.toml"
            settings.parent.mkdir()
            settings.write_text('profile = "lean"\n')
        talk, *_ = asyncio.run(beginning({**os.environ, "INDWELL_STATE": empty}, Path(empty)))
    parts = {"system prompt": "".join(block.text for block in talk.system)}
    for spec in talk.tools:
        function = {
            "name": spec.name,
            "description": spec.description,
            "parameters": json.loads(spec.parameters),
        }
        entry = {"type": "function", "function": function}
        parts[spec.name] = json.dumps(entry, separators=(",", ":"))
    total = 0
    print(f"{'part':16} {'o200k':>6} {'estimate':>9}")
    for name, text in parts.items():
        n_tokens = len(encode(text))
        total += n_tokens
        print(f"{name:16} {n_tokens:6,} {estimate_tokens(text):9,}")
    print(f"{'together':16} {total:6,}   of at most {most:,}")
    sys.exit(total > most)


if __name__ == "__main__":
    main()
