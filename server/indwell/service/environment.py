"""Takes the variables of the process, and removes secrets from its environment."""

from __future__ import annotations

import os
from collections.abc import Mapping

from indwell.sandbox.own_process import keep_private, take_out
from indwell.secrets.names import is_proxy, is_secret


def own_environment() -> Mapping[str, str]:
    """Return all variables, for the settings, and remove those with secrets from ``os.environ``.

    Child processes get only a few of the others (``sandbox.environment``). The HTTP client still
    finds the addresses of proxies, and child processes do not.
    """
    keep_private()
    taken = take_out(is_secret, is_proxy)
    return {**os.environ, **taken}
