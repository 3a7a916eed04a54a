"""Token estimate by class of character, without a vocabulary (H15).

This module knows no network and no clock. The weights err slightly high: an early compaction is
better than an overflow. They are a first fit; "Two hostile wires" fits them on real texts.
"""

from __future__ import annotations

import re

from indwell.messages import Message, Request

_CJK = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003134f]")

ASCII_PER_TOKEN = 3.4  # prose and Python 4, JSON 3.3, C 3.1 (harness H15, measured on o200k)
CJK_TOKENS = 0.8  # measured 0.72 a character
OTHER_TOKENS = 0.7  # accents, Cyrillic, Greek; emoji cost more, and are rare in code
BLOCK_OVERHEAD = 4  # role, separators
IMAGE_TOKENS = 1_600  # upper end of what providers charge for one picture


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of ``text``, erring high; 0 only for the empty string."""
    if not text:
        return 0
    n_ascii = len(text) if text.isascii() else len(text.encode("ascii", "ignore"))
    n_cjk = 0 if n_ascii == len(text) else len(_CJK.findall(text))
    n_other = len(text) - n_ascii - n_cjk
    return int(n_ascii / ASCII_PER_TOKEN + n_cjk * CJK_TOKENS + n_other * OTHER_TOKENS) + 1


def message_tokens(message: Message) -> int:
    """The sum of a message's blocks with their overhead (H17: nothing is counted again)."""
    return sum(block.meta.tokens + BLOCK_OVERHEAD for block in message.blocks)


def request_tokens(request: Request) -> int:
    """Estimated prompt tokens of a request."""
    fixed = sum(block.meta.tokens + BLOCK_OVERHEAD for block in request.system)
    tools = sum(
        estimate_tokens(tool.name + tool.description + tool.parameters) for tool in request.tools
    )
    return fixed + tools + sum(message_tokens(message) for message in request.messages)
