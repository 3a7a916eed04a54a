"""Tokens of what every session sends before the user's first word: system prompt and tool schemas.

Measured with o200k, the real vocabulary (``pip install bpe-openai==0.1.4``), as the JSON that goes
over the wire. The limit is 1,500; the field's first requests have 1,292 (pi) to 19,346 (Claude
Code) tokens.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from indwell.context.tokens import estimate_tokens
from indwell.prompt.system import Machine, system_prompt
from indwell.tools.commands.bash import Shell
from indwell.tools.table import standard_tools

LIMIT = 1_500  # tokens, of both together


def main() -> None:
    """Print the parts and their sum; 1 if it is over the limit."""
    try:
        import bpe_openai  # noqa: PLC0415 -- only benchmarks have it
    except ImportError:
        sys.exit("install the vocabulary first: pip install bpe-openai==0.1.4")
    encode = bpe_openai.get_encoding("o200k_base").encode
    tools = standard_tools(Shell(Path.cwd()))
    machine = Machine(  # noqa: S604 - `shell` is a word for the prompt
        system="Linux 6.1.0-18-amd64", architecture="x86_64", shell="bash", python="3.11.7"
    )
    prompt = system_prompt(machine, tuple(spec.name for spec in tools.specs), "")
    parts = {"system prompt": prompt}
    for spec in tools.specs:
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
    print(f"{'together':16} {total:6,}   of at most {LIMIT:,}")
    sys.exit(total > LIMIT)


if __name__ == "__main__":
    main()
