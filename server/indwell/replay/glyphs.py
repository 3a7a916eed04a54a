"""The letters of a picture without a font file: five columns of seven dots each."""

from __future__ import annotations

from collections.abc import Iterator

COLUMNS, ROWS = 5, 7

_DOTS = {
    "0": "3e5149453e", "1": "00427f4000", "2": "4261514946", "3": "2141454b31",
    "4": "1814127f10", "5": "2745454539", "6": "3c4a494930", "7": "0171090503",
    "8": "3649494936", "9": "064949291e", "a": "2054545478", "b": "7f48444438",
    "c": "3844444420", "d": "384444487f", "e": "3854545418", "f": "087e090102",
    "g": "0c5252523e", "h": "7f08040478", "i": "00447d4000", "j": "2040443d00",
    "k": "7f10284400", "l": "00417f4000", "m": "7c04180478", "n": "7c08040478",
    "o": "3844444438", "p": "7c14141408", "q": "081414187c", "r": "7c08040408",
    "s": "4854545420", "t": "043f444020", "u": "3c4040207c", "v": "1c2040201c",
    "w": "3c4030403c", "x": "4428102844", "y": "0c5050503c", "z": "4464544c44",
    "-": "0808080808", ",": "0050300000", ".": "0060600000", " ": "0000000000",
}  # fmt: skip
_UNKNOWN = "7f4141417f"  # a box


def dots(character: str) -> Iterator[tuple[int, int]]:
    """The dots of a character, as (column, row) from the upper left; capitals look small."""
    columns = bytes.fromhex(_DOTS.get(character.lower(), _UNKNOWN))
    for x, column in enumerate(columns):
        for y in range(ROWS):
            if column >> y & 1:
                yield x, y
