"""Windows' facts about files in POSIX's terms: decisions that every system can test."""

from __future__ import annotations

import asyncio
import errno
import stat
import struct
from pathlib import Path

import pytest

from indwell.files.system.access import (
    EVERYONE,
    READ,
    SYSTEM,
    WRITE,
    Ace,
    others_among,
    without_default,
    writers_of,
)
from indwell.files.system.held_files import HeldOpen, Holder, held_words, patiently
from indwell.files.system.windows_facts import (
    StatFacts,
    check_new_name,
    entries_in,
    one_name,
    stat_result,
)

EPOCH = 116_444_736_000_000_000
JUNCTION, SYMBOLIC_LINK, CLOUD = 0xA0000003, 0xA000000C, 0x9000001A
ME, OTHER, ACCOUNTS = "S-1-5-21-1-2-3-1001", "S-1-5-21-1-2-3-1002", "S-1-5-11"


def facts(attributes: int = 0x20, tag: int = 0, **more: int) -> StatFacts:
    given = {"number": 7, "volume": 3, "n_links": 1, "size_b": 5, "read": EPOCH, "written": EPOCH}
    return StatFacts(attributes, tag, **{**given, "changed": EPOCH, **more})


@pytest.mark.parametrize(
    ("attributes", "tag", "kind", "mode"),
    [
        (0x20, 0, stat.S_ISREG, 0o666),
        (0x21, 0, stat.S_ISREG, 0o444),
        (0x10, 0, stat.S_ISDIR, 0o777),
        (0x11, 0, stat.S_ISDIR, 0o777),  # the read-only attribute has no meaning for a folder
        (0x410, JUNCTION, stat.S_ISLNK, 0o777),
        (0x420, SYMBOLIC_LINK, stat.S_ISLNK, 0o777),
        (0x420, CLOUD, stat.S_ISREG, 0o666),  # the content is in a cloud, but the name is here
    ],
)
def test_a_junction_is_a_link_and_a_placeholder_is_a_file(attributes, tag, kind, mode) -> None:
    found = stat_result(facts(attributes, tag))
    assert (kind(found.st_mode), stat.S_IMODE(found.st_mode)) == (True, mode)


def test_the_time_of_change_differs_from_the_time_of_creation() -> None:
    found = stat_result(facts(written=EPOCH + 10, changed=EPOCH + 10_000_001))
    assert (found.st_mtime_ns, found.st_ctime_ns, found.st_ctime) == (1000, 1000000100, 1.0000001)
    assert (found.st_ino, found.st_dev, found.st_size) == (7, 3, 5)


def entry(name: str, following: int, attributes: int = 0x20, tag: int = 0) -> bytes:
    raw = name.encode("utf-16-le")
    times = (EPOCH, EPOCH, EPOCH + 20, EPOCH + 30)
    head = struct.pack("<II4qqqIII", following, 0, *times, 9, 4096, attributes, len(raw), tag)
    return head + struct.pack("<bx24sxxq", 0, b"", 42) + raw


def test_a_listing_has_numbers_and_times_of_change() -> None:
    first, second = entry(".", 112), entry("ä.txt", 120)
    data = first.ljust(112, b"\0") + second.ljust(120, b"\0") + entry("j", 0, 0x410, JUNCTION)
    found = list(entries_in(data, "C:\\work", 3))
    assert [(one.name, one.path, one.inode(), one.is_dir(), one.is_symlink()) for one in found] == [
        ("ä.txt", "C:\\work\\ä.txt", 42, False, False),
        ("j", "C:\\work\\j", 42, False, True),
    ]
    seen = found[0].stat()
    assert (seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_dev) == (9, 2000, 3000, 3)


@pytest.mark.parametrize(
    "name", ["a.txt:s", "a.txt.", "a ", "con", "NUL.txt", "com1", "LPT¹.x", "a*", "a\x01", "a/b"]
)
def test_an_ambiguous_windows_name_is_never_created(name) -> None:
    with pytest.raises(OSError, match="Windows allows no file") as told:
        check_new_name(name)
    assert told.value.errno == errno.EINVAL


@pytest.mark.parametrize("name", ["..", "", "a\\b", "a/b", "C:a", "a:s"])
def test_only_one_name_is_opened_below_a_folder(name) -> None:
    with pytest.raises(OSError, match="not a single name"):
        one_name(name)


def test_ordinary_names_are_accepted() -> None:
    for name in ("a.txt", ".git", "console.py", "comma1", "ü~1.txt", "a.b.c"):
        check_new_name(name)
        assert one_name(name) == name


