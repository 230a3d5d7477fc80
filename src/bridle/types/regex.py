"""Regular expressions that are compiled when they are first used.

Compiling one takes a tenth of a millisecond to several; a command imports more than a hundred and
uses a few.
"""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast


def lazy(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """A pattern with the methods of a compiled one."""
    return cast("re.Pattern[AnyStr]", _Lazy(pattern, flags))


class _Lazy:
    def __init__(self, pattern: str | bytes, flags: int) -> None:
        self.pattern = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        """Compile, and keep the method that was asked for."""
        method = getattr(re.compile(self.pattern, self._flags), name)
        setattr(self, name, method)
        return method
