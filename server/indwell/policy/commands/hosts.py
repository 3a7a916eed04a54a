"""Hosts that stand in the words of a command, as the proxy of the sandbox wants them named."""

from __future__ import annotations

import re
from collections.abc import Sequence

from indwell.policy.commands.words import Word
from indwell.policy.widening import ANY_HOST

_HOSTS = {"gh": ("api.github.com", "github.com"), "glab": ("gitlab.com",)}
_PORTS = {"http": ":80", "https": ":443"}
_URL = re.compile(r"(https?)://(?:[^/@\s]*@)?([A-Za-z0-9.-]+(?::\d+)?)(?:[/?#].*)?")
_LOCAL = re.compile(r"(localhost:\d+)(?:[/?#].*)?")


def with_port(scheme: str, host: str) -> str:
    """``name``, or ``name:port`` if it is not the usual one of the scheme."""
    return host.lower().removesuffix(_PORTS[scheme])


def hosts_of(name: str, words: Sequence[Word]) -> tuple[str, ...]:
    """Where a program connects to, if that stands there; else anywhere."""
    if name in _HOSTS and not any(word.text.startswith("--hostname") for word in words):
        return _HOSTS[name]
    found = []
    for word in words:
        if not word.is_literal:
            return (ANY_HOST,)
        if at := _URL.fullmatch(word.text):
            found.append(with_port(at[1], at[2]))
        elif at := _LOCAL.fullmatch(word.text):
            found.append(at[1])
    risky = any(
        word.text.startswith(("-x", "--proxy", "-K", "--config", "--connect-to", "--resolve", "-i"))
        for word in words
    )
    is_loader = name in {"curl", "wget", "http", "https", "xh"}
    return tuple(dict.fromkeys(found)) if found and is_loader and not risky else (ANY_HOST,)
