"""Compares the token estimate with o200k for each kind of text, on real and generated texts.

    python benchmarks/tokens.py [FOLDER …]     files of these folders besides Python's own python
    benchmarks/tokens.py --fixture      count tests/context/token_counts.json again

The script needs the real vocabulary (``pip install bpe-openai==0.1.4``, MIT, 75 MB), which Indwell
itself never loads. For each kind the script prints the total error, and the median, 5th and 95th
percentile of single texts. The script also prints the errors of designs A (three characters a
token) and D (4 ASCII characters a token, 1.5 tokens for others).
"""

from __future__ import annotations

import base64
import gettext
import gzip
import json
import random
import re
import statistics
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from indwell.context.tokens import estimate_tokens

ROOT = Path(__file__).resolve().parents[1]
SESSIONS = ROOT.parent / "shared" / "data" / "sessions"
FIXTURE = ROOT / "tests" / "context" / "token_counts.json"
KINDS = {
    ".py": "python", ".c": "c", ".h": "c", ".cpp": "cpp", ".js": "js", ".ts": "ts",
    ".md": "markdown", ".rst": "markdown",
    ".json": "json", ".html": "html", ".css": "css", ".toml": "toml",
    ".yaml": "yaml", ".rs": "rust", ".go": "go", ".sh": "shell", ".lua": "lua", ".csv": "csv",
    ".xml": "xml", ".txt": "text",
}  # fmt: skip
MOST = 60  # most texts of a kind
SIZE = 6_000  # most characters of a text
LANGUAGES = frozenset(
    {
        "ar", "cs", "de", "el", "es", "fr", "he", "hi", "it", "ja", "ko", "nl", "pl", "pt_BR",
        "ru", "sv", "th", "tr", "uk", "vi", "zh_CN", "zh_TW",
    }
)  # fmt: skip
TARGET = (-0.02, 0.15)  # limits of the error of a kind's total


def thirds(text: str) -> int:
    """Return the estimate of design A: three characters a token; 54 % too low for Chinese."""
    return len(text) // 3


def by_script(text: str) -> int:
    """Return the estimate of design D: 4 ASCII characters a token, 1.5 tokens for others."""
    n_ascii = len(text) if text.isascii() else len(text.encode("ascii", "ignore"))
    return int(n_ascii / 4 + (len(text) - n_ascii) * 1.5)


