"""Mentions, commands, completion, catching up, trust: the small parts of a chat."""

from __future__ import annotations

import time

import pytest

from indwell.agent.core.events import TextAdded
from indwell.errors import UserError
from indwell.lsp.chat import layout
from indwell.lsp.chat.completion import (
    COMMANDS,
    SHOWN,
    ChatCommand,
    NamedLines,
    NameIndex,
    command_of,
    completed,
    named_lines,
)
from indwell.lsp.chat.files import caught_up, chat_of, new_chat, new_text
from indwell.lsp.chat.outline import links
from indwell.service.mentions import Mention, is_chat, mention_of, mentions_in
from indwell.service.sessions.recorded_turns import RecordedTurn
from indwell.workspace.executable_files import executables
from support.platforms import posix_only
from support.recorded_turn import recorded_turn


def test_mentions_are_found_in_the_text() -> None:
    words = 'See @a/b.py#L1-20, @"my file.txt"#L3 and @x.py. Not a@b.c, `@y` or @ alone.'
    assert [one.mention for one in mentions_in(words)] == [
        Mention("a/b.py", 1, 20),
        Mention("my file.txt", 3, 3),
        Mention("x.py"),
    ]
    assert mention_of("a.py#L9-2") == Mention("a.py", 2, 9)
    assert mention_of("odd name#x") == Mention("odd name#x")


@pytest.mark.parametrize(("words", "command"), [
    ("/new", ChatCommand("new")), ("/stop", ChatCommand("stop")),
    ("/mode plan", ChatCommand("mode", "plan")),
    ("/effort high", ChatCommand("effort", effort="high")),
    ("/effort auto", ChatCommand("effort", effort="")),
    ("/effort", ChatCommand("effort")), ("/context", ChatCommand("context")),
    ("/compact", None), ("/continue", None), ("/tasks", None), ("/tasks run", None),
    ("/tasks add Write docs", None), ("/usr/bin is odd", None), ("/new thing", None),
    ("fix /new", None),
])  # fmt: skip
def test_only_whole_words_are_commands(words, command) -> None:
    assert command_of(words) == command


@pytest.mark.parametrize("words", ["/wrong", "/mode", "/mode fast", "/effort much"])
def test_an_unknown_command_is_refused_with_the_list_of_commands(words) -> None:
    with pytest.raises(UserError, match="(unknown command|use one of)"):
        command_of(words)


@pytest.mark.parametrize("words", ["/tidy", "/tidy up", "/write-tests"])
def test_text_that_begins_with_a_skill_name_is_a_prompt(words) -> None:
    assert command_of(words, {"tidy": 1, "write-tests": 2}) is None


def test_skills_are_completed_after_the_commands() -> None:
    skills = (("/review-a-change", "Review."), ("/new-part", "Begin."))

    def offered(line: str) -> list[str]:
        no_names = NameIndex(())
        found = completed(
            line,
            is_draft_start=True,
            names=lambda: no_names,
            lines_of=lambda _: (),
            skills=skills,
        )
        return [one.label for one in found]

    assert offered("/new") == ["/new", "/new-part"]
    assert offered("/review-a-ch") == ["/review-a-change"]


def test_completions_depend_on_the_text_before_the_cursor() -> None:
    names = NameIndex(("a/shop.py", "my shop.txt", "z.py"))

    def labels(line: str, *, start: bool = False) -> list[str]:
        lines = (NamedLines("total", 1, 2),)
        found = completed(line, is_draft_start=start, names=lambda: names, lines_of=lambda _: lines)
        return [one.text for one in found]

    assert labels("/", start=True) == [name for name, _ in COMMANDS]
    assert labels("/") == []
    assert labels("see @sho") == ["@a/shop.py", '@"my shop.txt"']
    assert labels("see @z.py#") == ["#L1-2"]
    assert labels("mail@z") == []
    assert labels("see @ch") == ["@changes"]
    assert labels("see @")[:2] == ["@changes", "@problems"]
    assert named_lines("class A:\n    def b(self):\n        x\n\ndef c():\n    y\n") == (
        NamedLines("A", 1, 3),
        NamedLines("b", 2, 3),
        NamedLines("c", 5, 6),
    )


def test_completing_one_of_many_names_is_fast() -> None:
    many = sorted(f"src/pkg{i % 300:03}/module_{i:05}_component.py" for i in range(50_000))
    names = sorted([*many, "mod.py", "docs/Model.md", "models/x.py", "zz/old_mod.py"])
    begun = time.thread_time()
    index = NameIndex(names)
    made_s = time.thread_time() - begun
    begun = time.thread_time()
    found = index.matching("mod")
    rare = index.matching("OLD_mod")
    none = index.matching("no such name")
    every = index.matching("")
    # The measured time includes one pass over all names, which creates the index.
    assert time.thread_time() - begun < made_s
    assert found[0] == "mod.py"
    assert len(found) == len(every) == SHOWN
    assert rare == ["zz/old_mod.py"]
    assert none == []
    assert NameIndex(["b/a.py", "a/b.py", "ab.py", "xa/y.py"]).matching("a") == [
        "ab.py", "b/a.py", "a/b.py", "xa/y.py",
    ]  # fmt: skip
    assert index.has("mod.py")
    assert not index.has("mod")


