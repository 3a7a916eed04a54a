from __future__ import annotations

import pytest

from indwell.sandbox.environment import FIXED, clean_environment


def test_keys_tokens_sockets_and_loaders_stay_behind() -> None:
    ours = {
        "PATH": "/usr/bin:.:bin:/bin",
        "HOME": "/home/u",
        "LC_ALL": "de_DE.UTF-8",
        "OPENAI_API_KEY": "sk-canary",
        "GITHUB_TOKEN": "canary",
        "AWS_SECRET_ACCESS_KEY": "canary",
        "HTTPS_PROXY": "http://user:canary@proxy",
        "SSH_AUTH_SOCK": "/run/agent",
        "BASH_ENV": "/tmp/evil",
        "ENV": "/tmp/evil",
        "SHELLOPTS": "xtrace",
        "BASH_FUNC_ls%%": "() { evil; }",
        "CI": "true",
        "LD_PRELOAD": "/tmp/evil.so",
        "PYTHONPATH": "/tmp/evil",
    }
    assert clean_environment(ours) == {
        "PATH": "/usr/bin:/bin",
        "HOME": "/home/u",
        **FIXED,
    }


@pytest.mark.parametrize(
    "ours", [{}, {"LANG": "de_DE", "LC_ALL": "C", "TERM": "xterm", "COLUMNS": "7", "CI": "1"}]
)
def test_prc_14_terminal_width_language_and_ci_are_the_same_for_everybody(
    ours: dict[str, str],
) -> None:
    got = clean_environment({"PATH": "/bin", **ours})
    wanted = ("TERM", "COLUMNS", "LANG", "LC_ALL", "CI", "PAGER", "GIT_TERMINAL_PROMPT")
    assert [got.get(name) for name in wanted] == [
        *("dumb", "120", FIXED["LANG"], None, None, "cat", "0")
    ]
    assert FIXED["LANG"].endswith("UTF-8")


def test_what_the_caller_adds_wins() -> None:
    assert clean_environment({"PATH": "/bin"}, {"TERM": "xterm"})["TERM"] == "xterm"
