"""Edits files with odd encodings and line endings; only the edited bytes may change.

python tests/faults/byte_exact.py [N_FILES [SEED]]
"""

from __future__ import annotations

import asyncio
import codecs
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from indwell.errors import ToolError
from indwell.workspace.disk import DiskWorkspace
from tools.calling import Agent

WORDS = {
    "latin": "the quick größte naïve café señor Œuvre – “so” 5 € façade über Ångström",
    "polish": "zażółć gęślą jaźń sprawdź rozmiar pliku",
    "cyrillic": "проверка размера файла для всех случаев",
    "greek": "έλεγχος μεγέθους αρχείου",
    "japanese": "ファイル の サイズ を 確認 する 関数 漢字 半角カナ",
    "chinese": "检查 文件 的 大小 中文 函数 𠀀",
    "korean": "파일 크기를 확인합니다 한국어",
    "ascii": "plain words only x = 1 {} [] $HOME \\xe9 \\u00e9",
    "odd": "\x0b \x0c \x85 \u2028 \u200b \ufeff \x7f \x1b[31m e\u0301 \U0001f600 \t",
}
ENCODINGS = (
    *(("utf-8", script, mark) for script in WORDS for mark in (b"", codecs.BOM_UTF8)),
    *(("utf-16-le", script, codecs.BOM_UTF16_LE) for script in WORDS),
    *(("utf-16-be", script, codecs.BOM_UTF16_BE) for script in WORDS),
    *(("utf-32-le", script, codecs.BOM_UTF32_LE) for script in WORDS),
    *(("utf-16-le", script, b"") for script in ("latin", "ascii", "chinese")),
    *((name, "latin", b"") for name in ("cp1252", "latin-1", "iso8859-15", "mac-roman", "cp437")),
    *((name, "polish", b"") for name in ("cp1250", "iso8859-2", "cp852")),
    *((name, "cyrillic", b"") for name in ("cp1251", "koi8-r", "cp866", "iso8859-5")),
    *((name, "greek", b"") for name in ("cp1253", "iso8859-7")),
    *((name, "japanese", b"") for name in ("cp932", "euc_jp", "iso2022_jp")),
    *((name, "chinese", b"") for name in ("gb18030", "gbk", "big5")),
    *((name, "korean", b"") for name in ("cp949", "euc_kr", "johab")),
)
ENDS = ("\n", "\r\n", "\r")
PLACE, NEW = "<<the place>>", "[another text]"


def make_file(rng: random.Random) -> tuple[str, bytes, bytes]:
    """Return the kind of a random file, the file's bytes, and the bytes after the edit."""
    encoding, script, mark = rng.choice(ENCODINGS)
    ends = rng.choice([[rng.choice(ENDS)], list(ENDS)])
    pieces = []
    n_lines = rng.choice([0, 1, 3, 30])
    for _ in range(n_lines):
        words = rng.choices(WORDS[script].split(" "), k=rng.randrange(8))
        pieces.append((" ".join(words) + rng.choice(ends)).encode(encoding, "ignore"))
    if rng.random() < 0.2 and not mark:
        for _ in range(rng.randrange(1, 4)):
            pieces.insert(rng.randrange(len(pieces) + 1), rng.randbytes(rng.randrange(1, 4)))
    end = rng.choice(["", *ends])
    at = rng.randrange(len(pieces) + 1)
    lead, tail = mark + b"".join(pieces[:at]), b"".join(pieces[at:])
    old, new = ((text + end).encode(encoding) for text in (PLACE, NEW))
    name = f"{encoding}{'+mark' if mark else ''}"
    return name, lead + old + tail, lead + new + tail


async def edit_once(folder: Path, rng: random.Random) -> tuple[str, str]:
    """Make one file and edit it; return its kind, and ``edited`` or ``refused``."""
    name, before, after = make_file(rng)
    path = folder / "file"
    path.write_bytes(before)
    agent = Agent(DiskWorkspace([folder]), folder / ".spill")
    edits = [{"old": PLACE, "new": NEW}]
    try:
        (await agent.call("read_file", path="file")).text.encode()
        await agent.call("edit_file", path="file", edits=edits)
    except ToolError:
        assert path.read_bytes() == before, (name, before)
        return name, "refused"
    assert path.read_bytes() == after, (name, before, path.read_bytes())
    return name, "edited"


async def run(n_files: int, seed: int) -> Counter[tuple[str, str]]:
    """Edit ``n_files``; count for each kind how often the edit was done or refused."""
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        return Counter([await edit_once(Path(folder), rng) for _ in range(n_files)])


if __name__ == "__main__":
    N_FILES, SEED = (int(word) for word in [*sys.argv[1:], "1000", "1"][:2])
    COUNTED = asyncio.run(run(N_FILES, SEED))
    for (kind, outcome), n_files in sorted(COUNTED.items()):
        print(f"{kind:16} {outcome:8} {n_files:5}")
    print(f"{N_FILES} files, seed {SEED}: no byte changed beside an edit")
