"""The list of places in a folder that tools run or load unasked. Pure.

Trust is asked only for the names in this list: a new tool that runs a repository's files by itself
needs a new line here.

The list is shorter than ``policy.protected_names``, and deliberately not derived from it. That list
protects whole folders such as ``.idea`` from the agent. This one identifies each file by its
content: a change makes the user decide on trust again, and editors write to such folders every day.
A test checks that every name here is protected too.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from indwell.settings.trusted_files import TrustedFile

Kind: TypeAlias = Literal["settings", "instructions", "servers", "programs"]

INSTRUCTIONS = frozenset(
    [
        *("agents.md", "agents.override.md", "claude.md", "claude.local.md", "gemini.md"),
        *("skill.md", "qwen.md", "crush.md", "warp.md"),
    ]
)
"""Names of instruction files for models, in any folder; case is ignored."""

FILES: tuple[tuple[Kind, str], ...] = (
    *(
        ("instructions", name)
        for name in (
            *("AGENTS.md", "AGENTS.override.md", "CLAUDE.md", "CLAUDE.local.md", "GEMINI.md"),
            *("SKILL.md", ".cursorrules", ".windsurfrules", ".github/copilot-instructions.md"),
            *("QWEN.md", "CRUSH.md", "WARP.md", ".goosehints", ".rules"),
        )
    ),
    *(
        ("servers", name)
        for name in (
            *(".mcp.json", "mcp.json", ".cursor/mcp.json", ".vscode/mcp.json", ".roo/mcp.json"),
            *(".kiro/settings/mcp.json", ".amazonq/mcp.json", ".junie/mcp/mcp.json"),
            *("opencode.json", "opencode.jsonc", ".crush.json", "crush.json"),
        )
    ),
    *(
        ("programs", name)
        for name in (
            *(".vscode/tasks.json", ".vscode/settings.json", ".vscode/launch.json"),
            *(".claude/settings.json", ".claude/settings.local.json", ".codex/config.toml"),
            *(".codex/hooks.json", ".cursor/hooks.json", ".gemini/settings.json"),
            *(".qwen/settings.json", ".zed/debug.json"),
            *(".pnpmfile.cjs", ".pnp.cjs", ".pnp.loader.mjs", ".bazelrc", ".mvn/jvm.config"),
            *(".mvn/maven.config", ".mvn/extensions.xml", "bunfig.toml", ".tool-versions"),
            *(".gdbinit", ".lldbinit", ".dir-locals-2.el", ".lvimrc", ".autoenv.zsh"),
            *("mise.local.toml", ".mise.local.toml", ".mise/config.toml", ".gitpod.yml"),
            *(".devcontainer/devcontainer.json", ".devcontainer.json", ".zed/tasks.json"),
            *(".zed/settings.json", ".helix/languages.toml", ".exrc", ".nvim.lua", ".nvimrc"),
            *(".vimrc", ".lazy.lua", ".dir-locals.el", ".envrc", "mise.toml", ".mise.toml"),
            *(".yarnrc", ".yarnrc.yml", ".npmrc", ".cargo/config.toml", ".cargo/config"),
            *(".pre-commit-config.yaml", "lefthook.yml", "lefthook.yaml", ".lefthook.yml"),
            *(".lefthook.yaml", "lefthook-local.yml", "lefthook-local.yaml"),
        )
    ),
)
FOLDERS: tuple[tuple[Kind, str], ...] = (
    ("settings", ".indwell"),
    ("instructions", ".cursor/rules"),
    ("instructions", ".agents/skills"),
    ("instructions", ".claude/skills"),
    ("instructions", ".claude/agents"),
    ("programs", ".husky"),
    ("programs", ".yarn/plugins"),
)


class Executable(msgspec.Struct, frozen=True):
    """A file that tools execute or load.

    Attributes:
        name: Relative to the folder; absolute in a repository around it.
        kind: What it does.
        seen: Identifies its content; an empty digest never matches again.
        lines: Its text, for a diff; empty if long, binary, or likely to hold a secret.
    """

    name: str
    kind: Kind
    seen: TrustedFile
    lines: tuple[str, ...] = ()
