"""Print a package.json as users receive it, without fields that only this checkout needs."""

from __future__ import annotations

import json
import sys
from pathlib import Path

OURS = frozenset(["private", "scripts", "devDependencies", "dependencies"])
"""The packages that the extension depends on are in its bundles."""


def main() -> None:
    """Print the file that the first argument names."""
    manifest = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    shipped = {name: it for name, it in manifest.items() if name not in OURS}
    sys.stdout.write(json.dumps(shipped, indent=2) + "\n")


if __name__ == "__main__":
    main()
