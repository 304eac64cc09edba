"""Rows of figures: columns as NumPy arrays, rows as dictionaries, a pandas data frame where pandas is there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Table"]

#: Rows that a notebook shows.
_SHOWN = 20


class Table(Sequence[dict[str, Any]]):
    """Rows of the same columns.

    ``table["ms"]`` is a column, a NumPy array of shape ``(rows,)``; ``table[0]`` a row, a dictionary. A number that is
    missing is NaN in a column of floats, -1 in one of integers, and ``None`` in a row.

    Args:
        rows: The rows.
        columns: The columns and their types: ``"i8"``, ``"f8"`` or ``"O"`` for texts.
    """

    def __init__(self, rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str]) -> None:
        self._rows = [dict(row) for row in rows]
        self._columns = dict(columns)

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(self._columns)

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self._rows)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            if key not in self._columns:
                raise KeyError(f"{key!r} is none of the columns {', '.join(self._columns)}")
            return self._column(key)
        return self._rows[key]

    def _column(self, name: str) -> np.ndarray:
        import numpy as np

        kind = self._columns[name]
        missing = {"f8": float("nan"), "i8": -1}.get(kind)
        values = [missing if row.get(name) is None else row[name] for row in self._rows]
        return np.array(values, dtype=kind)

    def to_numpy(self) -> np.ndarray:
        """All of it as a structured array of shape ``(rows,)``."""
        import numpy as np

        array = np.empty(len(self), dtype=list(self._columns.items()))
        for name in self._columns:
            array[name] = self._column(name)
        return array

    def to_pandas(self) -> Any:
        """All of it as a data frame. Needs pandas."""
        import pandas

        return pandas.DataFrame({name: self._column(name) for name in self._columns})

    def __repr__(self) -> str:
        return f"<Table of {len(self)} rows: {', '.join(self._columns)}>"

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(name)}</th>" for name in self._columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(_shown(row.get(name)))}</td>" for name in self._columns) + "</tr>"
            for row in self._rows[:_SHOWN]
        )
        rest = len(self) - _SHOWN
        more = f'<tr><td colspan="{len(self._columns)}">+ {rest}</td></tr>' if rest > 0 else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}{more}</tbody></table>"


def _shown(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
