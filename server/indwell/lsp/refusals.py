"""What only the user can mend, as the error of a request: a sentence, and what clients may need."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pygls.exceptions import JsonRpcException

from indwell.errors import SessionOpen, UserError
from indwell.lsp.wire.envelope import REQUEST_FAILED

OPEN_ELSEWHERE = "openElsewhere"  # `data.reason`: it may be tried again once the other has ended

GIVEN_BACK = 5_000_000  # characters of a draft in an error: 20 MB at most, of the wire's 32


@contextmanager
def in_plain_words(draft: str = "") -> Iterator[None]:
    """What only the user can mend becomes an error with one sentence; no words are lost in it.

    A text that nobody typed is not sent back: whoever sent it has it, and a wire has its limits.
    """
    try:
        yield
    except UserError as error:
        data = {"draft": draft} if 0 < len(draft) <= GIVEN_BACK else {}
        if isinstance(error, SessionOpen):
            data["reason"] = OPEN_ELSEWHERE
        raise JsonRpcException(str(error), REQUEST_FAILED, data or None) from error
