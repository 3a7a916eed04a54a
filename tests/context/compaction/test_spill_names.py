"""Names of files with cut text are short, and different for different texts."""

from __future__ import annotations

import hashlib
import zlib

from indwell.context.compaction.cuts import spill_name

# Two texts with the same crc32. With crc32 in the name and equal call ids, both would get the same
# file.
FORGED = ("plumless", "buckeroo")
# Found in a second: two texts with the same first five bytes of blake2b.
FOUND = ("text 337648", "text 501442")


def test_texts_with_equal_checksums_have_separate_files() -> None:
    assert len({zlib.crc32(one.encode()) for one in FORGED}) == 1
    assert len({hashlib.blake2b(one.encode(), digest_size=5).digest() for one in FOUND}) == 1
    for pair in (FORGED, FOUND):
        assert len({spill_name("call-1", one) for one in pair}) == 2


def test_a_file_name_for_cut_text_is_the_same_each_time_short_and_plain() -> None:
    name = spill_name("toolu_01/ABC:defgh", "tëxt \ud800")
    assert name == spill_name("toolu_01/ABC:defgh", "tëxt \ud800")
    assert len(name) <= 31
    assert name.replace("-", "").replace(".", "").isalnum()
