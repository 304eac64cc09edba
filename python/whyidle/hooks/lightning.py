"""Lightning: ``Trainer(callbacks=[whyidle.hooks.LightningCallback()])``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

try:
    from lightning.pytorch import Callback
except ImportError:
    from pytorch_lightning import Callback  # type: ignore[assignment, no-redef, unused-ignore]

from whyidle.hooks.watching import EVALUATION, SAVE, Watching
from whyidle.loop.watch import Watch

__all__ = ["LightningCallback"]


class LightningCallback(Callback):  # type: ignore[misc, unused-ignore]
    """Watches a Lightning Trainer: its optimizer steps, validations and saves.

    Args:
        options: Those of :func:`whyidle.watch`, by name.
    """

    def __init__(self, **options: Any) -> None:
        self._watching = Watching(options, "lightning")
        self._undo: Callable[[], None] | None = None

    @property
    def watch(self) -> Watch | None:
        """The watch, once training has begun; its ``verdict`` once it has ended."""
        return self._watching.watch

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Start; the check before training is over by now. Optimizer steps are the boundaries."""
        self._watching.begin()
        save = trainer.save_checkpoint

        def timed(*args: Any, **kwargs: Any) -> Any:
            self._watching.enter(SAVE)
            try:
                return save(*args, **kwargs)
            finally:
                self._watching.leave(SAVE)

        trainer.save_checkpoint = timed

        def undo() -> None:
            if trainer.__dict__.get("save_checkpoint") is timed:
                del trainer.save_checkpoint

        self._undo = undo

    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        """Validation begins."""
        self._watching.enter(EVALUATION)

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        """It is over."""
        self._watching.leave(EVALUATION)

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        """The verdict on what there was."""
        self._end()

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """Give the verdict; the last save came before."""
        self._end()

    def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """For a training that ended in neither way."""
        self._end()

    def _end(self) -> None:
        undo, self._undo = self._undo, None
        if undo is not None:
            undo()
        self._watching.leave(EVALUATION)
        self._watching.leave(SAVE)
        self._watching.end()
