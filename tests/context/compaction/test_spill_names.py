"""Names of the files for what was cut: short, and no two texts with the same one."""

from __future__ import annotations

import hashlib
import zlib

from indwell.context.compaction.cuts import spill_name

# Found by hand for crc32: with the same ids of calls the second would have taken the first's file.
FORGED = ("plumless", "buckeroo")
FOUND = ("text 337648", "text 501442")  # in a second: the same five bytes of blake2b


def test_texts_with_equal_checksums_have_separate_files() -> None:
    assert len({zlib.crc32(one.encode()) for one in FORGED}) == 1
    assert len({hashlib.blake2b(one.encode(), digest_size=5).digest() for one in FOUND}) == 1
    for pair in (FORGED, FOUND):
        assert len({spill_name("call-1", one) for one in pair}) == 2


def test_a_name_is_the_same_each_time_short_and_plain() -> None:
    name = spill_name("toolu_01/ABC:defgh", "tëxt \ud800")
    assert name == spill_name("toolu_01/ABC:defgh", "tëxt \ud800")
    assert len(name) <= 31
    assert name.replace("-", "").replace(".", "").isalnum()
