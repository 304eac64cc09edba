"""Accelerate: ``Accelerator(log_with=whyidle.hooks.AccelerateTracker())``."""

from __future__ import annotations

from typing import Any

from accelerate.tracking import GeneralTracker

from whyidle.hooks.watching import Watching
from whyidle.loop.watch import Watch

__all__ = ["AccelerateTracker"]


class AccelerateTracker(GeneralTracker):  # type: ignore[misc, unused-ignore]
    """Watches from ``accelerator.init_trackers`` to ``accelerator.end_training``.

    Optimizer steps are the boundaries, so accumulation is counted right. What is logged through it is left to others.

    Args:
        options: Those of :func:`whyidle.watch`, by name.
    """

    name = "whyidle"
    requires_logging_directory = False
    #: Every rank records itself.
    main_process_only = False

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self._watching = Watching(options, "accelerate")

    @property
    def tracker(self) -> Watch | None:
        """The watch, once trackers were initialised; its ``verdict`` once training has ended."""
        return self._watching.watch

    watch = tracker

    def store_init_configuration(self, values: dict[str, Any]) -> None:
        """Start: Accelerate calls it once, with the program's settings."""
        if self._watching.watch is None:
            self._watching.begin()

    def log(self, values: dict[str, Any], step: int | None = None, **kwargs: Any) -> None:
        """Nothing of the program's figures is kept."""

    def finish(self) -> None:
        """Give the verdict."""
        self._watching.end()
