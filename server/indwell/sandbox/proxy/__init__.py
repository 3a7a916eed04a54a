"""A proxy in the server through which a confined command reaches only the named hosts (SBX-19)."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from indwell.sandbox.proxy.handover import Way

# Importing h11 takes 10 ms, which commands without network must not wait for.


def way_to(hosts: Iterable[str]) -> AbstractAsyncContextManager[Way]:
    """See ``handover.way_to``."""
    from indwell.sandbox.proxy import handover  # noqa: PLC0415 - see above

    return handover.way_to(hosts)


def way_by_port(hosts: Iterable[str]) -> AbstractAsyncContextManager[Way]:
    """See ``handover.way_by_port``."""
    from indwell.sandbox.proxy import handover  # noqa: PLC0415 - see above

    return handover.way_by_port(hosts)
