"""Make small files of pictures of the panel, and one animation of the frames of a recording.

    python scripts/pictures/shrink.py stills FOLDER OUT webp|png
    python scripts/pictures/shrink.py animation FOLDER OUT.gif

A frame's file name is the time in milliseconds since the start of the recording.
"""

from __future__ import annotations

import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path

from PIL import Image, ImageChops

STILL_COLOURS, ANIMATION_COLOURS = 128, 40
"""So many frequent colours stay exact; the blends at the edges of letters share as many others."""

LONGEST_MS, SHORTEST_MS = 1_500, 90  # A busy machine draws late; a viewer need not wait.
LAST_MS = 2_500


def stills(folder: Path, out: Path, kind: str) -> None:
    """Write each PNG of the folder with few colours, without a loss at letters."""
    out.mkdir(parents=True, exist_ok=True)
    for path in sorted(folder.glob("*.png")):
        with Image.open(path) as opened:
            picture = opened.convert("RGB")
        few = picture.quantize(palette=_palette([picture], STILL_COLOURS), dither=Image.Dither.NONE)
        target = out / f"{path.stem}.{kind}"
        if kind == "webp":
            few.convert("RGB").save(target, lossless=True, quality=100, method=6)
        else:
            few.save(target, optimize=True)


def animation(folder: Path, out: Path) -> None:
    """Write the frames that differ as a GIF with one palette, each shown as long as it was seen."""
    shown: list[tuple[int, Image.Image]] = []
    for path in sorted(folder.glob("*.png")):
        with Image.open(path) as opened:
            picture = opened.convert("RGB")
        at = int(path.stem)
        if shown and ImageChops.difference(shown[-1][1], picture).getbbox() is None:
            continue
        if shown and at - shown[-1][0] < SHORTEST_MS:
            shown[-1] = (shown[-1][0], picture)
            continue
        shown.append((at, picture))
    palette = _palette([picture for _, picture in shown], ANIMATION_COLOURS)
    times = [min(LONGEST_MS, after[0] - before[0]) for before, after in pairwise(shown)]
    frames = [one.quantize(palette=palette, dither=Image.Dither.NONE) for _, one in shown]
    frames[0].save(
        out,
        save_all=True,
        append_images=frames[1:],
        duration=[*times, LAST_MS],
        loop=0,
        optimize=True,
    )


def _palette(pictures: list[Image.Image], n_exact: int) -> Image.Image:
    """Return a picture whose palette fits these; of many pictures it looks at every ninth."""
    counts: Counter[tuple[int, int, int]] = Counter()
    for picture in pictures[::9] + pictures[-1:]:
        for count, colour in picture.getcolors(1 << 24):
            counts[colour] += count
    colours = [colour for colour, _ in counts.most_common()]
    exact, others = colours[:n_exact], colours[n_exact:]
    values = [part for colour in exact for part in colour]
    if others:
        line = Image.new("RGB", (len(others), 1))
        line.putdata(others)
        values += line.quantize(n_exact).getpalette()[: 3 * n_exact]
    made = Image.new("P", (1, 1))
    made.putpalette(values)
    return made


def main() -> None:
    """Do what the arguments say."""
    match sys.argv[1:]:
        case ["stills", folder, out, ("webp" | "png") as kind]:
            stills(Path(folder), Path(out), kind)
        case ["animation", folder, out]:
            animation(Path(folder), Path(out))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
