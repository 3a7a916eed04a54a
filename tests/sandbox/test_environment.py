from __future__ import annotations

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
        "LD_PRELOAD": "/tmp/evil.so",
        "PYTHONPATH": "/tmp/evil",
    }
    assert clean_environment(ours) == {
        "PATH": "/usr/bin:/bin",
        "HOME": "/home/u",
        "LC_ALL": "de_DE.UTF-8",
        **FIXED,
    }


def test_text_is_utf_8_where_the_user_did_not_say() -> None:
    assert clean_environment({"PATH": "/bin"})["LANG"] == "C.UTF-8"


def test_what_the_caller_adds_wins() -> None:
    assert clean_environment({"PATH": "/bin"}, {"TERM": "xterm"})["TERM"] == "xterm"
