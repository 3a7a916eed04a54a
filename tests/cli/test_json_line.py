"""JSON on a terminal: characters that control the terminal are escaped, others stay."""

from __future__ import annotations

import json

import pytest

from indwell.cli.terminal.json_line import json_line

ACTING = "\x00\x1b\x7f\x80\x9b\x9f\u061c\u200e\u2028\u2029\u202e\u2066\u2069"
ACTING += "\U000e0001\U000e0041\U000e007f"
PLAIN = 'é ß "q" \\ 漢字 👩\u200d💻 \xa0 \ufeff \U000e0100'


@pytest.mark.parametrize("text", [ACTING, f"\\{ACTING}\\", PLAIN, "\ud800\x9b"])
def test_json_output_escapes_only_terminal_control_characters_and_keeps_the_value(
    text: str,
) -> None:
    line = json_line({text: text})
    assert json.loads(line) == {text: text}
    assert not set(ACTING) & set(line)
    if text == PLAIN:
        assert json.dumps(PLAIN, ensure_ascii=False) in line
