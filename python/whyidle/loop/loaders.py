"""Waiting for PyTorch's loaders: how long, for batches of which size, from how many workers."""

from __future__ import annotations

from typing import Any

from whyidle.loop.faults import Faults
from whyidle.loop.padding import Batches
from whyidle.loop.phases import DATA, Phases

__all__ = ["Loaders"]


class Loaders:
    """Times ``next`` on the loaders of this process while it is armed."""

    def __init__(self, phases: Phases, batches: Batches, faults: Faults) -> None:
        self._phases, self._batches, self._faults = phases, batches, faults
        self._patched: Any = None
        self._fetch: Any = None
        self._about: dict[str, Any] = {}

    def arm(self, module: Any) -> None:
        """Time from now on. ``module`` is ``torch.utils.data.dataloader``."""
        if self._patched is not None:
            return
        iterator = module._BaseDataLoaderIter
        fetch = iterator.__next__
        phases, batches, faults = self._phases, self._batches, self._faults

        def __next__(self_: Any) -> Any:
            if self._fetch is not __next__:
                # Disarmed, but somebody who wraps this in turn still calls it.
                return fetch(self_)
            phases.enter(DATA)
            try:
                batch = fetch(self_)
            finally:
                phases.leave(DATA)
            try:
                if not phases.is_outside:
                    batches.fetched(batch)
                    self._see(self_)
            except Exception as error:  # noqa: BLE001 – ours, not the program's
                faults.note(error)
            return batch

        __next__.__wrapped__ = fetch  # type: ignore[attr-defined]
        self._patched, self._fetch = iterator, __next__
        iterator.__next__ = __next__

    def disarm(self) -> None:
        """Undo :meth:`arm`, unless somebody has put something else there since."""
        if self._patched is not None and self._patched.__next__ is self._fetch:
            self._patched.__next__ = self._fetch.__wrapped__
        self._patched = self._fetch = None

    def _see(self, iterator: Any) -> None:
        if not self._about:
            self._about = {
                "workers": int(getattr(iterator, "_num_workers", 0)),
                "pin_memory": bool(getattr(iterator, "_pin_memory", False)),
            }
            factor = getattr(iterator, "_prefetch_factor", None)
            if factor is not None:
                self._about["prefetch_factor"] = int(factor)

    def members(self) -> dict[str, Any]:
        """What a recording says of the loader: the first that was used for training."""
        return dict(self._about)
