"""Tests that the VS Code extension protects the same paths as the server, in any spelling."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import unicodedata
from itertools import chain
from pathlib import Path

from editors.place import missing
from indwell.policy import protected_names
from indwell.policy.guarded_paths import BARE, is_guarded

ROOT = Path(__file__).resolve().parents[2]
GUARDED = ROOT / "vscode-extension" / "src" / "extension" / "chat" / "editor" / "guarded.ts"
BESIDE = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
NODE = shutil.which("node", path=BESIDE)

ORDINARY = (
    *("src/app.py", "README.md", "github/x.py", "settings.json", "package.json5", "a.code"),
    *(".gitignore", "docs/agents.md.txt", "yarn/releases/x", ".config/x", "config/mise", "head"),
    *("heads/HEAD.txt", "chat.md", "x.chat.markdown", "environment.py", "a/b/c/d.ts", "", ".", "/"),
)
UNKNOWN = (
    ".nobody-knows",
    ".nobody/a.py",
    "./.nobody",
    "a/.nobody",
    "/.nobody",
    "../.nobody",
    "~/.x",
)
TABLES = (protected_names.PROTECTED, protected_names.INSTALLED, protected_names.STARTERS)
LISTED = (
    *(
        one.removesuffix("/").replace("*", "x")
        for table in TABLES
        for names in table.values()
        for one in names
    ),
    BARE,
)
KNOWN = tuple(one.replace("*", "x") for names in protected_names.HARMLESS.values() for one in names)
PLAIN = tuple(
    chain(
        ORDINARY,
        LISTED,
        KNOWN,
        UNKNOWN,
        *((f"a/{one}", f"{one}/b", f"x{one}", f"{one}x") for one in LISTED),
    )
)


def odd_paths() -> tuple[str, ...]:
    """Return the protected names in spellings that a disk may accept: case, accents, separators."""
    imitations = [
        (chr(code), folded)
        for code in range(128, sys.maxunicode + 1)
        if (folded := unicodedata.normalize("NFC", chr(code)).casefold()).isascii()
    ]
    return (
        *chain.from_iterable(
            (one.upper(), f"{one}. .", f"a\\{one}\\b", f"{one[:2]}\u200b{one[2:]}", f".//./{one}")
            for one in LISTED
        ),
        *(
            name.replace(plain, odd)
            for name in LISTED
            for odd, plain in imitations
            if plain in name
        ),
    )


def guarded_by_the_panel(asked: tuple[str, ...]) -> list[bool]:
    if NODE is None:
        missing("Node is not installed: scripts/setup")
    script = (
        f"const {{ isGuarded }} = await import({json.dumps(GUARDED.as_uri())});"
        "const asked = JSON.parse(require('node:fs').readFileSync(0, 'utf8'));"
        "console.log(JSON.stringify(asked.map(isGuarded)))"
    )
    command = [str(NODE), "--no-warnings", "--input-type=commonjs", "--eval"]
    ran = subprocess.run(
        [*command, f"(async () => {{{script}}})()"],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ran.returncode == 0, ran.stderr
    answers: list[bool] = json.loads(ran.stdout)
    return answers


def test_the_generated_list_of_protected_places_is_up_to_date() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "protected_places.py"), "--check"]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")


def test_the_panel_and_the_server_protect_the_same_places() -> None:
    odd = odd_paths()
    panel = dict(zip((*PLAIN, *odd), guarded_by_the_panel((*PLAIN, *odd)), strict=True))
    assert [path for path in PLAIN if panel[path] != is_guarded(path)] == []
    # The panel may protect more than the server if a disk's spelling is unclear, never less.
    assert [path for path in odd if is_guarded(path) and not panel[path]] == []
    assert sum(map(is_guarded, odd)) > len(LISTED)
