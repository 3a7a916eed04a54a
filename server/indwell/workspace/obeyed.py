"""The places in a folder that tools run, load or obey unasked. Pure.

A name that is missing here is not asked about; so a new tool that runs a file of a repository on
its own is a new line.

The list is shorter than ``policy.protected_names``, and not derived from that, on purpose. There a
whole folder such as ``.idea`` is protected from the agent. Here each file counts by its content:
when it changes, the user is asked for trust again, and editors write into those folders each day. A
test keeps every name of this list protected, too.
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
"""Names of files that models are given as instructions, in any folder; without case."""

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
    """One file that is executed, loaded or obeyed.

    Attributes:
        name: Relative to the folder; absolute for a repository around it.
        kind: By what it does.
        seen: Its content, to be known again; an empty digest is never known again.
        lines: Its text, for a diff; empty if it is long, no text, or likely to hold a secret.
    """

    name: str
    kind: Kind
    seen: TrustedFile
    lines: tuple[str, ...] = ()
