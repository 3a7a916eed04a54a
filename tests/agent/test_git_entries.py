"""Protected files that commands add to git: reported, asked about, and never pushed unasked."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from msgspec.structs import replace

from indwell.bounds.git.entries import GitEntries
from indwell.policy.call_facts import Allow, Ask, CallFacts, Policy
from indwell.policy.decide import decide
from indwell.policy.rules import PatternRules
from support.bubblewrap import needs_bubblewrap
from support.editing import USAGE, Home, bash, results
from support.git_shell import run
from support.loopback_endpoint import LoopbackEndpoint, say
from support.platforms import posix_only
from support.raw_client import HATCHED, raw_client

pytestmark = posix_only("git")

EVIL = ".github/workflows/evil.yml"
PLANT = (
    "b=$(echo evil | git hash-object -w --stdin); "
    f"git update-index --add --cacheinfo 100644,$b,{EVIL}"
)
COMMITTED = f"{PLANT}; c=$(git commit-tree -m x $(git write-tree)); git read-tree HEAD"
REPLACED = "b=$(echo evil | git hash-object -w --stdin)"
ENTRY = "b=$(echo evil | git hash-object -w --stdin); git update-index --add"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """Create a repository with a commit, a protected file of the user, and a branch."""
    work = (tmp_path / "work").resolve()
    work.mkdir()
    run(work, "git init -q -b main; mkdir .github; echo old > .github/old.yml; echo a > a.txt")
    run(work, "git add -A; git commit -qm first; git branch other")
    return work


async def after(work: Path, text: str, *, fetches: bool = False) -> tuple[str, ...]:
    """Run a shell text; return the notices, which must equal the waiting entries."""
    entries = GitEntries(lambda: (work,))
    await entries.begin()
    run(work, text)
    found = await entries.look(fetches=fetches)
    assert entries.waiting == found
    assert await entries.look() == (), "each is told once"
    return tuple(one.words.partition(" in commit")[0] for one in found)


IN_COMMIT = f"'{EVIL}'"
WAYS = {
    "index": (PLANT, f"'{EVIL}' in the index"),
    "branch": (f"{COMMITTED}; git update-ref refs/heads/new $c", IN_COMMIT),
    "tag": (f"{COMMITTED}; git tag -am t t $c", IN_COMMIT),
    "packed ref": (
        f"{COMMITTED}; git update-ref refs/heads/new $c; git pack-refs --all; git repack -qad",
        IN_COMMIT,
    ),
    "pseudo ref": (f"{COMMITTED}; echo $c > .git/EVIL_HEAD", IN_COMMIT),
    "stash": (f"{PLANT}; git stash -q", IN_COMMIT),
    "stash below another": (
        f"{PLANT}; git stash -q; echo b > a.txt; git stash -q",
        IN_COMMIT,
    ),
    "notes": (f"{COMMITTED}; git update-ref refs/notes/x $c", IN_COMMIT),
    "another blob behind a name that stands": (
        f"{REPLACED}; git replace HEAD:.github/old.yml $b",
        "a replacement of git's object {old}",
    ),
    "another blob, in a packed ref": (
        f"{REPLACED}; git replace HEAD:.github/old.yml $b; git pack-refs --all --prune",
        "a replacement of git's object {old}",
    ),
    "an old name with other content": (
        f"{ENTRY} --cacheinfo 100644,$b,.github/old.yml",
        "'.github/old.yml' in the index",
    ),
    "a link": (f"{ENTRY} --cacheinfo 120000,$b,.vscode", "'.vscode' in the index"),
    "other case": (
        f"{ENTRY} --cacheinfo 100644,$b,.VSCode/tasks.json",
        "'.VSCode/tasks.json' in the index",
    ),
    "an unfinished merge": (
        f"{ENTRY} a.txt; printf '100644 %s 2\\t.vscode/x\\n' $b | git update-index --index-info",
        "'.vscode/x' in the index",
    ),
}


@pytest.mark.parametrize("way", WAYS)
async def test_a_protected_file_that_a_command_adds_to_git_is_reported(
    work: Path, way: str
) -> None:
    text, named = WAYS[way]
    old = run(work, "git rev-parse HEAD:.github/old.yml").strip()
    assert set(await after(work, text)) == {named.format(old=old[:10])}


async def test_a_git_replace_ref_is_reported_until_removed(work: Path) -> None:
    entries = GitEntries(lambda: (work,))
    await entries.begin()
    run(work, f"{REPLACED}; git replace HEAD:a.txt $b")
    (found,) = await entries.look()
    run(work, "echo b > b.txt; git add b.txt; git commit -qm b")
    await entries.look()
    assert entries.waiting == (found,), "another command changes nothing"
    run(work, "git replace -d $(git rev-parse HEAD:a.txt)")
    await entries.look()
    assert entries.waiting == ()


async def test_a_git_replacement_by_the_user_is_not_reported(work: Path) -> None:
    run(work, f"{REPLACED}; git replace HEAD:a.txt $b")
    assert await after(work, "echo b > b.txt; git add b.txt; git commit -qm b") == ()


HARMLESS = {
    "nothing": "true",
    "an ordinary commit": "echo b > a.txt; git add -A; git commit -qm second",
    "what the user's file holds": "git rm -q --cached .github/old.yml; git add .github/old.yml",
    "the same with other line ends": (
        "printf 'x\\r\\n' > .github/old.yml; git -c core.autocrlf=input add -A; git commit -qm x"
    ),
    "the user's new file": "echo new > .github/new.yml; git add -A; git commit -qm new",
    "an amended commit": "git commit -q --amend -m again",
    "a rebased commit": (
        "git switch -q other; echo x > b; git add b; git commit -qm b; git rebase -q main"
    ),
    "a merge of what was there": (
        "echo c > c; git add c; git commit -qm c; git merge -q --no-edit other"
    ),
    "gone": "git rm -q .github/old.yml; git commit -qm gone",
    "a new branch": "git switch -qc third",
    "a branch named like a replacement": "git branch replace/x; git branch refs/replace/x",
    "packing": "git gc -q; git pack-refs --all",
}


@pytest.mark.parametrize("what", HARMLESS)
async def test_a_command_that_adds_no_protected_file_to_git_is_not_reported(
    work: Path, what: str
) -> None:
    assert await after(work, HARMLESS[what]) == ()


async def test_fetched_commits_are_reported_only_if_no_host_was_allowed(work: Path) -> None:
    text = (
        f"{PLANT}; c=$(git commit-tree -m x $(git write-tree)); git read-tree HEAD;"
        " git update-ref refs/remotes/origin/main $c"
    )
    assert await after(work, text, fetches=True) == ()
    run(work, "git update-ref -d refs/remotes/origin/main")
    assert await after(work, text.replace("-m x", "-m y")) == (f"'{EVIL}'",)


async def test_a_removed_entry_no_longer_waits(work: Path) -> None:
    entries = GitEntries(lambda: (work,))
    await entries.begin()
    run(work, f"{PLANT}; git commit -qm x")
    assert len(await entries.look()) == 2  # the index and the commit have an entry each
    run(work, f"git rm -q --cached {EVIL}")
    await entries.look()
    (left,) = entries.waiting
    assert left.where.startswith("commit ")
    run(work, "git reset -q --soft HEAD~1")
    await entries.look()
    assert [one.where[:6] for one in entries.waiting] == ["commit"], "ORIG_HEAD leads to it"
    run(work, "rm .git/ORIG_HEAD")
    await entries.look()
    assert entries.waiting == ()


@pytest.mark.parametrize("damage", ["echo x > .git/index", "mkdir .git/reftable"])
async def test_an_unreadable_git_entry_also_waits_for_the_user(work: Path, damage: str) -> None:
    entries = GitEntries(lambda: (work,))
    await entries.begin()
    run(work, damage)
    (found,) = await entries.look()
    assert "could not be read" in found.words
    assert entries.waiting == (found,)
    run(work, "rm -rf .git/reftable .git/index; git read-tree HEAD")
    await entries.look()
    assert entries.waiting == ()


async def test_reading_git_data_runs_no_program_of_the_repository(work: Path) -> None:
    evil = work / "evil.sh"
    evil.write_bytes(f"#!/bin/sh\ntouch {shlex.quote(str(work))}/ran\n".encode())
    evil.chmod(0o755)
    for key in ("core.fsmonitor", "core.pager", "diff.external", "core.sshCommand"):
        run(work, f"git config {key} {shlex.quote(str(evil))}")
    for key, value in (("core.hooksPath", str(work)), ("diff.x.textconv", str(evil))):
        run(work, f"git config {key} {shlex.quote(value)}")
    run(work, "echo '* diff=x' > .git/info/attributes; rm -f ran")
    (work / "post-index-change").write_bytes(evil.read_text(encoding="utf-8").encode())
    text = PLANT.replace("git ", "git -c core.fsmonitor=false -c core.hooksPath=/dev/null ")
    assert await after(work, text) == (f"'{EVIL}' in the index",)
    assert not (work / "ran").exists()


@pytest.mark.parametrize(
    ("command", "policy", "sends"),
    [
        ("git push", Policy(mode="review", writes_confined=True), True),
        ("git fetch https://example.org/x", Policy(mode="auto", writes_confined=True), True),
        ("make deploy", Policy(mode="auto", rules=PatternRules(allow=("make *",))), True),
        ("make deploy", Policy(mode="auto", writes_confined=True), False),
        ("git status", Policy(mode="auto"), False),
    ],
)
def test_no_stored_permission_lets_a_command_send_unapproved_entries(
    command, policy, sends
) -> None:
    asked = CallFacts(tool="bash", effect="run", command=command, cwd="/w")
    policy = replace(policy, roots=("/w",))
    usual = decide(asked, policy)
    granted = replace(policy, granted=frozenset({usual.rule} if isinstance(usual, Ask) else ()))
    if command != "git push":  # entries in git never have a stored answer
        assert isinstance(decide(asked, granted), Allow)
    waiting = decide(asked, replace(granted, in_git=("'.vscode/x' in the index",)))
    if not sends:
        assert waiting == decide(asked, granted)
        return
    assert isinstance(waiting, Ask)
    assert waiting.rule == ""
    assert waiting.reason == (
        "it may send protected files that came into git without your approval: '.vscode/x' in "
        "the index"
    )


KEEP = "Keep these protected files in git?"
IN_SANDBOX = (
    "echo evil > e; git hash-object -w e; git update-index --add --cacheinfo 100644,"
    f"d3e0b73b5a4ea6ac5cb4a5ff2bd5bd7bbf3ff0c7,{EVIL}"
)


@needs_bubblewrap
@pytest.mark.parametrize("answer", ["once", "no"])
async def test_a_push_of_unapproved_entries_needs_a_question(tmp_path: Path, answer) -> None:
    home = Home(tmp_path)
    run(tmp_path, "git init -q --bare far")
    run(home.workspace, "git init -q -b main; git add -A; git commit -qm first")
    run(home.workspace, f"git remote add far {tmp_path}/far; git config user.name n")
    run(home.workspace, "git config user.email n@example.org")
    home.configure('[rules]\nallow = ["git push *"]\n')
    blob = run(home.workspace, "echo evil | git hash-object --stdin").strip()
    plant = IN_SANDBOX.replace("d3e0b73b5a4ea6ac5cb4a5ff2bd5bd7bbf3ff0c7", blob)
    script = [
        bash(f"{plant}; git commit -qm evil"), bash("git push far main"), say("ok", usage=USAGE),
    ]  # fmt: skip
    asked: list[tuple[str, str]] = []

    def reply(params: dict[str, str]) -> dict[str, str]:
        asked.append((params["title"], f"{params['reason']}\n{params['detail']}"))
        return {"answer": answer if params["title"] == KEEP else "no"}

    async with LoopbackEndpoint(script) as server:
        environment = home.environment(server.base_url)
        async with raw_client(home, command=HATCHED, environment=environment) as client:
            client.replies["indwell/permission"] = reply
            client.open_shop()
            ended = await client.prompt()
            assert ended["result"]["ending"] == "done", client.stderr
            assert await client.say_goodbye() == 0
        planted, pushed = results(server.seen[-1])
    first, *more = asked
    assert first[0] == KEEP
    assert f"'{EVIL}' in the index" in first[1]
    assert f"'{EVIL}' in commit " in first[1]
    assert f"protected files came into git: '{EVIL}' in the index" in planted
    there = run(tmp_path / "far", "git for-each-ref")
    if answer == "once":
        assert "the user allowed that" in planted
        assert [why.partition("\n")[0] for _, why in more] == ["it is to run outside the sandbox"]
    else:
        assert "the user did not allow that: take it out again" in planted
        ((title, why),) = more
        assert title.startswith("Run a command")
        assert "it may send protected files that came into git without your approval" in why
        assert EVIL in why
        assert "did not allow" in pushed
        assert there == ""


async def test_a_folder_that_git_does_not_accept_has_no_entries_until_git_accepts_it(
    work: Path,
) -> None:
    run(work, f"{PLANT}; git commit -qm x; mv .git/refs .git/away")
    entries = GitEntries(lambda: (work,))
    await entries.begin()
    assert await entries.look() == ()
    run(work, "mv .git/away .git/refs")
    assert EVIL in str(await entries.look())
