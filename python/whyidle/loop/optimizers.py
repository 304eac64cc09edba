"""Optimizer steps as the boundaries of steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["OptimizerSteps"]


class OptimizerSteps:
    """Of several optimizers the one that steps most is the step's; of the first four, for programs that give each
    parameter an optimizer of its own make hundreds. It is the rule of ``whyidle bench``.

    With accumulated gradients an optimizer steps once for several backward passes, and so does the step.
    """

    MOST = 4

    def __init__(self, then: Callable[[bool], None]) -> None:
        #: Called at each step of that optimizer; with true where it was another one's before.
        self._then = then
        self._counts: dict[int, int] = {}
        self._main: int | None = None
        self._handle: Any = None

    def arm(self, module: Any) -> None:
        """Have PyTorch call at the end of each optimizer step. ``module`` is ``torch.optim.optimizer``."""
        if self._handle is None:
            self._handle = module.register_optimizer_step_post_hook(self._after)

    def disarm(self) -> None:
        """Undo :meth:`arm`."""
        if self._handle is not None:
            self._handle.remove()
            self._handle = None

    def _after(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        counts, key = self._counts, id(optimizer)
        if key not in counts:
            if len(counts) >= self.MOST:
                return
            counts[key] = 0
        counts[key] += 1
        main = self._main
        if main is None or (key != main and counts[key] > counts[main]):
            self._main = key
        if key == self._main:
            self._then(main is not None and main != key)
