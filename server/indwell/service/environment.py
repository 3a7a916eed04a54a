"""The environment that the process was started with; its secrets are taken out of it."""

from __future__ import annotations

import os
from collections.abc import Mapping

from indwell.sandbox.own_process import keep_private, take_out
from indwell.secrets.names import is_proxy, is_secret


def own_environment() -> Mapping[str, str]:
    """All variables, for the settings; those that hold secrets are nowhere else after this.

    Children get a few of the others alone (``sandbox.environment``). Addresses of proxies stay
    where the HTTP client looks for them, but not where other programs can.
    """
    keep_private()
    taken = take_out(is_secret, is_proxy)
    return {**os.environ, **taken}