def main() -> None:
    """Measure and print."""
    try:
        import bpe_openai  # noqa: PLC0415 -- only this benchmark has it
    except ImportError:
        sys.exit("install the vocabulary first: pip install bpe-openai==0.1.4")
    encode = bpe_openai.get_encoding("o200k_base").encode

    def count(text: str) -> int:
        return len(encode(text))

    if "--fixture" in sys.argv:
        recount(count)
        return
    dice = random.Random(7)
    paths = sysconfig.get_paths()
    folders = [Path(paths["stdlib"]), Path(paths["purelib"]), *map(Path, sys.argv[1:])]
    texts = {**from_files(folders, dice), **from_locales(folders, dice)}
    texts |= from_sessions(dice) | made(dice)
    head = f"{'kind':20} texts  chars/token   total  median      p5     p95       A       D"
    print(head)
    for kind, samples in sorted(texts.items()):
        print(row(kind, samples, count))
    big = "".join(texts["python"])
    big = (big * (1_000_000 // len(big) + 1))[:1_000_000]
    for n_chars in (10_000, 60_000, 1_000_000):
        began = time.perf_counter()
        estimate_tokens(big[:n_chars])
        seconds = time.perf_counter() - began
        each = seconds / n_chars * 1e9
        print(f"{n_chars:>9,} characters: {seconds * 1e3:.2f} ms, {each:.1f} ns each")


def row(kind: str, samples: list[str], count: Callable[[str], int]) -> str:
    """Return the line of one kind."""
    true = [count(text) for text in samples]
    errors = sorted(estimate_tokens(text) / n - 1 for text, n in zip(samples, true, strict=True))

    def total(estimate: Callable[[str], int]) -> float:
        return sum(map(estimate, samples)) / sum(true) - 1

    ours = total(estimate_tokens)
    mark = "" if TARGET[0] <= ours <= TARGET[1] else " *"
    return (
        f"{kind:20} {len(samples):5} {sum(map(len, samples)) / sum(true):12.2f} {ours:+7.1%} "
        f"{statistics.median(errors):+7.1%} {errors[len(errors) // 20]:+7.1%} "
        f"{errors[-1 - len(errors) // 20]:+7.1%} {total(thirds):+7.1%} "
        f"{total(by_script):+7.1%}{mark}"
    )


def from_files(folders: list[Path], dice: random.Random) -> dict[str, list[str]]:
    """Return a piece of each of some files, by the kind of file that the name shows."""
    found: dict[str, list[Path]] = {}
    for folder in folders:
        for path in folder.rglob("*"):
            kind = "minified js" if path.name.endswith(".min.js") else KINDS.get(path.suffix)
            if kind:
                found.setdefault(kind, []).append(path)
    texts: dict[str, list[str]] = {}
    for kind, paths in found.items():
        for path in dice.sample(paths, min(len(paths), MOST * 2)):
            try:
                text = path.read_text("utf-8")
            except (OSError, UnicodeDecodeError):
                continue
            pieces = [text[at : at + SIZE] for at in range(0, len(text), SIZE)]
            if pieces and len(pieces[0]) > SIZE // 12 and len(texts.setdefault(kind, [])) < MOST:
                texts[kind].append(dice.choice(pieces))
    return {kind: samples for kind, samples in texts.items() if samples}


def from_locales(folders: list[Path], dice: random.Random) -> dict[str, list[str]]:
    """Return translations of programs: prose in other languages."""
    words: dict[str, set[str]] = {}
    for folder in folders:
        for path in folder.rglob("LC_MESSAGES/*.mo"):
            language = re.split(r"[.@]", path.parts[-3])[0]
            if language not in LANGUAGES:
                continue
            try:
                with path.open("rb") as file:
                    catalogue = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined] # noqa: SLF001 -- it has no other way
            except (OSError, IndexError, ValueError):
                continue
            words.setdefault(language, set()).update(filter(None, map(str, catalogue.values())))
    texts = {}
    for language, lines in words.items():
        mixed = sorted(lines)
        dice.shuffle(mixed)
        text = "\n".join(mixed)
        pieces = [text[at : at + 3_000] for at in range(0, len(text) - 3_000, 3_000)][:30]
        if pieces:
            texts[f"prose {language}"] = pieces
    return texts


def from_sessions(dice: random.Random) -> dict[str, list[str]]:
    """Return texts that agents really read and wrote."""
    texts: dict[str, list[str]] = {}
    for path in sorted(SESSIONS.glob("*.jsonl.gz")):
        name = path.name.split(".")[0]
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                for kind, text in said(json.loads(line)["messages"]):
                    if len(text) > 300:  # noqa: PLR2004 -- shorter ones say little
                        texts.setdefault(f"{name} {kind}", []).append(text[:20_000])
    return {kind: dice.sample(all_, min(len(all_), 120)) for kind, all_ in texts.items()}


def said(messages: list[dict[str, object]]) -> Iterator[tuple[str, str]]:
    """Yield role and text of each message, and separately the arguments of calls."""
    for message in messages:
        content = message.get("content")
        if isinstance(content, list):
            content = "\n".join(part.get("text", "") for part in content)
        if isinstance(content, str):
            yield str(message["role"]), content
        calls = message.get("tool_calls")
        for call in calls if isinstance(calls, list) else []:
            yield "arguments", call["function"]["arguments"]


def made(dice: random.Random) -> dict[str, list[str]]:
    """Return texts without words: encodings, numbers, logs, blanks, pictures."""

    def hex_of(n: int) -> str:
        return dice.randbytes(n).hex()

    def log() -> str:
        at = (
            f"2026-11-{dice.randint(1, 30):02d}T{dice.randint(0, 23):02d}:{dice.randint(0, 59):02d}"
        )
        address = ".".join(str(dice.randint(0, 255)) for _ in range(4))
        return (
            f"{at}:07.{dice.randint(0, 999_999):06d}Z INFO [db.pool] req={hex_of(6)} "
            f"path=/api/v1/users/{dice.randint(1, 99_999)} status=200 "
            f"dur={dice.random():.2f}ms {address}"
        )

    makers: dict[str, Callable[[], str]] = {
        "base64": lambda: base64.b64encode(dice.randbytes(2_000)).decode(),
        "hex": lambda: hex_of(1_500),
        "uuids": lambda: "\n".join("-".join(hex_of(n) for n in (4, 2, 2, 2, 6)) for _ in range(50)),
        "digits": lambda: "".join(dice.choices("0123456789", k=2_000)),
        "numbers": lambda: ", ".join(f"{dice.uniform(-999, 999):.3f}" for _ in range(300)),
        "logs": lambda: "\n".join(log() for _ in range(40)),
        "letters": lambda: "".join(dice.choices("abcdefghijklmnopqrstuvwxyz", k=2_000)),
        "blanks": lambda: "\n".join(" " * dice.randint(0, 120) + "x" for _ in range(60)),
        "emoji": lambda: " ".join(
            f"ship it {chr(dice.randint(0x1F600, 0x1F64F))}" for _ in range(60)
        ),
    }
    return {kind: [make() for _ in range(15)] for kind, make in makers.items()}


def recount(count: Callable[[str], int]) -> None:
    """Write the true counts into the tests' fixture."""
    records = json.loads(FIXTURE.read_text("utf-8"))
    for record in records:
        record["tokens"] = count(record["text"])
    FIXTURE.write_text(json.dumps(records, ensure_ascii=False, indent=1) + "\n", "utf-8")
    for record in records:
        error = estimate_tokens(record["text"]) / record["tokens"] - 1
        print(f"{record['kind']:24} {len(record['text']):6} {record['tokens']:6} {error:+.1%}")


if __name__ == "__main__":
    main()
