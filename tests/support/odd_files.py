"""Makes files with odd encodings and line ends, and edits one word of each through review.

All other bytes must stay the same after an edit of the agent, accept, reject and rewind.
"""

from __future__ import annotations

import codecs
import random
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from indwell.errors import ToolError
from indwell.lsp.workspace.editor_workspace import EditorWorkspace
from indwell.review.hunk import Actor
from indwell.review.ledger import ReviewLedger
from indwell.review.verdicts import Scope, accept, reject, rewind_files
from indwell.workspace.base import Workspace
from indwell.workspace.disk import DiskWorkspace
from support.ledgers import change
from support.stub_editor import StubEditor

WORD, THEN, LAST = "alpha_word", "beta_word", "gamma_word"
SESSION = "s1"

_WORDS = {
    "ascii": ("plain text", "x = 1", "return total", "# note"),
    "west": ("größe für ältere", "naïve café", "señor mañana", "smørrebrød på bordet"),
    "japanese": ("日本語の文章です", "これはテストです", "漢字とかな", "プログラムを書く"),
    "chinese": ("中文的句子", "这是一个测试", "编写程序", "注释在这里"),
    "korean": ("한국어 문장입니다", "이것은 시험입니다", "프로그램을 작성"),
}
_ENCODINGS = (
    ("utf-8", b"", ("ascii", "west", "japanese", "chinese", "korean")),
    ("utf-8", codecs.BOM_UTF8, ("ascii", "west", "japanese")),
    ("utf-16-le", codecs.BOM_UTF16_LE, ("ascii", "west", "chinese")),
    ("utf-16-be", codecs.BOM_UTF16_BE, ("ascii", "korean")),
    ("latin-1", b"", ("west",)),
    ("cp1252", b"", ("west",)),
    ("shift_jis", b"", ("japanese",)),
    ("euc-jp", b"", ("japanese",)),
    ("gb18030", b"", ("chinese",)),
    ("euc-kr", b"", ("korean",)),
)
_ENDS = ("\n", "\r\n", "\r", "mixed")
_ODD = ("", "\x0c", "\x0b", "\x1c", "\u2028", "\x85", "\t", "\x7f")


class OddFile(NamedTuple):
    """A file: its name, the bytes before and after the word, and its encoding."""

    name: str
    encoding: str
    mark: bytes
    head: str
    tail: str

    def bytes_with(self, word: str) -> bytes:
        """Return the file's bytes with ``word`` in place of the word."""
        return self.mark + self.text_with(word).encode(self.encoding)

    def text_with(self, word: str) -> str:
        """Return the file's text, as an editor shows it, with ``word`` in place of the word."""
        return self.head + word + self.tail


def odd_files(number: int, seed: int = 7) -> Iterator[OddFile]:
    """Yield a number of files; the same seed gives the same files."""
    chance = random.Random(seed)
    for at in range(number):
        encoding, mark, kinds = _ENCODINGS[at % len(_ENCODINGS)]
        words = _WORDS[chance.choice(kinds)]
        end = _ENDS[chance.randrange(len(_ENDS))]
        odd = _ODD[chance.randrange(len(_ODD))]
        if not _holds(encoding, odd):
            odd = "\x0c"
        lines = [chance.choice(words) for _ in range(chance.randrange(3, 40))]
        if at % 97 == 5:
            lines[0] = "long " * 200_000
        lines.insert(len(lines) // 2, odd)
        text = "".join(line + _end(end, chance) for line in lines)
        cut = text.index(lines[-1], len(text) - len(lines[-1]) - 4)
        tail = " " + text[cut:]
        if chance.random() < 0.5:
            tail = tail.rstrip("\r\n")
        if at % 50 == 3:
            yield OddFile(f"f{at}.txt", encoding, mark, "", "")  # The file contains only the word.
            continue
        yield OddFile(f"f{at}.txt", encoding, mark, text[:cut], tail)


async def through_review(file: OddFile, root: Path, ledger: ReviewLedger, *, is_open: bool) -> str:
    """Edit, accept, edit, reject, edit, rewind; return the error, or an empty text."""
    path = root / file.name
    path.write_bytes(file.bytes_with(WORD))
    path.chmod(0o640)
    disk = DiskWorkspace([root], private=root.parent / "undo")
    editor = StubEditor(path, file.text_with(WORD)) if is_open else None
    workspace: Workspace = disk
    if editor is not None:
        workspace = EditorWorkspace(editor.documents, editor, disk, apply_timeout_s=5)

    def wrong(word: str, step: str) -> str:
        if editor is not None:
            is_right = editor.text == file.text_with(word)
            is_right = is_right and path.read_bytes() == file.bytes_with(WORD)
            return "" if is_right else f"{file} after {step}: the buffer or the disk is another one"
        is_right = path.read_bytes() == file.bytes_with(word)
        is_right = is_right and path.stat().st_mode & 0o777 == 0o640
        return "" if is_right else f"{file} after {step}: bytes or mode are other ones"

    try:
        await _edit(workspace, ledger, path, (WORD, THEN), 1)
    except ToolError as error:
        return wrong(WORD, "a refusal") or f"refused: {error}"
    if told := wrong(THEN, "the edit"):
        return told
    await accept(ledger, workspace, Scope(path=path))
    if told := wrong(THEN, "accept"):
        return told
    await _edit(workspace, ledger, path, (THEN, LAST), 2)
    done = await reject(ledger, workspace, Scope(path=path))
    if told := wrong(THEN, "reject") or "".join(why for _, why in done.failed):
        return told
    await _edit(workspace, ledger, path, (THEN, LAST), 3)
    done = await rewind_files(ledger, workspace, SESSION, 0)
    return wrong(WORD, "rewind") or "".join(why for _, why in done.failed)


async def _edit(
    workspace: Workspace, ledger: ReviewLedger, path: Path, words: tuple[str, str], turn: int
) -> None:
    old, new = words
    base = await workspace.read(path)
    text = base.text.replace(old, new)
    await workspace.write(path, base, text, label="edit")
    await change(ledger, path, base.text, text, Actor(SESSION, turn))


def _end(kind: str, chance: random.Random) -> str:
    return chance.choice(_ENDS[:3]) if kind == "mixed" else kind


def _holds(encoding: str, char: str) -> bool:
    try:
        return char.encode(encoding).decode(encoding) == char
    except UnicodeError:
        return False
