"""The list of names that tools load automatically, and the rule for names outside the list."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from indwell.policy import protected_names
from indwell.policy.call_facts import Allow, Ask, CallFacts, Policy
from indwell.policy.decide import decide
from indwell.policy.guarded_paths import is_guarded, is_minor, is_posing
from indwell.policy.paths import (
    HARMLESS,
    is_at_root_unknown,
    is_installed,
    is_program,
    is_protected,
    is_unknown,
    loader_of,
)

WRITABLE_BEFORE = """
lefthook.json lefthook.toml .lefthook-local.json .overcommit.yml prek.toml mise/config.toml
.mise.local.toml .mise.dev.toml mise.dev.toml mise/config.local.toml .vim/coc-settings.json
.nvim/init.lua .luarc.json .luarc.jsonc .neoconf.json .bsp/evil.json .factorypath .Rprofile .RData
.Renviron .pdbrc .pdbrc.py .ghci .iex.exs .erlang .irbrc .pryrc .ocamlinit .octaverc .pnpmfile.mjs
pnpm-workspace.yaml tools/bazel .bazelversion .openhands/setup.sh AGENT.md .idx/dev.nix .replit
replit.nix .cirrus.yml .cirrus.star .appveyor.yml appveyor.yml .hgrc .venv/bin/python
.venv/Scripts/python.exe node_modules/.bin/eslint node_modules/.hooks/postinstall pyvenv.cfg
.project .settings/org.eclipse.jdt.core.prefs .externalToolBuilders/x.launch Directory.Build.props
Directory.Build.targets omnisharp.json global.json NuGet.config .sourcekit-lsp/config.json
hie.yaml .merlin .clangd .clang-tidy .ycm_extra_conf.py rust-project.json rust-analyzer.toml
rust-toolchain rust-toolchain.toml .python-version .fvm/flutter_sdk .rvmrc .rspec .eslintrc.js
eslint.config.mjs .prettierrc.cjs prettier.config.js .stylelintrc.js .pylintrc .flake8 mypy.ini
.formatter.exs .lintstagedrc.js lint-staged.config.mjs .commitlintrc.cjs .simple-git-hooks.cjs
.direnv/flake-profile flake.nix shell.nix devenv.nix devbox.json .devbox/gen/hooks.sh
.shadowenv.d/a.lisp .autoenv .ipython/profile_default/startup/a.py ipython_config.py
sitecustomize.py .user.ini .htaccess deno.json nx.json pip.conf uv.toml .condarc .bundle/config
gradle/wrapper/gradle-wrapper.properties gradlew mvnw .gradle/config.properties .svn/wc.db
_darcs/prefs/defaults .reviewboardrc .ackrc .semaphore/semaphore.yml .build.yml .tekton/pr.yaml
.zuul.yaml .taskcluster.yml cloudbuild.yaml buildspec.yml renovate.json .renovaterc netlify.toml
vercel.json CODEOWNERS .azure-pipelines/a.yml Jenkinsfile.deploy .gitlab-ci/a.yml .drone.star
.gitpod.Dockerfile .codesandbox/tasks.json devfile.yaml .cline/mcp.json .kilocode/mcp.json
.roomodes .amp/settings.json .goose/config.yaml .warp/a.yaml .ruler/ruler.toml .serena/project.yml
.codebuddy/mcp.json .rovodev/config.yml .coderabbit.yaml conductor.json copilot-instructions.md
a.instructions.md a.prompt.md rules.mdc .kateproject .nova/tasks/a.json .tm_properties
.sublime-x/../x.sublime-workspace app.csproj.user .swiftpm/configuration/mirrors.json ansible.cfg
.yarn/plugins/a.cjs .pnp.data/../.pnp.cjs
"""
"""What a call could write without a question in the version before (issue 18)."""

ORDINARY = """
src/app.py README.md Makefile pyproject.toml setup.py Cargo.toml build.gradle conftest.py go.mod
.gitignore .editorconfig .dockerignore .nvmrc .pytest_cache/v/cache .coverage .coverage.host.123.X
.mypy_cache/3.13/a.json .ruff_cache/0.1/x .hypothesis/a .tox/py313/bin/python
.nox/tests/bin/python .next/server/a.js .nuxt/a .turbo/a .parcel-cache/a .gradle/8.5/a
.svelte-kit/a .DS_Store .a.py.swp .venv/lib/python3.13/site-packages/a.py node_modules/a/index.js
.stack-work/a .dart_tool/a .build/a src/.hidden docs/.vuepress/cache/a .eslintcache .tsbuildinfo
.terraform/a .ipynb_checkpoints/a .changeset/brave-cat.md .yarn/cache/a.zip .nx/cache/a
requirements.txt src/pants.py data/watch.json
"""


def asked(path: str, **more: tuple[str, ...]) -> Ask | Allow:
    decision = decide(
        CallFacts(
            tool="write_file", effect="edit", paths=(path,), resolved=(f"/w/{path}",), **more
        ),
        Policy(mode="auto", roots=("/w",)),
    )
    assert isinstance(decision, Ask | Allow)
    return decision


@pytest.mark.parametrize("path", WRITABLE_BEFORE.split())
def test_a_file_that_tools_load_by_name_needs_a_question(path: str) -> None:
    decision = asked(path)
    assert isinstance(decision, Ask)
    assert (decision.by, decision.rule) == ("protected", "")


@pytest.mark.parametrize("path", ORDINARY.split())
def test_edits_of_sources_and_build_caches_need_no_permission(path: str) -> None:
    assert isinstance(asked(path), Allow)


def test_an_unknown_dot_name_needs_permission_only_at_the_root() -> None:
    assert isinstance(asked(".next-years-agent"), Ask)
    assert isinstance(asked(".next-years-agent/hooks/start.sh"), Ask)
    assert isinstance(asked("src/.next-years-agent"), Allow)
    at_nested = asked("src/.next-years-agent", unknown=(".next-years-agent",))
    assert isinstance(at_nested, Ask)
    assert "Indwell does not know which tool loads it" in at_nested.reason
    assert "add the name to `harmless_names` of your own settings" in at_nested.reason


HARMLESS_HERE = (".next-*", ".acme", ".vscode", ".envrc")


@pytest.mark.parametrize(
    ("path", "asks"),
    [
        *((".next-years-agent/a", False), (".ACME", False), (".acmes", True), (".other", True)),
        *((".vscode/tasks.json", True), (".envrc", True), (".acme/AGENTS.md", True)),
    ],
)
def test_a_name_declared_harmless_needs_no_question(path, asks) -> None:
    policy = Policy(mode="auto", roots=("/w",), harmless=HARMLESS_HERE, writes_confined=True)
    edit = CallFacts(tool="write_file", effect="edit", paths=(path,), resolved=(f"/w/{path}",))
    assert isinstance(decide(edit, policy), Ask) is asks
    command = CallFacts(tool="bash", effect="run", command=f"touch {path}", cwd="/w")
    assert isinstance(decide(command, policy), Ask) is asks
    assert is_guarded(path, HARMLESS_HERE) is asks
    nested = replace(edit, paths=(f"sub/{path}",), unknown=(path.partition("/")[0],))
    assert isinstance(decide(nested, policy), Ask) is asks


def test_a_command_that_names_an_unknown_name_of_a_nested_repository_needs_a_question() -> None:
    policy = Policy(mode="auto", roots=("/w",), writes_confined=True)
    nested = replace(policy, repository_roots=("/w/sub",))
    for command, asks in (
        ("touch sub/.nobody-knows", True),
        ("touch sub/.nobody-knows/x", True),
        ("touch sub/src/.nobody-knows", False),
        ("touch sub/.gitignore", False),
    ):
        call = CallFacts(tool="bash", effect="run", command=command, cwd="/w")
        assert isinstance(decide(call, policy), Allow)
        assert isinstance(decide(call, nested), Ask) is asks, command
    inside = CallFacts(tool="bash", effect="run", command="touch .nobody-knows", cwd="/w/sub")
    assert isinstance(decide(inside, nested), Ask)
    assert isinstance(decide(inside, replace(nested, harmless=(".nobody-*",))), Allow)


def test_the_question_names_the_program_that_loads_the_file() -> None:
    decision = asked(".luarc.json")
    assert isinstance(decision, Ask)
    assert decision.reason == (
        "'.luarc.json' configures tools that run on this machine (loaded by: lua-language-server)"
    )


@pytest.mark.parametrize("one", ["..", ".", "", "a", "../a", "/.a", "~/.a", "a/.b"])
def test_ordinary_root_names_do_not_count_as_unknown_dot_names(one: str) -> None:
    assert not is_at_root_unknown(one)


@given(st.text(st.characters(codec="utf-8", exclude_characters="/\\"), min_size=1, max_size=12))
def test_each_dot_name_at_the_root_is_guarded_or_listed_as_harmless(name: str) -> None:
    path = f".{name}"
    if is_unknown(path):
        assert is_guarded(path)
        assert is_guarded(f"{path}/a/b")
    else:
        folded = path.casefold().rstrip(". ")
        assert not folded or HARMLESS.have((folded,)) or not path.isascii()


def entries() -> list[tuple[str, Sequence[str], str]]:
    tables = (protected_names.PROTECTED, protected_names.INSTALLED, protected_names.STARTERS)
    every = chain.from_iterable(table.items() for table in tables)
    return [(who, names, one) for who, names in every for one in names]


def test_each_entry_has_a_loader_and_is_unique_and_lower_case() -> None:
    names = [one for _, _, one in entries()]
    assert [one for one in names if names.count(one) > 1] == []
    assert [one for one in names if one != one.casefold()] == []
    assert [one for who, _, one in entries() if not loader_of(one.replace("*", "x"))] == []
    assert len(names) > 600


def test_no_harmless_name_is_protected() -> None:
    harmless = [one for names in protected_names.HARMLESS.values() for one in names]
    assert [one for one in harmless if is_protected(one.replace("*", "x"))] == []
    assert [one for one in harmless if not one.startswith(".")] == []
    assert [one for one in harmless if is_unknown(one.replace("*", "x"))] == []


def test_files_of_package_managers_are_distinguished_from_other_files() -> None:
    assert is_installed(".venv/bin/python")
    assert is_installed("web/node_modules/.bin")
    assert not is_installed("gradlew")
    assert is_program("gradlew")
    assert not is_program(".envrc")
    assert is_minor("packages/a/node_modules/.bin")
    assert not is_minor("node_modules/.bin")
    assert is_posing("web/.venv")


def test_protected_folders_that_tools_obey_at_once_are_marked() -> None:
    assert set(protected_names.AT_ONCE) == {
        *(".vscode", ".indwell", ".idea", ".cursor", ".zed", ".claude"),
    }
    listed = set(chain.from_iterable(protected_names.PROTECTED.values()))
    assert not any("!" in one for one in listed)
    assert {f"{one}/" for one in protected_names.AT_ONCE} <= listed
