"""``WHYIDLE=1 python train.py``: a watch on a program that says nothing of it.

The package's ``.pth`` file calls :func:`begin` in every Python that finds ``WHYIDLE`` set. A process is watched from
the first step of an optimizer on, so that loader workers, compilers and whatever else starts Python are left alone.
"""

from __future__ import annotations

import os
from typing import Any

from whyidle.loop import imports

__all__ = ["begin"]

#: Values that mean: do not.
_OFF = ("", "0", "false", "no", "off")


def begin() -> None:
    """Watch this process if it comes to train. Whatever goes wrong, the program starts as ever."""
    try:
        if os.environ.get("WHYIDLE", "").strip().lower() not in _OFF:
            imports.after("torch.optim.optimizer", _arm)
    except Exception:  # noqa: BLE001, S110 – a start of Python is nobody's place to fail
        pass


def _arm(module: Any) -> None:
    from whyidle.loop import current
    from whyidle.loop.watch import Watch

    if current.current() is None:
        Watch(os.environ.get("WHYIDLE_OUT") or None, _from_outside=True).start()
