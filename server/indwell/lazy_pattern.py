"""Regular expressions that are compiled at their first use, so that they delay no start.

The first code action imports some 400 modules, and compiling their 250 patterns took a tenth of its
time, though it uses a dozen of them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, AnyStr

if TYPE_CHECKING:

    def lazy_pattern(source: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
        """Like ``re.compile``, but compiles when a method or an attribute is first used.

        The result has all methods and attributes of a pattern. It is no ``re.Pattern`` itself, so
        functions of ``re`` do not take it: write ``WORD.sub(...)``, not ``re.sub(WORD, ...)``.
        """
        raise NotImplementedError

else:

    class lazy_pattern:  # noqa: N801 - called like ``re.compile``
        """A pattern that keeps each method once looked up, so that later calls are cheap."""

        def __init__(self, source, flags=0) -> None:  # noqa: ANN001 - the types stand above
            self._source = source, flags

        def __getattr__(self, name):  # noqa: ANN001, ANN204 - as above
            found = getattr(re.compile(*self._source), name)
            setattr(self, name, found)
            return found
