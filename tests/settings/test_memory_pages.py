"""Memory pages on disk are private, read again after changes, and not overwritten if broken."""

from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor

import pytest

from indwell.context.memory import PAGE_LIMIT_B, Fact, new_page
from indwell.errors import SettingsError
from indwell.settings.memory_pages import MemoryPages
from support.platforms import posix_only

FACT = Fact("Tests run with `just test`.", day="2026-11-22", session="01kx")


@pytest.fixture
def pages(tmp_path) -> MemoryPages:
    return MemoryPages(tmp_path / "state" / "memory", "shop-12ab")


def test_no_memory_file_is_created_before_the_first_fact(pages) -> None:
    assert (pages.facts("workspace"), pages.facts("user"), pages.problem) == ((), (), "")
    assert not pages.path("user").parent.exists()


@pytest.mark.skipif(os.name != "posix", reason="Windows has no modes")
def test_a_memory_page_is_private_to_the_user(pages) -> None:
    pages.keep(FACT)
    path = pages.path("workspace")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    pages.keep(Fact("more"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_each_memory_scope_has_its_own_facts(pages) -> None:
    pages.keep(FACT)
    about_me = Fact("Prefers short answers.", "user")
    pages.keep(about_me)
    assert (pages.facts("workspace"), pages.facts("user")) == ((FACT,), (about_me,))
    again = MemoryPages(pages.path("user").parent, "shop-12ab")
    assert again.facts("workspace") == (FACT,)
    other = MemoryPages(pages.path("user").parent, "other-34cd")
    assert (other.facts("workspace"), other.facts("user")) == ((), (about_me,))


def test_a_fact_added_to_the_page_by_the_user_is_used_at_once(pages) -> None:
    pages.keep(FACT)
    path = pages.path("workspace")
    path.write_bytes(f"{path.read_text()}\nwords of mine\n- by hand\n".encode())
    assert pages.facts("workspace") == (FACT, Fact("by hand"))
    pages.forget("workspace", frozenset({FACT.text}))
    assert (
        path.read_text(encoding="utf-8") == f"{new_page('workspace')}\nwords of mine\n- by hand\n"
    )


def test_a_memory_page_is_created_once_for_editing(pages) -> None:
    path = pages.page("user")
    assert path.read_text(encoding="utf-8") == new_page("user")
    path.write_bytes(b"- mine\n")
    assert pages.page("user").read_text(encoding="utf-8") == "- mine\n"


def test_parallel_writes_of_facts_lose_no_fact(pages) -> None:
    texts = [f"fact number {number}" for number in range(8)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda text: pages.keep(Fact(text)), texts))
    assert sorted(one.text for one in pages.facts("workspace")) == sorted(texts)


@pytest.mark.parametrize(
    "harm",
    [
        "bytes",
        "folder",
        pytest.param("link", marks=posix_only("symlinks")),
        pytest.param("others", marks=posix_only("modes")),
        "huge",
    ],
)
def test_an_insecure_or_unreadable_memory_page_gives_no_facts_and_stays_unchanged(
    pages, tmp_path, harm
) -> None:
    path = pages.page("workspace")
    match harm:
        case "bytes":
            path.write_bytes(b"- \xff\n")
        case "folder":
            path.unlink()
            path.mkdir()
        case "link":
            elsewhere = tmp_path / "elsewhere.md"
            elsewhere.write_bytes(b"- forged\n")
            path.unlink()
            path.symlink_to(elsewhere)
        case "others":
            path.write_bytes(b"- forged\n")
            path.chmod(0o666)
        case "huge":
            path.write_bytes(b"- x\n" * 300_000)
    before = sorted(one.name for one in path.parent.iterdir())
    assert pages.facts("workspace") == ()
    assert "fix or delete" in pages.problem
    with pytest.raises(SettingsError, match="cannot be changed"):
        pages.keep(FACT)
    assert sorted(one.name for one in path.parent.iterdir()) == before
    assert pages.facts("workspace") == ()


@pytest.mark.skipif(os.name != "posix", reason="Windows has no modes")
@pytest.mark.parametrize("is_folder", [False, True])
def test_a_memory_page_is_used_once_its_write_permissions_are_repaired(pages, *, is_folder) -> None:
    pages.keep(FACT)
    path = pages.path("workspace")
    path = path.parent if is_folder else path
    mode = stat.S_IMODE(path.stat().st_mode)
    path.chmod(mode | 0o022)
    assert "chmod go-w" in pages.problem
    path.chmod(mode)
    assert (pages.problem, pages.facts("workspace")) == ("", (FACT,))


def test_a_fact_that_would_exceed_the_page_size_limit_is_not_kept(pages) -> None:
    path = pages.page("workspace")
    path.write_bytes(("- one\n" + "x" * (PAGE_LIMIT_B - 50)).encode())
    with pytest.raises(SettingsError, match=r"it may have 1 MB; remove facts"):
        pages.keep(FACT)
    assert (pages.problem, pages.facts("workspace")) == ("", (Fact("one"),))
