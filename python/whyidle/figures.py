"""Figures as the program prints them: the same unit, the same digits, in both languages.

The rules are those of the program's reports; a test of the program holds what is shown here against them.
"""

from __future__ import annotations

import os

__all__ = ["language", "share", "share_in_column", "time", "time_like"]

#: Unit, its length in ns, the smallest figure (ns) that is set in it.
_UNITS = (("s", 1e9, 9.995e8), ("ms", 1e6, 9.995e5), ("µs", 1e3, 999.5), ("ns", 1.0, 0.0))


def language(lang: str | None) -> str:
    """``en`` or ``zh``: the one asked for, else that of the environment, as the program decides."""
    if lang in ("en", "zh"):
        return str(lang)
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        value = os.environ.get(name)
        if value:
            return "zh" if value.lower().startswith("zh") else "en"
    return "en"


def time(ns: float) -> str:
    """A time in the unit that reads best: ``188 ms``."""
    if ns == 0:
        return "0 ms"
    unit, size = _unit(ns)
    return f"{_number(ns / size, _decimals(ns / size, unit))} {unit}"


def time_like(ns: float, whole: float) -> str:
    """A part of ``whole`` in the unit of the whole: ``0.6 ms``."""
    unit, size = _unit(whole)
    places = _decimals(ns / size, unit)
    smallest = 10.0**-places
    if 0 < ns / size < smallest / 2:
        return f"<{smallest:.{places}f} {unit}"
    return f"{_number(ns / size, places)} {unit}"


def share(share: float, lang: str | None = None) -> str:
    """A share, 0 to 1, as percent: ``31 %``, ``4.2 %``."""
    percent, size = 100 * share, abs(100 * share)
    if size >= 9.95:
        digits = _number(percent, 0)
    elif size >= 0.095:
        digits = _number(percent, 1).removesuffix(".0")
    elif size >= 0.005:
        digits = _number(percent, 2)
    else:
        digits = "<0.01" if size > 0 else "0"
    return _percent(digits, lang)


def share_in_column(share: float, lang: str | None = None) -> str:
    """A share in a column of them, in whole percent: ``31 %``, ``<1 %``."""
    percent = 100 * share
    return _percent("<1" if 0 < percent < 0.5 else f"{max(percent, 0.0):.0f}", lang)


def _percent(digits: str, lang: str | None) -> str:
    return f"{digits}%" if language(lang) == "zh" else f"{digits} %"


def _unit(ns: float) -> tuple[str, float]:
    return next((unit, size) for unit, size, least in _UNITS if abs(ns) >= least)


def _decimals(figure: float, unit: str) -> int:
    """Two or three digits that mean something."""
    size = abs(figure)
    if unit == "ns":
        return 0
    if unit == "s" and size < 99.95:
        return 2 if size < 9.995 else 1
    return 1 if size < 9.95 else 0


def _number(figure: float, places: int) -> str:
    return f"{figure:.{places}f}".replace("-", "−")
