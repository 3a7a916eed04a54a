"""Compares the token estimate with o200k by kind of text, for 200 to 50,000 tokens.

    python benchmarks/token_sizes.py [FOLDER …]     files of these folders besides this machine's

The texts are pieces of five sizes from Python, node, the system's documentation, manuals and
translations. Half of the files served to fit the weights; the other half is ``held out``. For each
kind in H15 the script prints the lowest, median and highest error of texts of 1,000 tokens or more,
and how many estimates are over 10 % too low. The script then lists the texts with estimates over 10
% too low, the worst first. The script needs the real vocabulary (``pip install
bpe-openai==0.1.4``), which Indwell itself never loads.
"""

from __future__ import annotations

import gettext
import gzip
import random
import statistics
import sys
import sysconfig
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from indwell.context.tokens import estimate_tokens

KINDS = {
    ".py": "Python", ".c": "C, C++", ".h": "C, C++", ".cpp": "C, C++", ".hpp": "C, C++",
    ".js": "JavaScript", ".mjs": "JavaScript", ".ts": "TypeScript", ".rs": "Rust", ".sh": "shell",
    ".lua": "Lua", ".pl": "Perl", ".pm": "Perl", ".sql": "SQL", ".vim": "Vim script",
    ".md": "English", ".rst": "English", ".txt": "text files", ".json": "JSON", ".log": "logs",
    ".html": "HTML", ".css": "CSS", ".xml": "XML", ".csv": "CSV", ".map": "source maps",
}  # fmt: skip
MANUALS = {"": "English", "zh_CN": "Chinese", "zh_TW": "Chinese, Traditional", "ja": "Japanese"}
FOLDERS = ("/usr/lib/node_modules", "/usr/share", "/usr/include", "/usr/lib/python3", "/var/log")
SIZES = (200, 1_000, 5_000, 20_000, 50_000)  # tokens
MOST = 150  # most files of a kind
LEAST = 1_000  # least tokens of a text whose error counts
UNDER = -0.10


class Sample(NamedTuple):
    """A text, with o200k's count and our estimate."""

    origin: str
    true: int
    error: float


def main() -> None:
    """Measure and print."""
    try:
        import bpe_openai  # noqa: PLC0415 -- only the benchmarks have it
    except ImportError:
        sys.exit("install the vocabulary first: pip install bpe-openai==0.1.4")
    encode = bpe_openai.get_encoding("o200k_base").encode
    paths = sysconfig.get_paths()
    folders = [Path(one) for one in (paths["stdlib"], paths["purelib"], *FOLDERS, *sys.argv[1:])]
    found = texts(folders, random.Random(11))
    print(f"{'kind':32}{'texts':>6} {'lowest':>8} {'median':>8} {'highest':>8}  over 10 % under")
    low: list[tuple[str, Sample]] = []
    for kind, files in sorted(found.items()):
        samples = list(measured(kind, files, lambda text: len(encode(text))))
        for name, part in (("fitted", False), ("held out", True)):
            counted = [one for one in samples if one.true >= LEAST and held_out(one) is part]
            if counted:
                print(row(f"{kind}, {name}", counted))
                low += [(kind, one) for one in counted if one.error < UNDER]
    for kind, one in sorted(low, key=lambda item: item[1].error)[:20]:
        print(f"{one.error:+.1%}  {one.true:>6,} tokens  {kind:22} {one.origin}")


def row(name: str, samples: list[Sample]) -> str:
    """Return the line of one kind."""
    errors = sorted(one.error for one in samples)
    n_low = sum(error < UNDER for error in errors)
    return (
        f"{name:32}{len(errors):>6} {errors[0]:>+8.1%} "
        f"{statistics.median(errors):>+8.1%} {errors[-1]:>+8.1%}  {n_low}"
    )


def held_out(sample: Sample) -> bool:
    """Is the text from a file that did not serve to fit the weights?"""
    return sum(map(ord, sample.origin)) % 2 == 1


def measured(
    kind: str, files: list[tuple[str, str]], count: Callable[[str], int]
) -> Iterator[Sample]:
    """Return a piece of each size of each text that is long enough."""
    dice = random.Random(zlib.crc32(kind.encode()))
    # approximate number of characters in a token
    each = 1.4 if kind.startswith(("Chinese", "Japanese")) else 3.4
    for origin, text in files:
        for size in SIZES:
            length = int(size * each)
            if len(text) < length * 0.9 and size > SIZES[0]:
                continue
            at = dice.randrange(max(1, len(text) - length))
            piece = text[at : at + length]
            true = count(piece)
            yield Sample(origin, true, estimate_tokens(piece) / true - 1)


def texts(folders: list[Path], dice: random.Random) -> dict[str, list[tuple[str, str]]]:
    """Return, by kind, the origin and the text of each sample."""
    found: dict[str, set[Path]] = {}
    for folder in folders:
        for path in folder.rglob("*"):
            minified = path.name.endswith((".min.js", ".min.mjs"))
            kind = "minified JavaScript" if minified else KINDS.get(path.suffix)
            if kind and not path.is_symlink():
                found.setdefault(kind, set()).add(path)
    for language, kind in MANUALS.items():
        found.setdefault(kind, set()).update(
            (Path("/usr/share/man") / language).glob("man*/*.gz"),
            Path("/usr/share/locale").glob(f"{language}/LC_MESSAGES/*.mo") if language else (),
        )
    read: dict[str, list[tuple[str, str]]] = {}
    for kind, paths in found.items():
        for path in dice.sample(sorted(paths), min(len(paths), MOST)):
            text = text_of(path)
            if len(text) > SIZES[0]:
                read.setdefault(kind, []).append((str(path), text))
    return read


def text_of(path: Path) -> str:
    """Return the text of a file; empty if the file is unreadable."""
    try:
        if path.suffix == ".mo":
            with path.open("rb") as file:
                catalogue = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined] # noqa: SLF001 -- it has no other way
            return "\n".join(filter(None, map(str, catalogue.values())))
        data = path.read_bytes()
        data = gzip.decompress(data) if path.suffix == ".gz" else data
        return data[: 1 << 20].decode()
    except (OSError, ValueError, EOFError, zlib.error):
        return ""


if __name__ == "__main__":
    main()
