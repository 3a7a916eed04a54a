"""The kept pictures of the panel: each scene before and after on their page, in a limited size.

No test compares their pixels, which differ with each font; ``test/browser/shapes.test.ts`` compares
boxes.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "docs" / "pictures" / "panel"
LIMIT_B = 2_000_000
THEMES = ("light", "dark", "contrast")


def test_each_scene_is_kept_before_and_after_in_three_themes_and_shown_on_the_page() -> None:
    kept = {str(path.relative_to(KEPT)) for path in KEPT.rglob("*.webp")}
    source = ROOT / "vscode-extension" / "test" / "editor" / "pictures.ts"
    scenes = set(re.findall(r"^  (\w+): (?:\{|state\()", source.read_text("utf-8"), re.MULTILINE))
    scenes |= {"welcome", "connect"}  # a window without a model shows these
    assert {"asking", "review", "sessions", "wide"} <= scenes
    wanted = {
        f"{when}/{scene}-{theme}.webp"
        for when in ("before", "after")
        for scene in scenes
        for theme in THEMES
    }
    assert kept == wanted - {
        "before/wide-light.webp"
    }  # this picture was empty, and the old build cannot take it again
    shown = re.findall(r"\]\(((?:before|after)/[^)]*)\)", (KEPT / "README.md").read_text("utf-8"))
    assert sorted(shown) == sorted(kept)


def test_the_kept_pictures_are_small() -> None:
    assert sum(path.stat().st_size for path in KEPT.rglob("*.webp")) < LIMIT_B