FULL, LOOK = 0x1F01FF, 0x1200A9
PRIVATE = (Ace(0, 3, FULL, ME), Ace(0, 3, FULL, SYSTEM), Ace(0, 16, FULL, "S-1-5-32-544"))


@pytest.mark.parametrize(
    ("more", "readers", "writers"),
    [
        ((), (), ()),
        ((Ace(0, 16, LOOK, "S-1-5-32-545"),), ("S-1-5-32-545",), ()),
        ((Ace(0, 0, 0x2, OTHER),), (), (OTHER,)),
        ((Ace(0, 0, 0x80000000, OTHER),), (OTHER,), ()),
        ((Ace(0, 0, 0x10000000, OTHER),), (OTHER,), (OTHER,)),
        ((Ace(0, 0, 0x40000, OTHER),), (), (OTHER,)),  # this account may change the list
        # a refusal in the list
        ((Ace(1, 0, FULL, EVERYONE), Ace(0, 0, FULL, OTHER)), (OTHER,), (OTHER,)),
        ((Ace(0, 0x8 | 0x3, FULL, OTHER),), (), ()),  # applies only to later files
        # an entry that only allows waiting for the file
        ((Ace(0, 0, 0x100000, EVERYONE),), (), ()),
    ],
)
def test_every_other_reader_in_a_windows_access_list_is_named(more, readers, writers) -> None:
    assert others_among((*PRIVATE, *more), ME, READ) == readers
    assert others_among((*PRIVATE, *more), ME, WRITE) == writers


def test_a_windows_file_without_an_access_list_is_open_to_everyone() -> None:
    assert others_among(None, ME, READ) == (EVERYONE,)
    assert without_default(None) is None


def test_inherited_access_entries_of_a_drive_do_not_count_for_a_project() -> None:
    inherited, given = Ace(0, 0x10, FULL, ACCOUNTS), Ace(0, 0, FULL, ACCOUNTS)
    assert without_default([*PRIVATE, inherited]) == list(PRIVATE)
    assert without_default([*PRIVATE, given]) == [*PRIVATE, given]


def test_a_user_file_counts_as_foreign_if_anyone_else_may_write_it() -> None:
    inherited = [*PRIVATE, Ace(0, 0x10, FULL, ACCOUNTS)]
    assert writers_of(inherited, ME, is_project=True) == ()
    assert writers_of(inherited, ME, is_project=False) == (ACCOUNTS,)
    every = [*PRIVATE, Ace(0, 0x10, FULL, EVERYONE)]
    assert writers_of(every, ME, is_project=True) == (EVERYONE,)


def test_a_message_names_the_programs_that_hold_a_file() -> None:
    many = [Holder("WINWORD.EXE", 12), Holder("b", 2), Holder("c", 3), Holder("d", 4)]
    assert held_words(many[:1]) == (
        "is held open by WINWORD.EXE (process 12); close it there, or try again"
    )
    assert "c (process 3), 1 more;" in held_words(many)
    assert held_words([]).startswith("is held open by another program (")


def holding(times: int) -> tuple[list[int], object]:
    tries: list[int] = []

    def act() -> str:
        tries.append(1)
        if len(tries) <= times:
            raise PermissionError(errno.EACCES, "shared out")
        return "done"

    return tries, act


def test_a_write_waits_for_a_file_that_is_held_open_for_a_moment() -> None:
    tries, act = holding(2)
    assert patiently(act, lambda _: True, lambda: Path("x"), wait_s=60) == "done"
    assert len(tries) == 3


def test_a_write_does_not_wait_after_another_error() -> None:
    tries, act = holding(2)
    with pytest.raises(PermissionError, match="shared out"):
        patiently(act, lambda _: False, lambda: Path("x"), wait_s=60)
    assert len(tries) == 1


def test_the_wait_for_an_open_file_ends_with_a_plain_message() -> None:
    tries, act = holding(1000)
    with pytest.raises(HeldOpen, match="is held open by another program"):
        patiently(act, lambda _: True, lambda: Path("x"), wait_s=0)
    assert len(tries) == 1


async def test_the_thread_of_an_event_loop_never_waits() -> None:
    tries, act = holding(1000)
    with pytest.raises(HeldOpen):
        patiently(act, lambda _: True, lambda: Path("x"), wait_s=60)
    assert len(tries) == 1
    tries, act = holding(1)
    done = await asyncio.to_thread(patiently, act, lambda _: True, lambda: Path("x"), wait_s=60)
    assert (done, len(tries)) == ("done", 2)
