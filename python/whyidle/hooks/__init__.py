"""Hooks of frameworks: they start a watch, mark evaluation and saves, and end it with the training.

``TransformersCallback`` for Hugging Face's Trainer, ``LightningCallback`` for Lightning, ``AccelerateTracker`` for
Accelerate. Each is loaded, and its framework with it, when it is first named. Where a watch runs already, a hook uses
that one and leaves its end to whoever started it. Programs on plain DDP or FSDP need none: ``whyidle.watch()`` records
each rank.
"""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from whyidle.hooks.accelerate import AccelerateTracker as AccelerateTracker
    from whyidle.hooks.lightning import LightningCallback as LightningCallback
    from whyidle.hooks.transformers import TransformersCallback as TransformersCallback

_PARTS = {
    "TransformersCallback": "transformers",
    "LightningCallback": "lightning",
    "AccelerateTracker": "accelerate",
}

__all__ = ["AccelerateTracker", "LightningCallback", "TransformersCallback"]


def __getattr__(name: str) -> Any:
    module = _PARTS.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    part = getattr(importlib.import_module(f"whyidle.hooks.{module}"), name)
    globals()[name] = part
    return part