@pytest.mark.parametrize("line", ["def f{}(): pass\n", "    " * 3 + "def f{}(): pass\n\n"])
def test_finding_definitions_takes_linear_time(line) -> None:
    source = "".join(line.format(i) for i in range(20_000))
    begun = time.thread_time()
    found = named_lines(source)
    assert time.thread_time() - begun < 3
    assert found[1].last == found[1].first


def test_only_relative_paths_are_links() -> None:
    targets = (
        "../../shop.py#L3", "a%3Ab.py", "/etc/passwd", "%2Fetc/passwd", "file:///etc/passwd",
        "javascript:alert(1)", "command:x", "~/x", "a\\b", "a%00b",
    )  # fmt: skip
    text = "## Indwell · turn 1\n\n" + " ".join(f"[`x`](<{one}>)" for one in targets)
    assert [one.target for one in links(text)] == ["../../shop.py#L3", "a%3Ab.py"]


def turn(number: int, answer: str) -> RecordedTurn:
    return recorded_turn(number, f"ask {number}", TextAdded(number, answer))


def test_a_chat_gets_missed_turns_once_and_above_the_draft() -> None:
    text = new_text("s-1", [turn(1, "one")]) + "my draft"
    turns = [turn(1, "one"), turn(2, "## You\n\nevil")]
    now = caught_up(text, turns, "s-1")
    assert [(one.kind, one.turn) for one in layout.headings(now)] == [
        ("you", 0), ("turn", 1), ("you", 0), ("turn", 2), ("you", 0),
    ]  # fmt: skip
    draft = layout.draft_of(now)
    assert draft is not None
    assert now[draft.start : draft.stop] == "my draft"
    assert caught_up(now, turns, "s-1") == now


def test_a_turn_that_was_cut_off_is_completed_with_its_answer() -> None:
    text = "## You\n\nask 1\n\n## Indwell · turn 1\n\nThe ans\n\n## You\n\n"
    now = caught_up(text, [turn(1, "The answer is 42.")], "s-1")
    assert "> The end of this turn, from the session:\n\nThe answer is 42." in now
    assert caught_up(now, [turn(1, "The answer is 42.")], "s-1") == now


def test_a_chat_file_does_not_affect_trust_and_is_found_by_its_session(tmp_path) -> None:
    root = tmp_path.resolve()
    before = executables(root)
    path = new_chat(root, "2026-11-21", new_text("s-1"))
    assert path == root / ".indwell/chats/2026-11-21-1.chat.md"
    assert executables(root) == before
    assert new_chat(root, "2026-11-21", new_text()).name == "2026-11-21-2.chat.md"
    assert chat_of(root, "s-1") == path
    assert chat_of(root, "s-2") is None
    (root / ".indwell/chats/config.toml").write_bytes(b"x")
    (root / ".indwell/chats/deep").mkdir()
    (root / ".indwell/chats/deep/x.chat.md").write_bytes(b"x")
    assert len(executables(root)) == len(before) + 2


@posix_only("symlinks")
def test_files_of_editors_beside_a_chat_do_not_affect_trust_either(tmp_path) -> None:
    root = tmp_path.resolve()
    before = executables(root)
    folder = new_chat(root, "2026-11-21", new_text()).parent
    beside = (
        "#x.chat.md#",
        ".x.chat.md.swp",
        ".x.chat.md.swo",
        "x.chat.md~",
        ".x.chat.md.kate-swp",
    )
    for name in beside:
        (folder / name).write_bytes(b"x")
    (folder / ".#x.chat.md").symlink_to("user@host.1234:5678")
    assert executables(root) == before
    others = (".config.toml.swp", "config.toml~", "x.chat.md.swp", ".x.chat.md.sh", "#config.toml#")
    for number, name in enumerate(others, 1):
        (folder / name).write_bytes(b"x")
        assert len(executables(root)) == len(before) + number, name
    (folder / ".#y.chat.md").symlink_to(folder / "config.toml~")
    assert len(executables(root)) == len(before) + len(others) + 1


def test_a_chat_is_recognised_by_its_file_name() -> None:
    assert is_chat("file:///w/a.chat.md")
    assert is_chat("file:///w/A.CHAT.MD")
    assert not is_chat("file:///w/a.md")
    assert not is_chat("file:///w/a.chat.md/x.py")
