"""The lines of a ``.git/config`` that can make git run a program."""

from __future__ import annotations

import pytest

from indwell.workspace.git.git_config import Executing, executing

CLONE = """\
[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = false
\tlogallrefupdates = true
[remote "origin"]
\turl = https://github.com/a/b.git
\tfetch = +refs/heads/*:refs/remotes/origin/*
[branch "main"]
\tremote = origin
\tmerge = refs/heads/main
\tvscode-merge-base = origin/main
; a comment
[user]
\tname = A. User
\temail = a@example.org
[submodule "x"]
\tactive = true
"""


def test_the_git_config_of_a_plain_clone_executes_no_program() -> None:
    assert executing(CLONE) == Executing()
    assert executing(CLONE.replace("\n", "\r\n")) == Executing()


def test_branch_names_and_other_remotes_do_not_count_as_executing_config() -> None:
    more = '[branch "x [core] y"]\n\tremote = other\n[remote "o"]\n\turl = git@host:a/b\n'
    assert executing(CLONE + more) == Executing()


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[core]\n\tfsmonitor = cmd", "core.fsmonitor = cmd"),
        ("[CORE]\n\tFsMonitor=cmd", "core.fsmonitor = cmd"),
        ("[core]\n\tsshCommand = x", "core.sshcommand = x"),
        ("[core]\n\tpager = x", "core.pager = x"),
        ("[core] fsmonitor = cmd", "[core] fsmonitor = cmd"),
        ('[filter "x"]\n\tclean = cmd', "filter.clean = cmd"),
        ('[filter "lfs"]\n\tsmudge = cmd', "filter.smudge = cmd"),
        ("[alias]\n\tst = !cmd", "alias.st = !cmd"),
        ("[credential]\n\thelper = !cmd", "credential.helper = !cmd"),
        ("[diff]\n\texternal = cmd", "diff.external = cmd"),
        ('[diff "x"]\n\ttextconv = cmd', "diff.textconv = cmd"),
        ('[merge "x"]\n\tdriver = cmd', "merge.driver = cmd"),
        ("[gpg]\n\tprogram = cmd", "gpg.program = cmd"),
        ("[sequence]\n\teditor = cmd", "sequence.editor = cmd"),
        ('[remote "o"]\n\turl = ext::sh -c cmd', "remote.url = ext::sh -c cmd"),
        ('[remote "o"]\n\turl = ssh://-oProxyCommand=x/y', "remote.url = ssh://-oProxyCommand=x/y"),
        ('[remote "o"]\n\tuploadpack = cmd', "remote.uploadpack = cmd"),
        ('[remote "o"]\n\tproxy = x', "remote.proxy = x"),
        ('[submodule "o"]\n\tupdate = !cmd', "submodule.update = !cmd"),
        ('[url "x"]\n\tinsteadOf = y', "url.insteadof = y"),
        ("[init]\n\ttemplateDir = x", "init.templatedir = x"),
        ("[core", "[core"),
        ("[branch.x]\n\tremote = y", "branch.x.remote = y"),
    ],
)
def test_a_line_of_git_config_that_runs_a_program_or_is_unknown_counts(text, line) -> None:
    assert executing(CLONE + text).lines == (line,)


def test_a_continued_line_in_a_git_config_hides_no_executing_setting() -> None:
    text = "[user]\n\tname = x \\\n\t y\n# \\\n[core]\n\tname = z\n\tfsmonitor = cmd\n"
    lines = executing(text).lines
    assert lines[:3] == ("name = x \\", "y", "# \\")
    assert "[core]" in lines
    assert any("fsmonitor" in line for line in lines)


def test_hooks_paths_and_included_files_of_a_git_config_are_found() -> None:
    text = "[core]\n\thooksPath = .githooks\n[include]\n\tpath = ../evil\n"
    text += '[includeIf "gitdir:x"]\n\tpath = "other"\n'
    found = executing(text)
    assert (found.hooks, found.includes) == ((".githooks",), ("../evil", "other"))
    assert len(found.lines) == 3


@pytest.mark.parametrize(
    "text",
    [
        "[include]\n\tpath = ../one ; a comment",
        "[include]\n\tpath = ../one# a comment",
        '[include]\n\tpath = "../one"',
        '[include]\n\tpath = "../o"ne',
        "[include]\n\tpath = ../o\\\nne",
        "[include]\n\tpa\\\nth = ../one",
        "[include] path = ../one",
        '[branch "x"] [include] path = ../one',
        "[include] # here\n\tpath = ../one",
        "\ufeff[include]\n\tpath = ../one",
        '[includeIf "onbranch:x"]\n\tpath = ../one',
    ],
)
def test_an_included_git_config_path_is_resolved_like_git_does(text) -> None:
    assert "../one" in executing(text).includes


def test_a_git_config_section_header_with_a_comment_is_recognised() -> None:
    text = '[branch "x"]\n[alias] # mine\n\tdescription = !cmd\n[remote \n\turl = x\n'
    lines = executing(text).lines
    assert lines == ("[alias] # mine", "alias.description = !cmd", "[remote", "[.url = x")


def test_lines_that_tools_write_into_a_configuration_need_no_question() -> None:
    text = """
[branch "x"]
\tgithub-pr-owner-number = a#b#1
\tgk-merge-base = origin/main
\tgh-merge-base = main
[core]
\tquotepath = false
[lfs "https://host/x"]
\taccess = basic
[remote "o"]
\tmirror = true
[advice]
\tdetachedHead = false
[gui]
\twmstate = normal
[diff]
\talgorithm = histogram
[submodule]
\trecurse = true
[fetch]
\twriteCommitGraph = true
"""
    assert executing(text) == Executing()
