"""Keep the VS Code extension's list of protected paths equal to that of ``indwell.policy``."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from textwrap import wrap

from indwell.policy import guarded_paths, protected_names

ROOT = Path(__file__).resolve().parent.parent
EDITOR = ROOT / "vscode-extension" / "src" / "extension" / "chat" / "editor"
MIRROR = EDITOR / "protected-places.ts"
WIDTH = 100  # of a line, as Biome has it
_IS_WORD = re.compile(r"[^\s`\\$]+")
HEAD = """\
/**
 * Which names the server protects: all in lower case, but for `BARE`.
 * Written by scripts/protected_places.py from server/indwell/policy (`scripts/fix`).
 */

const names = (text: string): readonly string[] => text.trim().split(/\\s+/);
"""


def text() -> str:
    """Return the text of protected-places.ts."""
    protected = _names(
        protected_names.PROTECTED, protected_names.INSTALLED, protected_names.STARTERS
    )
    folders = [one.removesuffix("/") for one in protected if one.endswith("/")]
    runs = [one for one in protected if "/" in one.removesuffix("/")]
    files = [one for one in protected if "/" not in one]
    plain = [one for one in files if "*" not in one]
    return "\n".join(
        [
            HEAD,
            _list("FOLDERS", "Folders that are protected with all their contents.", folders),
            _list("FILES", "Files that are protected by their whole name.", plain),
            _list(
                "LIKE",
                "Patterns of file names, in which a star stands for any text.",
                set(files) - set(plain),
            ),
            _list("RUNS", "Sequences of nested names, in which a star stands for any text.", runs),
            _list(
                "HARMLESS",
                "Dot names at the root of a repository that need no question.",
                _names(protected_names.HARMLESS),
            ),
            "/** The file that makes a folder a Git repository, by its exact name. */",
            f"export const BARE = {json.dumps(guarded_paths.BARE)};\n",
        ]
    )


def _names(*tables: protected_names.Names) -> list[str]:
    return [one for table in tables for names in table.values() for one in names]


def _list(name: str, what: str, values: Iterable[str]) -> str:
    words = sorted(set(values))
    if odd := [one for one in words if not _IS_WORD.fullmatch(one)]:
        raise ValueError(f"a name with a blank or a special character: {odd}")
    lines = wrap(" ".join(words), WIDTH - 2, break_long_words=False, break_on_hyphens=False)
    text = "\n".join(f"  {line}" for line in lines)
    return f"/** {what} */\nexport const {name} = names(`\n{text}\n`);\n"


def main() -> int:
    """Write protected-places.ts; with --check, report whether the file is out of date."""
    fresh = text()
    if MIRROR.exists() and MIRROR.read_text("utf-8") == fresh:
        return 0
    if "--check" in sys.argv:
        print(f"{MIRROR.relative_to(ROOT)} is old; run scripts/fix", file=sys.stderr)
        return 1
    MIRROR.write_text(fresh, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
