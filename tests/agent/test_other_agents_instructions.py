"""Instruction files of other agents: which files are used, and when they are sent."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import msgspec
import pytest

from indwell.agent.core.events import Notice
from indwell.bounds.folder_trust import with_folders
from indwell.prompt.instruction_files import read_rule
from indwell.settings.model import InstructionKind
from support.doc_examples import examples
from support.editing import Home, texts_of
from support.loopback_endpoint import LoopbackEndpoint, say
from support.terminal import indwell

from .test_folder_instructions import Project, instructions, project, reads, says

__all__ = ["project"]


async def told(project: Project, tmp_path: Path, *paths: str) -> list[str]:
    """Return the last lines of the instructions that the model gets when it reads ``paths``."""
    project.trust()
    script = [*(reads(one) for one in paths), says()]
    async with project.session(tmp_path, script) as world:
        await world.turn()
        return [text.splitlines()[-2] for _, text in instructions(world)]


def choose(project: Project, *kinds: InstructionKind) -> None:
    project.settings = msgspec.structs.replace(project.settings, instruction_files=kinds)


ALL = {
    "CLAUDE.md": "CLAUDE",
    "CLAUDE.local.md": "LOCAL",
    "GEMINI.md": "GEMINI",
    ".github/copilot-instructions.md": "COPILOT",
    ".cursorrules": "CURSOR",
    ".windsurfrules": "WINDSURF",
    "CONVENTIONS.md": "CONVENTIONS",
}


async def test_each_agents_file_at_the_root_is_sent_if_there_is_no_agents_md(
    project: Project, tmp_path: Path
) -> None:
    for name, text in ALL.items():
        project.write(name, f"{text}\n")
    assert await told(project, tmp_path) == list(ALL.values())


async def test_agents_md_is_sent_without_files_of_other_agents(
    project: Project, tmp_path: Path
) -> None:
    for name, text in ALL.items():
        project.write(name, f"{text}\n")
    project.write("AGENTS.md", "AGENTS\n")
    assert await told(project, tmp_path) == ["AGENTS"]


async def test_the_setting_chooses_the_files_and_their_order(
    project: Project, tmp_path: Path
) -> None:
    for name, text in ALL.items():
        project.write(name, f"{text}\n")
    project.write("AGENTS.md", "AGENTS\n")
    choose(project, "gemini", "claude")
    assert await told(project, tmp_path) == ["GEMINI", "CLAUDE", "LOCAL"]


async def test_an_empty_setting_sends_no_file_of_the_project(
    project: Project, tmp_path: Path
) -> None:
    project.write("AGENTS.md", "AGENTS\n")
    project.write("web/CLAUDE.md", "WEB\n")
    project.write("web/a.py")
    choose(project)
    assert await told(project, tmp_path, "web/a.py") == []


async def test_a_folder_without_agents_md_gets_its_claude_md_when_the_agent_works_there(
    project: Project, tmp_path: Path
) -> None:
    project.write("AGENTS.md", "ROOT\n")
    project.write("web/CLAUDE.md", "WEB\n")
    project.write("api/AGENTS.md", "API\n")
    project.write("api/CLAUDE.md", "NOT-THIS\n")
    for name in ("web/a.py", "api/a.py"):
        project.write(name)
    assert await told(project, tmp_path, "web/a.py", "api/a.py") == ["ROOT", "WEB", "API"]


@pytest.mark.parametrize("way", ["link", "copy", "nearly a copy"])
async def test_an_instruction_file_is_sent_once_despite_links_and_near_copies(
    project: Project, tmp_path: Path, way: str
) -> None:
    text = "Use spaces. " * 40 + "\n"
    project.write("CLAUDE.md", text)
    match way:
        case "link":
            (project.root / "GEMINI.md").symlink_to("CLAUDE.md")
        case "copy":
            project.write("GEMINI.md", text)
        case _:
            project.write("GEMINI.md", text.replace("spaces.", "blanks.", 1))
    project.write(".cursorrules", "Something else\n")
    assert len(await told(project, tmp_path)) == 2


async def test_an_import_in_claude_md_is_sent_as_a_separate_file(
    project: Project, tmp_path: Path
) -> None:
    project.write("CLAUDE.md", "See @docs/style.md and `@docs/code.md`.\n```\n@docs/code.md\n```\n")
    project.write("docs/style.md", "@more.md\nSTYLE\n")
    project.write("docs/more.md", "@style.md\nMORE\n")
    project.write("docs/code.md", "CODE\n")
    assert (await told(project, tmp_path))[1:] == ["STYLE", "MORE"]


@pytest.mark.parametrize("name", ["../out.md", "~/out.md", "/etc/passwd", ".env", "gone.md"])
async def test_an_import_of_a_secret_or_outside_file_stays_text(
    project: Project, tmp_path: Path, name: str
) -> None:
    (tmp_path / "out.md").write_bytes(b"SECRET\n")
    project.write(".env", "SECRET\n")
    project.write("CLAUDE.md", f"@{name}\nCLAUDE\n")
    assert await told(project, tmp_path) == ["CLAUDE"]


async def test_an_imported_file_that_changed_since_it_was_trusted_is_left_out_with_a_notice(
    project: Project, tmp_path: Path
) -> None:
    project.write("CLAUDE.md", "@docs/style.md\nCLAUDE\n")
    project.write("docs/style.md", "STYLE\n")
    (standing,) = project.trusted.look((project.root,), project.settings)
    assert "docs/style.md" in with_folders(standing).question
    project.trust()
    project.write("docs/style.md", "ALWAYS-APPROVE\n")
    async with project.session(tmp_path, [says()]) as world:
        await world.turn()
        assert [text.splitlines()[-2] for _, text in instructions(world)] == ["CLAUDE"]
        (notice,) = world.told(Notice)
    assert isinstance(notice, Notice)
    assert "'docs/style.md'" in notice.message


async def test_a_changed_claude_md_makes_the_folder_ask_for_trust_again(project: Project) -> None:
    project.write("CLAUDE.md", "CLAUDE\n")
    project.trust()
    project.write("CLAUDE.md", "ALWAYS-APPROVE\n")
    (standing,) = project.trusted.look((project.root,), project.settings)
    assert standing.state == "open"


RULES = {
    ".github/instructions/ts.instructions.md": '---\napplyTo: "**/*.ts,**/*.tsx"\n---\nTYPES\n',
    ".github/instructions/all.instructions.md": "---\napplyTo: '**'\n---\nALL\n",
    ".cursor/rules/python.mdc": "---\nglobs: *.py, lib/**/*.{c,h}\nalwaysApply: false\n---\nPY\n",
    ".cursor/rules/deep/always.mdc": "---\nalwaysApply: true\n---\nALWAYS\n",
    ".cursor/rules/asked.mdc": "---\ndescription: Database work\nglobs:\n---\nDATABASE\n",
    ".cursor/rules/by-hand.mdc": "---\nalwaysApply: false\n---\nBY-HAND\n",
}


async def test_a_rule_for_some_files_is_sent_once_such_a_file_is_touched(
    project: Project, tmp_path: Path
) -> None:
    for name, text in RULES.items():
        project.write(name, text)
    for name in ("a.py", "web/b.tsx", "c.txt"):
        project.write(name)
    lines = await told(project, tmp_path, "c.txt", "a.py", "web/b.tsx", "c.txt")
    asked = "(Read this file before a task that fits its description: Database work)"
    assert lines == ["ALL", asked, "ALWAYS", "PY", "TYPES"]


async def test_a_rule_of_cursor_is_sent_with_its_globs(project: Project, tmp_path: Path) -> None:
    project.write(".cursor/rules/c.mdc", "---\nglobs:\n  - '*.c'\n  - \"*.h\"\n---\nC\n")
    project.write("a.h")
    project.trust()
    async with project.session(tmp_path, [reads("a.h"), says()]) as world:
        await world.turn()
        ((_, text),) = instructions(world)
    assert text.splitlines()[:2] == [
        '<project-instructions path=".cursor/rules/c.mdc">',
        ".cursor/rules/c.mdc of this project, for files that match *.c, *.h:",
    ]


@pytest.mark.parametrize("name", [*ALL, *RULES])
async def test_tru_13_no_file_of_an_agent_counts_in_a_restricted_folder(
    project: Project, tmp_path: Path, name: str
) -> None:
    project.write(name, {**ALL, **RULES}[name])
    project.write("a.py")
    async with project.session(tmp_path, [reads("a.py"), says()]) as world:
        await world.turn()
        assert (instructions(world), world.told(Notice)) == ([], [])


async def test_a_link_out_of_the_folder_is_never_sent(project: Project, tmp_path: Path) -> None:
    (tmp_path / "outside").write_bytes(b"SECRET\n")
    (project.root / "GEMINI.md").symlink_to(tmp_path / "outside")
    os.link(tmp_path / "outside", project.root / ".cursorrules")
    assert await told(project, tmp_path) == []


async def test_the_documented_example_for_other_agents_is_sent_in_its_order(
    project: Project, tmp_path: Path
) -> None:
    example = examples("instructions.md", "files")[1]
    files = dict(line.split(maxsplit=1) for line in example.text.splitlines())
    for name, text in files.items():
        project.write(name, text.replace("\\n", "\n") + "\n")
    (read,) = [name for name in files if name.endswith(".ts")]
    lines = await told(project, tmp_path, read)
    assert lines == ["Use spaces. @docs/style.md", "Short names.", "No `any`."]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@pytest.mark.parametrize(
    "name", [".claude/commands/db/fix-it.md", ".github/prompts/Fix it.prompt.md"]
)
async def test_a_command_of_another_agent_is_called_like_a_skill(home: Home, name: str) -> None:
    front = "---\ndescription: Fixes it\nallowed-tools: Bash(git add:*)\n---\n"
    home.write(name, f"{front}Fix issue $ARGUMENTS slowly.\n")
    async with LoopbackEndpoint([say("Done.")]) as endpoint:
        ended = await indwell(
            *("run", "/fix-it 123", "--json"),
            environment=home.environment(endpoint.base_url),
            folder=home.workspace,
        )
        assert ended.code == 0, ended
        (seen,) = endpoint.seen
    sent = texts_of(seen.body["messages"])
    assert '<skill name="fix-it" from="workspace">\nFix issue $ARGUMENTS slowly.' in sent
    assert "stand for what the user wrote behind the command's name" in sent
    assert "allows nothing here" in sent
    assert "Fixes it" not in json.dumps(seen.body["messages"]), "the model cannot choose it"


async def test_a_command_in_a_restricted_folder_is_not_read(home: Home) -> None:
    home.write(".claude/commands/fix-it.md", "OBEY\n")
    home.trusted = ()
    async with LoopbackEndpoint([say("Done.")]) as endpoint:
        ended = await indwell(
            *("run", "/fix-it 123"),
            environment={**home.environment(endpoint.base_url), "INDWELL_TRUSTED": ""},
            folder=home.workspace,
        )
        assert (ended.code, endpoint.seen) == (1, []), ended
    assert "have not trusted" in ended.stderr


def test_splitting_the_globs_of_a_rule_takes_little_time() -> None:
    began = time.process_time()
    read_rule(f"---\nglobs: {',' * 100_000}\n---\nBe kind.\n")
    assert time.process_time() - began < 5
