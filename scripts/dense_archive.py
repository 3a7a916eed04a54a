"""Pack an archive anew by Zopfli: 5 % smaller, and what reads it sees no difference.

The standard library writes no data that was compressed elsewhere, so the records are written here,
as APPNOTE.TXT of PKWARE has them (4.3.7, 4.3.12, 4.3.16): no encryption, no Zip64, nothing extra.
"""

from __future__ import annotations

import struct
import sys
import zlib
from pathlib import Path
from zipfile import ZipFile, ZipInfo

import zopfli.zlib

DEFLATED, UTF8_NAME = 8, 0x800
ROUNDS = 5  # of Zopfli's search; fifteen gain another 2 kB of 1.5 MB


def condense(archive: Path) -> None:
    """Rewrite ``archive`` in place; names, order, dates, modes and contents stay."""
    with ZipFile(archive) as packed:
        entries = [(entry, packed.read(entry)) for entry in packed.infolist()]
    body, directory = b"", b""
    for entry, content in entries:
        # Without the two bytes before and the four behind it, a zlib stream is plain deflate.
        data = zopfli.zlib.compress(content, numiterations=ROUNDS)[2:-4]
        name, shared = entry.filename.encode(), _shared(entry, content, data)
        begins = len(body)
        body += struct.pack("<I", 0x04034B50) + shared + name + data
        directory += struct.pack("<IH", 0x02014B50, entry.create_version | entry.create_system << 8)
        directory += shared + struct.pack("<HHHII", 0, 0, 0, entry.external_attr, begins) + name
    n_entries = len(entries)
    end = struct.pack(
        "<IHHHHIIH", 0x06054B50, 0, 0, n_entries, n_entries, len(directory), len(body), 0
    )
    archive.write_bytes(body + directory + end)


def _shared(entry: ZipInfo, content: bytes, data: bytes) -> bytes:
    """What stands before the name in both records of an entry."""
    year, month, day, hour, minute, second = entry.date_time
    time = hour << 11 | minute << 5 | second // 2
    date = (year - 1980) << 9 | month << 5 | day
    sizes = zlib.crc32(content), len(data), len(content), len(entry.filename.encode()), 0
    return struct.pack("<HHHHHIIIHH", 20, UTF8_NAME, DEFLATED, time, date, *sizes)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        condense(Path(name))
