"""Files in any encoding, read and changed by the tools, with real bytes on disk."""

from __future__ import annotations

import codecs
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from indwell.errors import ToolError
from indwell.workspace.disk import DiskWorkspace
from tools.calling import Agent

SAMPLES = {
    "utf-16-le": (codecs.BOM_UTF16_LE, "name = 'größe'\r\nold = 1\r\n"),
    "utf-16-be": (codecs.BOM_UTF16_BE, "name = '漢字'\nold = 1\n"),
    "latin-1": (b"", "# Überprüft die Größe für alle Fälle\nold = 1\n"),
    "cp1252": (b"", "# “naïve” – l’été coûte 5 €\r\nold = 1\r\n"),
    "shift_jis": (b"", "# ファイルのサイズを確認する関数です\nold = 1\n"),
    "gb18030": (b"", "# 检查文件的大小\r\nold = 1\r\n"),
    "euc_kr": (b"", "# 파일 크기를 확인합니다\nold = 1\n"),
}


def over(tmp_path: Path, data: bytes, name: str = "a") -> Agent:
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / name).write_bytes(data)
    return Agent(DiskWorkspace([tmp_path / "w"]), tmp_path / "spill")


async def edited(agent: Agent, old: str, new: str, name: str = "a") -> bytes:
    """Return the file's bytes after a read and an edit."""
    await agent.call("read_file", path=name)
    await agent.call("edit_file", path=name, edits=[{"old": old, "new": new}])
    return (agent.context.workspace.roots[0] / name).read_bytes()


async def test_enc_01_a_crlf_file_keeps_all_other_bytes_and_gets_crlf(tmp_path: Path) -> None:
    agent = over(tmp_path, b"one\r\ntwo\r\nthree\rfour\nfive")
    after = await edited(agent, "two", "2\nand more")
    assert after == b"one\r\n2\r\nand more\r\nthree\rfour\nfive"


async def test_enc_03_a_byte_order_mark_stays_and_is_not_shown(tmp_path: Path) -> None:
    agent = over(tmp_path, codecs.BOM_UTF8 + b"old\n")
    assert (await agent.call("read_file", path="a")).text == "1\told"
    assert await edited(agent, "old", "new") == codecs.BOM_UTF8 + b"new\n"
    await agent.call("write_file", path="a", content="all new é\n")
    data = (tmp_path / "w" / "a").read_bytes()
    assert data == codecs.BOM_UTF8 + "all new é\n".encode()


@pytest.mark.parametrize("encoding", SAMPLES)
async def test_enc_04_an_edit_keeps_a_detected_encoding(tmp_path: Path, encoding: str) -> None:
    mark, text = SAMPLES[encoding]
    agent = over(tmp_path, mark + text.encode(encoding))
    first = text.splitlines()[0]
    shown = (await agent.call("read_file", path="a")).text
    assert shown.startswith(f"1\t{first}\n2\told = 1")
    assert ("which is a guess]" in shown) is not bool(mark)
    repeated = first.replace("# ", "old = 2 # ")  # only characters that are already in the file
    after = await edited(agent, "old = 1", repeated)
    assert after == mark + text.replace("old = 1", repeated).encode(encoding)


@pytest.mark.parametrize("encoding", [name for name in SAMPLES if not SAMPLES[name][0]])
async def test_enc_04_a_guessed_encoding_never_writes_a_new_character(
    tmp_path: Path, encoding: str
) -> None:
    before = SAMPLES[encoding][1].encode(encoding)
    agent = over(tmp_path, before)
    with pytest.raises(ToolError, match=r"brings in 'ñ' \(U\+00F1\).* is a guess.*ASCII"):
        await edited(agent, "old = 1", "old = 'ñ'")
    with pytest.raises(ToolError, match="is a guess"):
        await agent.call("write_file", path="a", content="ñ")
    assert (tmp_path / "w" / "a").read_bytes() == before


async def test_enc_04_an_edit_accepts_every_character_of_a_declared_encoding(
    tmp_path: Path,
) -> None:
    text = "# -*- coding: shift_jis -*-\n# 漢字\nold = 1\n"
    agent = over(tmp_path, text.encode("shift_jis"))
    after = await edited(agent, "1", "'仮名'")
    assert after == text.replace("1", "'仮名'").encode("shift_jis")
    with pytest.raises(ToolError, match=r"holds '한' \(U\+D55C\), which shift_jis, the file's"):
        await edited(agent, "'仮名'", "'한'")
    assert (tmp_path / "w" / "a").read_bytes() == after


@pytest.mark.parametrize("data", [b"text\0more\n", b"\x7fELF\x02\1\1\0\0", b"\x89PNG\r\n\x1a\n\0"])
async def test_enc_05_a_binary_file_is_reported_and_not_edited(tmp_path: Path, data: bytes) -> None:
    agent = over(tmp_path, data)
    for tool, arguments in (
        ("read_file", {}),
        ("edit_file", {"edits": [{"old": "t", "new": "u"}]}),
        ("write_file", {"content": "new"}),
    ):
        with pytest.raises(ToolError, match="is not a text but a (binary file|PNG image) of"):
            await agent.call(tool, path="a", **arguments)
    assert (tmp_path / "w" / "a").read_bytes() == data


