"""Regular expressions that are compiled at their first use, not at the start.

The first code action imports some 400 modules with 250 patterns, but uses only a dozen of the
patterns. Compiling all patterns took a tenth of the first code action's time.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, AnyStr

if TYPE_CHECKING:

    def lazy_pattern(source: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
        """Return a pattern that is compiled when a method or an attribute is first used.

        The result has all methods and attributes of a pattern. The lazy pattern is not a
        ``re.Pattern``, and functions of ``re`` do not accept it: write ``WORD.sub(...)``, not
        ``re.sub(WORD, ...)``.
        """
        raise NotImplementedError

else:

    class lazy_pattern:  # noqa: N801 - called like ``re.compile``
        """A pattern that stores each method after its first use, so that later calls are fast."""

        def __init__(self, source, flags=0) -> None:  # noqa: ANN001 - the types are above
            self._source = source, flags

        def __getattr__(self, name):  # noqa: ANN001, ANN204 - as above
            found = getattr(re.compile(*self._source), name)
            setattr(self, name, found)
            return found
