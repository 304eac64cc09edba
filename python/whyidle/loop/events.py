"""Step times on the GPU's own clock: an event at each boundary, read when it is over; nothing is waited for."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable
from typing import Any

__all__ = ["GpuClock"]

#: Events that may be under way: the host runs ahead of the GPU by no more steps than that in any program we know.
_MOST = 64


class GpuClock:
    """Events on the current stream of the current device, from a small pool that is used again.

    ``then`` is called with the number of a step and its length in ns, once the GPU has passed both of its ends. A step
    whose event could not be placed – the pool is used up, or a CUDA graph was being captured – is left out.
    """

    def __init__(self, then: Callable[[int, int], None]) -> None:
        self._then = then
        self._free: list[Any] = []
        # Placed and not known to be over: the number of the step that ends there, the event.
        self._placed: deque[tuple[int, Any]] = deque()
        # The last that is over.
        self._last: tuple[int, Any] | None = None
        self._device: int | None = None

    def mark(self, number: int) -> None:
        """Place an event at the end of step ``number``, and read those that are over."""
        torch = sys.modules.get("torch")
        cuda = getattr(torch, "cuda", None)
        if cuda is None or not cuda.is_initialized():
            return
        # A query would spoil a capture.
        if cuda.is_current_stream_capturing():
            return
        self.read()
        device = cuda.current_device()
        if device != self._device:
            # Events of two devices have no time between them.
            self._forget()
            self._device = device
        if len(self._placed) >= _MOST:
            return
        event = self._free.pop() if self._free else cuda.Event(enable_timing=True)
        event.record()
        self._placed.append((number, event))

    def read(self) -> None:
        """Take in what is over by now."""
        placed = self._placed
        while placed and placed[0][1].query():
            number, event = placed.popleft()
            last = self._last
            self._last = (number, event)
            if last is None:
                continue
            if last[0] == number - 1:
                self._then(number, round(last[1].elapsed_time(event) * 1e6))
            self._free.append(last[1])

    def _forget(self) -> None:
        self._placed.clear()
        self._free.clear()
        self._last = None