@pytest.mark.parametrize("stray", [b"\xff", b"\xc3", b"\xe2\x82", b"\xed\xa0\x80", b"\x80\x80"])
@pytest.mark.parametrize("text", ["größe\n", "plain\n"])
async def test_enc_06_a_stray_byte_is_shown_and_survives_an_edit_next_to_it(
    tmp_path: Path, stray: bytes, text: str
) -> None:
    lead = text.encode() * 3 + b"stray " + stray
    agent = over(tmp_path, lead + b"\nold\n")
    shown = (await agent.call("read_file", path="a")).text
    assert shown.encode()  # the text can be encoded as JSON
    if text != "plain\n":  # a plain line has too few hints that the file is UTF-8
        spelled = "".join(f"\\x{byte:02x}" for byte in stray)
        assert f"4\tstray {spelled}\n" in shown
    assert await edited(agent, "old", "new") == lead + b"\nnew\n"
    assert await edited(agent, "stray ", "") == lead.replace(b"stray ", b"") + b"\nnew\n"


LOCALE_PROGRAM = """
import asyncio, json, locale, sys
from pathlib import Path
sys.path[:0] = json.loads(sys.argv[1])
from indwell.workspace.disk import DiskWorkspace
from tools.calling import Agent

assert locale.getencoding().lower() not in {"utf-8", "utf8"}
work, spill = Path(sys.argv[2]), Path(sys.argv[3])

async def main():
    agent = Agent(DiskWorkspace([work]), spill)
    read = await agent.call("read_file", path="a")
    assert read.text == "1\\tgr\\u00f6\\u00dfe \\u6f22", ascii(read.text)
    edits = [{"old": "\\u6f22", "new": "\\u20ac\\u00e9"}]
    await agent.call("edit_file", path="a", edits=edits)
    await agent.call("write_file", path="b", content="\\u00fc\\u6f22\\n")

asyncio.run(main())
"""


@pytest.mark.parametrize("settings", ["C", "cp1252"])
def test_enc_07_the_locale_does_not_affect_read_and_written_bytes(
    tmp_path: Path, settings: str
) -> None:
    work = tmp_path / "w"
    work.mkdir()
    (work / "a").write_bytes("größe 漢\n".encode())
    # Python on Windows needs these variables.
    kept = ("PATH", "HOME", "SYSTEMROOT", "USERPROFILE", "TEMP")
    environment = {key: os.environ[key] for key in kept if key in os.environ}
    environment |= {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C"}
    program = LOCALE_PROGRAM
    if settings == "cp1252":  # Windows has these values
        program = (
            "import locale\nlocale.getpreferredencoding = lambda *_: 'cp1252'\n"
            "locale.getencoding = lambda: 'cp1252'\n"
        ) + program
    checkout = Path(__file__).parents[2]
    paths = json.dumps([str(checkout / "tests"), str(checkout / "server")])
    subprocess.run(
        [sys.executable, "-W", "error", "-X", "warn_default_encoding", "-c", program, paths,
         work, tmp_path / "spill"],
        env=environment, check=True, timeout=60,
    )  # fmt: skip
    assert (work / "a").read_bytes() == "größe €é\n".encode()
    assert (work / "b").read_bytes() == "ü漢\n".encode()


async def test_enc_10_a_name_is_found_in_any_unicode_form_of_its_accents(tmp_path: Path) -> None:
    for disk, asked in (("cafe\u0301.py", "caf\u00e9.py"), ("u\u0308.py", "\u00fc.py")):
        folder = tmp_path / asked
        folder.mkdir()
        agent = over(folder, b"old\n", disk)
        await agent.call("read_file", path=asked)
        await agent.call("edit_file", path=asked, edits=[{"old": "old", "new": "new"}])
        assert {path.name: path.read_bytes() for path in (folder / "w").iterdir()} == {
            disk: b"new\n"
        }


async def test_enc_10_a_text_does_not_match_a_different_unicode_form(tmp_path: Path) -> None:
    before = "name = 'cafe\u0301'\n".encode()
    agent = over(tmp_path, before)
    with pytest.raises(ToolError, match="does not appear"):
        await edited(agent, "caf\u00e9", "tea")
    assert (tmp_path / "w" / "a").read_bytes() == before
    assert await edited(agent, "cafe\u0301", "tea") == b"name = 'tea'\n"


async def test_enc_14_the_smallest_files_are_read_and_edited(tmp_path: Path) -> None:
    agent = over(tmp_path, b"")
    assert (await agent.call("read_file", path="a")).text == "'a' is empty"
    await agent.call("write_file", path="a", content="x")
    assert (await agent.call("read_file", path="a")).text == "1\tx"
    assert await edited(agent, "x", "y") == b"y"
    assert await edited(agent, "y", "") == b""


async def test_enc_14_a_million_lines_are_read_and_edited(tmp_path: Path) -> None:
    agent = over(tmp_path, b"".join(b"%d\n" % number for number in range(1_000_000)))
    told = await agent.call("read_file", path="a", offset=999_999)
    assert told.text.startswith("999999\t999998\n1000000\t999999")
    after = await edited(agent, "\n777777\n", "\nhere\n")
    assert after.count(b"\n") == 1_000_000
    assert after[after.index(b"here") - 7 :].startswith(b"777776\nhere\n777778\n")


async def test_enc_14_a_line_of_10_mb_is_read_and_edited(tmp_path: Path) -> None:
    agent = over(tmp_path, b"x" * 5_000_000 + b"here" + b"y" * 5_000_000)
    told = (await agent.call("read_file", path="a")).text
    assert len(told) < 5_000
    assert "more bytes]" in told
    assert await edited(agent, "here", "there") == b"x" * 5_000_000 + b"there" + b"y" * 5_000_000


async def test_fs_11_a_line_of_50_mb_is_cut_within_a_second_of_cpu_time(
    tmp_path: Path,
) -> None:
    agent = over(tmp_path, b"x" * 50_000_000)
    began = time.process_time()
    told = (await agent.call("read_file", path="a")).text
    assert time.process_time() - began < 1
    assert told == (f"1\t{'x' * 4_000}[… 49,996,000 more bytes]\n[a file of 50,000,000 bytes]")
