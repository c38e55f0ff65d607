"""Regular expressions that are compiled when they are first used: a command uses few of those that it loads."""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast


class _Pattern:
    """Stands for a compiled pattern, each attribute of which becomes one of this when it is first asked for."""

    def __init__(self, *made_of: Any) -> None:
        self._made_of = made_of

    def __getattr__(self, name: str) -> Any:
        found = getattr(re.compile(*self._made_of), name)
        setattr(self, name, found)
        return found


def pattern(text: AnyStr, flags: re.RegexFlag = re.NOFLAG) -> re.Pattern[AnyStr]:
    """What `re.compile` returns, but for its type and for raising `re.error`; for constants of modules."""
    return cast("re.Pattern[AnyStr]", _Pattern(text, flags))
